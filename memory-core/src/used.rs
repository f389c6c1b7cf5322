//! The memory that an answer uses.

use crate::{ConversationId, NodeId, port::Retrieved, text::grouped};

/// Most pieces that a sentence names.
const NAMED: usize = 6;

/// Memory that stands in an answer, next to the messages of the conversation itself: a sign for every door that
/// something was remembered, and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryUsed {
    /// How many messages were recalled or found.
    pub recalled: u64,
    /// How many earlier instructions, preferences, decisions and open points are shown.
    pub standing: u64,
    /// How many summaries stand for messages.
    pub summaries: u64,
    /// The ids of all of them, in the order of the answer: `message 7`, `message 7 of trip`, `summary 3`.
    pub pieces: Vec<String>,
    /// The other conversations that they are from, by name.
    pub conversations: Vec<ConversationId>,
}

impl MemoryUsed {
    /// Zero counts, with the ids of the pieces.
    #[must_use]
    pub fn new(pieces: Vec<String>) -> Self {
        Self { pieces, ..Self::default() }
    }

    crate::setters! {
        const recalled: u64,
        const standing: u64,
        const summaries: u64,
        conversations: Vec<ConversationId>,
    }

    /// True if anything was remembered.
    #[must_use]
    pub fn is_any(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// `memory used: 3 recalled, 12 summaries (message 7, message 9 and 13 more)`, with each conversation named once, as
    /// in `messages 7 and 9 of trip`; `None` if none was used.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let of = |count: u64, one: &'static str, several: &'static str| (count, if count == 1 { one } else { several });
        let counts = [
            (self.recalled, "recalled"),
            of(self.standing, "standing line", "standing lines"),
            of(self.summaries, "summary", "summaries"),
        ];
        let counts: Vec<_> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, of)| format!("{} {of}", grouped(*count)))
            .collect();
        let named = named_once(self.pieces.iter().take(NAMED));
        let more = match self.pieces.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        self.is_any().then(|| format!("memory used: {} ({}{more})", counts.join(", "), named.join(", ")))
    }

    /// The id of a message among the pieces.
    #[must_use]
    pub fn message(node: NodeId, of: Option<&ConversationId>) -> String {
        of.map_or_else(|| format!("message {node}"), |conversation| format!("message {node} of {conversation}"))
    }
}

/// The pieces, with the messages of each other conversation together.
fn named_once<'a>(pieces: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut named: Vec<(Vec<&str>, Option<&str>)> = Vec::new();
    for piece in pieces {
        let (numbers, of) = match piece.strip_prefix("message ").and_then(|rest| rest.split_once(" of ")) {
            Some((number, conversation)) => (number, Some(conversation)),
            None => (piece.as_str(), None),
        };
        match named.iter_mut().find(|(_, other)| of.is_some() && *other == of) {
            Some((together, _)) => together.push(numbers),
            None => named.push((vec![numbers], of)),
        }
    }
    let piece = |(numbers, of): (Vec<&str>, Option<&str>)| match (numbers.as_slice(), of) {
        ([number], Some(of)) => format!("message {number} of {of}"),
        ([numbers @ .., last], Some(of)) => format!("messages {} and {last} of {of}", numbers.join(", ")),
        _ => numbers.concat(),
    };
    named.into_iter().map(piece).collect()
}

impl Retrieved {
    /// The hits as used memory. Each hit names its conversation.
    #[must_use]
    pub fn used(&self) -> MemoryUsed {
        let pieces = self.hits.iter().map(|hit| MemoryUsed::message(hit.node.id, Some(&hit.conversation))).collect();
        let mut conversations: Vec<_> = self.hits.iter().map(|hit| hit.conversation.clone()).collect();
        conversations.sort_unstable();
        conversations.dedup();
        MemoryUsed::new(pieces).recalled(self.hits.len() as u64).conversations(conversations)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Message, Node, Timestamp,
        port::{Hit, Score, ScoreScale},
    };

    #[test]
    fn what_was_found_is_named_with_its_conversation() {
        assert!(!Retrieved::default().used().is_any());
        let hit = |id: &str, node: u64| {
            let node = Node::new(NodeId::new(node).unwrap(), Message::user("Hi."), Timestamp::default());
            let score = Score { value: 1.0, scale: ScoreScale::Fused };
            Hit::new(ConversationId::new(id).unwrap(), Arc::new(node), score)
        };
        let used = Retrieved::new(vec![hit("trip", 7), hit("hotel", 2), hit("trip", 1)]).used();
        assert_eq!((used.recalled, used.is_any()), (3, true));
        assert_eq!(used.pieces, ["message 7 of trip", "message 2 of hotel", "message 1 of trip"]);
        assert_eq!(used.conversations.iter().map(ConversationId::as_str).collect::<Vec<_>>(), ["hotel", "trip"]);
        let sentence = "memory used: 3 recalled (messages 7 and 1 of trip, message 2 of hotel)";
        assert_eq!(used.sentence().as_deref(), Some(sentence));
        assert_eq!(MemoryUsed::default().sentence(), None);
    }
}
