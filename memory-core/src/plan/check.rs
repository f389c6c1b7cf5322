//! Checks that a summary fits into the tree.

use crate::{Level, NodeRange, SummaryDraft, SummaryId};

/// Checks that a summary may be recorded in a conversation of `nodes` messages: its level is above FULL,
/// it spans nodes that exist, and its children, if any, are recorded and tile its span.
///
/// # Errors
/// A description of the fault.
pub fn check_summary(
    draft: &SummaryDraft,
    nodes: u64,
    span_of: impl Fn(SummaryId) -> Option<NodeRange>,
) -> Result<(), String> {
    let SummaryDraft { level, span, children, .. } = draft;
    if *level == Level::Full {
        return Err(format!("a summary of nodes {span} cannot have level FULL"));
    }
    if span.last().get() > nodes {
        return Err(format!("a summary spans nodes {span}, but there are only {nodes}"));
    }
    if (*level == Level::Summary) != children.is_empty() {
        return Err(format!("a {level} of nodes {span} has {} children", children.len()));
    }
    let mut reached: Option<NodeRange> = None;
    for child in children {
        let part = span_of(*child).ok_or_else(|| format!("child {child} of a {level} is not recorded"))?;
        let follows = match reached {
            None => part.first() == span.first(),
            Some(before) => before.is_followed_by(part),
        };
        if !follows {
            return Err(format!("child {child} (nodes {part}) leaves a gap or overlap in nodes {span}"));
        }
        reached = Some(part);
    }
    match reached {
        Some(end) if end.last() != span.last() => {
            Err(format!("the children of a {level} end at node {}, its span is {span}", end.last()))
        }
        _ => Ok(()),
    }
}
