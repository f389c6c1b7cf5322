//! Parts of contexts for the tests of layouts.

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
    Node {
        id: NodeId::new(number).unwrap(),
        line_count: message.line_count(),
        message,
        at: Timestamp::default(),
        tokens: 0,
        importance: 0.5,
        topics: Vec::new(),
        relates_to: None,
        pinned: false,
    }
}

pub(super) fn summary(first: u64, last: u64, level: Level, text: &str, line_count: u64) -> Part {
    let body = SummaryDraft {
        level,
        span: nodes(first, last),
        children: Vec::new(),
        text: text.to_owned(),
        tokens: 0,
        metadata: SummaryMetadata { line_count, ..SummaryMetadata::default() },
        written_by: WrittenBy { strategy: "test".into(), version: "1".into() },
        input_hash: Hash::of_parts([]),
    };
    let summary = Box::new(Summary { id: SummaryId::from_index(0), body });
    let at = Timestamp::default();
    Part {
        kind: PieceKind::Summary(level),
        nodes: nodes(first, last),
        source: None,
        why: String::new(),
        body: Body::Summary { summary, from: at, to: at },
    }
}
