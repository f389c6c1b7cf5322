//! Conversations in one line, for the tests of planning.

use super::{Tree, ViewPolicy};
use crate::{
    Hash, Level, NodeOutline, NodeRange, Role, Summary, SummaryDraft, SummaryId, SummaryMetadata, SummaryOutline,
    Timestamp, WrittenBy,
};

/// `u` user, `a` assistant, a digit an assistant with that many calls, `r` one result, `R` two results.
pub(crate) fn outline(letter: char) -> NodeOutline {
    let calls = letter.to_digit(10).and_then(|n| u8::try_from(n).ok()).unwrap_or(0);
    let (role, answers) = match letter {
        'u' => (Role::User, 0),
        'r' => (Role::User, 1),
        'R' => (Role::User, 2),
        _ => (Role::Assistant, 0),
    };
    let mut outline = NodeOutline::of(&crate::Node {
        id: crate::NodeId::FIRST,
        message: crate::Message::text_of(role, ""),
        at: Timestamp::default(),
        line_count: 1,
        tokens: 40,
        importance: 0.5,
        topics: Vec::new(),
        relates_to: None,
        pinned: false,
        is_erased: false,
        is_disabled: false,
    });
    (outline.calls, outline.answers) = (calls, answers);
    outline
}

pub(crate) fn outlines(shape: &str) -> Vec<NodeOutline> {
    shape.chars().map(outline).collect()
}

/// A summary with the next number, as a manager would record it.
pub(crate) fn summary(summaries: &[Summary], level: Level, span: NodeRange, children: Vec<SummaryId>) -> Summary {
    let body = SummaryDraft {
        level,
        span,
        children,
        text: String::new(),
        tokens: 10,
        metadata: SummaryMetadata::default(),
        written_by: WrittenBy { strategy: "test".into(), version: "1".into() },
        input_hash: Hash::of_parts([]),
        for_view: false,
        erased: 0,
    };
    Summary::new(SummaryId::from_index(summaries.len()), body)
}

/// The tree of these nodes and summaries under the default policy.
pub(crate) fn tree(nodes: &[NodeOutline], summaries: &[Summary]) -> Tree {
    tree_under(ViewPolicy::default(), nodes, summaries)
}

pub(crate) fn tree_under(policy: ViewPolicy, nodes: &[NodeOutline], summaries: &[Summary]) -> Tree {
    let mut tree = Tree::new(policy);
    nodes.iter().for_each(|node| tree.append(*node));
    summaries.iter().for_each(|summary| tree.add(SummaryOutline::of(summary.id, &summary.body)));
    tree
}
