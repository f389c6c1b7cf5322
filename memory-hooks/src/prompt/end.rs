//! The end of a conversation: the last message of the user, and the messages after it.

use memory_core::{NodeId, NodeRange, plan::Tree};
use memory_strategies::{Gist, goes_on};

use super::options::share_of;
use crate::{render::Layout, shorten::TextLimits, snapshot_cache::Snapshot};

/// Shares of the budget for the messages after the last one of the user: next to recall, for which a reply to something
/// else is rarely worth its tokens; with the room that recall leaves; and where the question leans on them.
const BESIDE: f32 = 0.04;
const REPLY: f32 = 0.15;
const LEANT_ON: f32 = 0.5;
/// The fewest messages of the end: a call and its result.
const FEWEST: usize = 2;
/// The fewest tokens of a shortened text of the last turn.
pub(super) const SHORTEST: u32 = 32;
/// Approximate tokens of a line in place of an omitted middle.
const MARK: u64 = 24;
/// Informative words from which a question stands by itself.
const OWN_WORDS: usize = 3;
/// Last nodes whose texts a plan counts as shortened; older ones are long too rarely to matter.
const COUNTED: u64 = 48;
/// Words that point to what was just said.
const POINTERS: [&str; 14] = [
    "that", "this", "it", "its", "those", "these", "them", "first", "second", "third", "latter", "former", "above",
    "again",
];

/// The last user's message and the messages after it; `None` in an empty conversation.
pub(crate) fn last_turn(tree: &Tree) -> Option<NodeRange> {
    tree.last_turn_within(NodeId::new(tree.total())?)
}

/// Most tokens of the messages after the last one of the user, in a prompt for a question that has `left` tokens free:
/// more if the question leans on them, and everything if there is no question.
pub(crate) fn reply(question: &str, budget: u32, left: u32) -> u32 {
    if question.trim().is_empty() {
        return budget;
    }
    if leans(question) {
        return share_of(budget, LEANT_ON);
    }
    share_of(budget, BESIDE).saturating_add(left / 2).min(share_of(budget, REPLY))
}

/// True if a question means nothing without what was just said: "And the second one?"
fn leans(question: &str) -> bool {
    let own = Gist::of(question).len();
    let words = || question.split(|c: char| !c.is_alphanumeric());
    let points = || words().any(|word| POINTERS.contains(&word.to_lowercase().as_str()));
    own == 0 || own < OWN_WORDS && (points() || goes_on(question))
}

/// Limits the end to the messages that `share` tokens can show, so that a long run of steps leaves room for recall.
pub(crate) fn limit(snapshot: &mut Snapshot, share: u32) {
    let each = SHORTEST.saturating_add(snapshot.tree.policy().per_message).max(1);
    snapshot.tree_mut().limit_end(usize::try_from(share / each).unwrap_or(usize::MAX).max(FEWEST));
}

/// The most tokens of each text after the last user's message that keep those of the end within `share` tokens.
pub(crate) fn longest(tree: &Tree, share: u32) -> u32 {
    let reply = tree.end().and_then(|turn| NodeRange::new(turn.first().next(), turn.last()));
    let nodes = reply.into_iter().flat_map(|reply| reply.iter()).filter_map(|node| tree.node(node));
    let mut lengths: Vec<u64> = nodes.map(|node| u64::from(node.tokens)).collect();
    lengths.sort_unstable();
    let labels = lengths.len() as u64 * u64::from(tree.policy().per_message);
    let mut left = u64::from(share).saturating_sub(labels);
    let mut longest = left;
    // Shorter texts stay whole; the longer ones share the rest equally.
    for (index, length) in lengths.iter().enumerate() {
        let others = (lengths.len() - index) as u64;
        longest = (left / others).saturating_sub(MARK);
        if *length > longest {
            break;
        }
        left -= length;
    }
    u32::try_from(longest).unwrap_or(u32::MAX).max(SHORTEST)
}

/// The limits on texts of a prompt for a question, as far as its plan is concerned.
pub(crate) fn limits(tree: &Tree, longest: u32, budget: u32) -> TextLimits {
    let layout = Layout::for_question(false);
    TextLimits { layout, longest: Some(longest), budget, last_turn: last_turn(tree) }
}

/// The last nodes, whose texts a plan counts as shortened.
pub(crate) fn shortened(tree: &Tree) -> impl Iterator<Item = NodeId> + use<> {
    let first = tree.total().saturating_sub(COUNTED) + 1;
    (first..=tree.total()).filter_map(NodeId::new)
}

/// The next smaller limit on the texts of the last turn, if the whole costs `excess` tokens too many; `None` if they
/// are as short as possible.
pub(crate) fn shorter(tree: &Tree, longest: Option<u32>, excess: u32) -> Option<u32> {
    let turn = last_turn(tree)?;
    let there = turn.iter().filter_map(|node| tree.node(node)).map(|node| node.tokens).max().unwrap_or_default();
    let longest = longest.map_or(there, |longest| longest.min(there));
    (longest > SHORTEST).then(|| longest.saturating_sub(excess).max(SHORTEST))
}

/// The cost of the end.
pub(crate) fn tokens(tree: &Tree) -> u32 {
    let last = tree.end().map_or(0, |turn| tree.verbatim_cost(turn));
    u32::try_from(last).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_leans_on_what_was_just_said_if_it_has_no_matter_of_its_own() {
        for leaning in ["And the second one?", "Why?", "What about that?", "Make it shorter.", "go on", ""] {
            assert!(reply(leaning, 1_000, 0) > 150, "{leaning}");
        }
        for own in ["Which hotel near platform 9 did we book?", "What is the database of the clinic's booking system?"]
        {
            assert_eq!([0, 40, 500].map(|left| reply(own, 1_000, left) / 10), [3, 5, 15], "{own}");
        }
    }
}
