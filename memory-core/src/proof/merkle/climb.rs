//! The path from a node of the tree up to the root, for both verification algorithms.

/// Positions on one level of the tree, from 0: those that RFC 9162 calls `fn` and `sn`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Climb {
    /// The node whose path is followed.
    node: u64,
    /// The last node of the level.
    last: u64,
}

/// The side of the next hash of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Climb {
    /// Begins at the level of the leaves.
    pub(super) fn from_leaf(node: u64, last: u64) -> Self {
        Self { node, last }
    }

    /// True if no level is above.
    pub(super) fn at_root(self) -> bool {
        self.last == 0
    }

    /// Goes up while the node is a right child: to the root of the largest complete subtree that it ends.
    pub(super) fn skip_right_children(&mut self) {
        while self.node & 1 == 1 {
            self.up();
        }
    }

    /// Consumes the next hash of the path, and returns its side.
    pub(super) fn step(&mut self) -> Side {
        let side = if self.node & 1 == 1 || self.node == self.last { Side::Left } else { Side::Right };
        if side == Side::Left {
            // A last node without a sibling is its own parent: the path has no hash for the levels up to the next one.
            while self.node & 1 == 0 && self.node != 0 {
                self.up();
            }
        }
        self.up();
        side
    }

    fn up(&mut self) {
        self.node >>= 1;
        self.last >>= 1;
    }
}
