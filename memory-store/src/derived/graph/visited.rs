//! Nodes that a walk has visited.

/// A bit for each node. Clearing touches only words that were set, so that a walk costs what it visits, whatever the
/// size of the graph.
#[derive(Debug, Default)]
pub(super) struct Visited {
    words: Vec<u64>,
    touched: Vec<u32>,
}

impl Visited {
    /// Clears all bits, and makes room for `nodes`.
    pub(super) fn clear(&mut self, nodes: usize) {
        for word in self.touched.drain(..) {
            if let Some(word) = self.words.get_mut(word as usize) {
                *word = 0;
            }
        }
        let words = nodes.div_ceil(64);
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }

    /// True if the node is visited for the first time; `false` for a node without room.
    pub(super) fn insert(&mut self, node: u32) -> bool {
        let (at, bit) = (node / 64, 1u64 << (node % 64));
        let Some(word) = self.words.get_mut(at as usize) else { return false };
        let is_new = *word & bit == 0;
        if *word == 0 {
            self.touched.push(at);
        }
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_new_once_until_cleared() {
        let mut visited = Visited::default();
        visited.clear(130);
        assert!(visited.insert(0) && visited.insert(64) && visited.insert(129));
        assert!(!visited.insert(64) && visited.insert(63));
        // The room comes in words of 64.
        assert!(!visited.insert(192));
        visited.clear(130);
        assert!(visited.insert(64) && visited.insert(63) && visited.insert(129));
    }
}
