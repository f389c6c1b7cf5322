//! Compaction by a share of the messages, only when a view must become smaller.

use super::{Compaction, merge, newest_pair, oldest_equals, oldest_full, runs_of};
use crate::{
    Level, NodeId,
    plan::{Thresholds, Tree},
    port::ShrinkScope,
};

/// Plans the next step of a manager that summarizes the oldest `ratio` of the FULL messages, at least one, and never
/// any of the last `preserved`. Empty if no step is left.
///
/// The SUMMARYs of a step are merged into one META at once. If there are more than
/// [`archive_fan_out`](Thresholds::archive_fan_out) METAs, the oldest become an ARCHIVE. Once all messages except the
/// preserved ones are summarized, neighbours are merged, the two newest last.
#[must_use]
pub fn plan_ratio(tree: &Tree, ratio: f64, preserved: u64, scope: ShrinkScope) -> Compaction {
    let of_one = |merge| Compaction { merge: vec![merge], ..Compaction::default() };
    let roots: Vec<_> = tree.roots().collect();
    let fresh = runs_of(&roots, |summary| summary.level == Level::Summary);
    if let Some(meta) = fresh.into_iter().find(|run| run.len() > 1).and_then(|run| merge(Level::Meta, run)) {
        return of_one(meta);
    }
    let thresholds = Thresholds::default();
    let archive = oldest_equals(tree, &roots, &thresholds);
    if let Some(archive) = archive.clone().filter(|archive| archive.children.len() >= thresholds.archive_fan_out) {
        return of_one(archive);
    }
    let summarize = oldest_share(tree, ratio, preserved);
    if !summarize.is_empty() {
        return Compaction { summarize, ..Compaction::default() };
    }
    match (archive, scope) {
        (Some(archive), _) => of_one(archive),
        (None, ShrinkScope::BeforeEnd) => Compaction::default(),
        (None, ShrinkScope::MergeBeforeEnd | ShrinkScope::All) => newest_pair(tree, None),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a number of messages"
)]
pub(in crate::plan) fn share_of(messages: u64, ratio: f64) -> u64 {
    (messages as f64 * ratio) as u64
}

/// The oldest `ratio` of the FULL nodes before the last `preserved`, in whole turns. A first turn that is longer is
/// taken whole, unless it reaches into the preserved nodes.
fn oldest_share(tree: &Tree, ratio: f64, preserved: u64) -> Vec<NodeId> {
    let share = share_of(tree.full_count(), ratio).max(1);
    let end = tree.total().saturating_sub(preserved);
    let chosen = oldest_full(tree, share);
    let longer = || super::full_turns(tree).next().unwrap_or_default();
    let mut chosen = if chosen.is_empty() { longer() } else { chosen };
    while chosen.last().is_some_and(|last| tree.turn_of(*last).is_none_or(|turn| turn.last().get() > end)) {
        let turn = chosen.last().and_then(|last| tree.turn_of(*last));
        chosen.retain(|node| turn.is_some_and(|turn| *node < turn.first()));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{outlines, tree};

    fn numbers(nodes: &[NodeId]) -> Vec<u64> {
        nodes.iter().map(|node| node.get()).collect()
    }

    #[test]
    fn a_share_of_the_oldest_is_summarized_and_never_the_preserved_tail() {
        let share =
            |shape: &str, ratio, preserved| numbers(&oldest_share(&tree(&outlines(shape), &[]), ratio, preserved));
        assert_eq!(share("uauauauauauauauauaua", 0.3, 10), [1, 2, 3, 4, 5, 6]);
        assert_eq!(share("uauaua", 0.8, 4), [1, 2]);
        assert_eq!(share("uauaua", 0.3, 10), [0; 0]);
        // A call and its result stay together; the tail is not eaten to spare them.
        assert_eq!(share("ua1raua", 0.3, 2), [1, 2]);
        assert_eq!(share("1rua", 0.1, 2), [1, 2]);
        assert_eq!(share("1rua", 0.1, 3), [0; 0]);
    }
}
