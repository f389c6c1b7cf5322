//! The end of a conversation, which is shown verbatim before anything older is.

use memory_core::{NodeId, NodeRange, plan::Tree};

use super::options::share_of;

/// The share of the budget up to which the last turn is shown whole.
const WHOLE: f32 = 0.6;
/// The share that a longer turn takes, by head and tail: the omitted middle of a long answer matters less than recalled
/// words.
const CUT: f32 = 0.35;
/// The share of the budget up to which the last messages are all shown whole.
const RECENT: f32 = 0.5;
/// The fewest tokens of a shortened text of the last turn.
pub(super) const SHORTEST: u32 = 32;
/// Approximate tokens of a line in place of an omitted middle.
const MARK: u64 = 24;

/// The last user's message and the messages after it; `None` in an empty conversation.
pub(crate) fn last_turn(tree: &Tree) -> Option<NodeRange> {
    tree.last_turn_within(NodeId::new(tree.total())?)
}

/// The most tokens of each text of the last turn that keep it within its share of the budget; `None` if it fits
/// already.
pub(crate) fn longest(tree: &Tree, budget: u32) -> Option<u32> {
    let turn = last_turn(tree)?;
    if tree.verbatim_cost(turn) <= u64::from(share_of(budget, WHOLE)) {
        return None;
    }
    let share = u64::from(share_of(budget, CUT));
    let mut lengths: Vec<u64> =
        turn.iter().filter_map(|node| tree.node(node)).map(|node| u64::from(node.tokens)).collect();
    lengths.sort_unstable();
    let labels = lengths.len() as u64 * u64::from(tree.policy().per_message);
    let mut left = share.saturating_sub(labels);
    let mut longest = 0;
    // Shorter texts stay whole; the longer ones share the rest equally.
    for (index, length) in lengths.iter().enumerate() {
        let others = (lengths.len() - index) as u64;
        longest = (left / others).saturating_sub(MARK);
        if *length > longest {
            break;
        }
        left -= length;
    }
    Some(u32::try_from(longest).unwrap_or(u32::MAX).max(SHORTEST))
}

/// The next smaller limit on the texts of the last turn, if the whole costs `excess` tokens too many; `None` if they
/// are as short as possible.
pub(crate) fn shorter(tree: &Tree, longest: Option<u32>, excess: u32) -> Option<u32> {
    let turn = last_turn(tree)?;
    let there = turn.iter().filter_map(|node| tree.node(node)).map(|node| node.tokens).max().unwrap_or_default();
    let longest = longest.map_or(there, |longest| longest.min(there));
    (longest > SHORTEST).then(|| longest.saturating_sub(excess).max(SHORTEST))
}

/// The cost of the last turn, or of the last messages if their share of the budget holds all of them.
pub(crate) fn tokens(tree: &Tree, budget: u32) -> u32 {
    let share = u64::from(share_of(budget, RECENT));
    let last = last_turn(tree).map_or(0, |turn| tree.verbatim_cost(turn));
    let recent: u64 = tree.recent_turns().map(|turn| tree.verbatim_cost(turn)).sum();
    let recent = if recent <= share { recent } else { 0 };
    u32::try_from(recent.max(last)).unwrap_or(u32::MAX)
}
