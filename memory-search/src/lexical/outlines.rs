//! Outlines of a conversation's nodes, which packing needs for every recall.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memory_core::{Node, NodeOutline};

/// Outlines of the first nodes of a conversation, in order, without a gap. Nodes that are read for indexing extend
/// them, so that no recall reads them from the store again. Importance and pins may be outdated; nothing here uses
/// them.
#[derive(Debug, Default)]
pub(super) struct Outlines(Mutex<Arc<Vec<NodeOutline>>>);

impl Outlines {
    fn lock(&self) -> MutexGuard<'_, Arc<Vec<NodeOutline>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn known(&self) -> Arc<Vec<NodeOutline>> {
        Arc::clone(&self.lock())
    }

    /// Adds the outlines of nodes that directly follow the known ones. After an unreadable node nothing is added until
    /// all outlines are [set](Self::set).
    pub(super) fn add(&self, nodes: &[Node]) {
        let mut known = self.lock();
        let follow = nodes.iter().skip_while(|node| node.id.index() < known.len());
        let follow: Vec<_> =
            (known.len()..).zip(follow).take_while(|(index, node)| node.id.index() == *index).collect();
        if !follow.is_empty() {
            Arc::make_mut(&mut known).extend(follow.into_iter().map(|(_, node)| NodeOutline::of(node)));
        }
    }

    /// Replaces the outlines, unless more are known already.
    pub(super) fn set(&self, all: &Arc<Vec<NodeOutline>>) {
        let mut known = self.lock();
        if all.len() > known.len() {
            *known = Arc::clone(all);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.lock().len() * size_of::<NodeOutline>()
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, NodeId, Timestamp};

    use super::*;

    fn nodes(positions: &[u64]) -> Vec<Node> {
        let node = |&position: &u64| {
            let id = NodeId::new(position).unwrap();
            Node::new(id, Message::user("x"), Timestamp::default()).tokens(u32::try_from(position).unwrap())
        };
        positions.iter().map(node).collect()
    }

    #[test]
    fn outlines_grow_without_a_gap() {
        let outlines = Outlines::default();
        let tokens = || outlines.known().iter().map(|outline| outline.tokens).collect::<Vec<_>>();
        outlines.add(&nodes(&[2]));
        assert!(tokens().is_empty(), "node 1 is missing");
        outlines.add(&nodes(&[1, 2, 4]));
        outlines.add(&nodes(&[1, 2]));
        outlines.add(&nodes(&[4, 5]));
        assert_eq!(tokens(), [1, 2], "node 3 is missing");
        let all: Vec<_> = nodes(&[1, 2, 3, 4]).iter().map(NodeOutline::of).collect();
        outlines.set(&Arc::new(all));
        outlines.add(&nodes(&[4, 5]));
        assert_eq!(tokens(), [1, 2, 3, 4, 5]);
        outlines.set(&Arc::default());
        assert_eq!(outlines.bytes(), 5 * size_of::<NodeOutline>());
    }
}
