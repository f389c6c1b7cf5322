//! Parts of prompts for the tests of layouts.

use memory_core::{
    Hash, Level, Message, Node, NodeId, NodeRange, Role, Summary, SummaryDraft, SummaryId, SummaryMetadata, Timestamp,
    WrittenBy,
};

use super::{Body, Part};
use crate::PieceKind;

pub(super) fn nodes(first: u64, last: u64) -> NodeRange {
    NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
}

/// A message of the user, or of the model if its number is even, with an unknown time.
pub(super) fn message(number: u64, text: &str) -> Node {
    let role = if number % 2 == 1 { Role::User } else { Role::Assistant };
    let message = Message::text_of(role, text);
    let lines = message.line_count();
    Node::new(NodeId::new(number).unwrap(), message, Timestamp::default()).line_count(lines)
}

pub(super) fn summary(first: u64, last: u64, level: Level, text: &str, line_count: u64) -> Part {
    let body = SummaryDraft::new(level, nodes(first, last), text, 0, WrittenBy::new("test", "1"), Hash::of_parts([]))
        .metadata(SummaryMetadata::default().line_count(line_count));
    let summary = Box::new(Summary::new(SummaryId::from_index(0), body));
    let at = Timestamp::default();
    Part {
        kind: PieceKind::Summary(level),
        elsewhere: None,
        nodes: nodes(first, last),
        source: None,
        reason: String::new(),
        changed_by: None,
        body: Body::Summary { summary, from: at, to: at, said_as: None },
    }
}
