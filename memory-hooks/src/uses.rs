//! Counts of requests for messages, for scorers.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use memory_core::{ConversationId, NodeId};

/// Most messages that are counted, at about 16 bytes each.
const MOST: usize = 1 << 18;

/// Counts how often each message was found by a search or expanded since this process began.
///
/// Scorers get the count when a message is about to be summarized; nothing else depends on it. A score is recorded, so
/// that a rebuild does not request it again. Messages that a prompt recalls next to the history do not count, for they
/// were summarized, and scored, before. Beyond [`MOST`] messages all counts are dropped.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_conversation: HashMap<ConversationId, HashMap<NodeId, u32>>,
    messages: usize,
}

impl Uses {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one use of each of these messages.
    pub(crate) fn add(&self, conversation: &ConversationId, nodes: impl IntoIterator<Item = NodeId>) {
        let mut counts = self.lock();
        for node in nodes {
            if counts.messages >= MOST {
                *counts = Counts::default();
            }
            if !counts.by_conversation.contains_key(conversation) {
                counts.by_conversation.insert(conversation.clone(), HashMap::new());
            }
            let Some(of_conversation) = counts.by_conversation.get_mut(conversation) else { continue };
            let before = of_conversation.len();
            let uses = of_conversation.entry(node).or_insert(0);
            *uses = uses.saturating_add(1);
            counts.messages += of_conversation.len() - before;
        }
    }

    /// Number of uses of a message.
    pub(crate) fn of(&self, conversation: &ConversationId, node: NodeId) -> u32 {
        self.lock().by_conversation.get(conversation).and_then(|of| of.get(&node)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_counted_by_conversation() {
        let uses = Uses::default();
        let [first, second] = ["a", "b"].map(|name| ConversationId::new(name).unwrap());
        let node = |number| NodeId::new(number).unwrap();
        uses.add(&first, [node(1), node(2), node(1)]);
        uses.add(&second, [node(2), node(3), node(4)]);
        let counts: Vec<_> =
            (1..=4).map(|number| (uses.of(&first, node(number)), uses.of(&second, node(number)))).collect();
        assert_eq!(counts, [(2, 0), (1, 1), (0, 1), (0, 1)]);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let uses = Uses::default();
        let id = ConversationId::new("a").unwrap();
        uses.add(&id, (0..=MOST).map(NodeId::from_index));
        assert_eq!(uses.lock().messages, 1);
        assert_eq!(uses.of(&id, NodeId::from_index(MOST)), 1);
    }
}
