//! The strategy that shows the last messages and states how many it omits.

use serde::{Deserialize, Serialize};

use crate::{
    NodeId, NodeOutline, NodeRange, WrittenBy,
    plan::{Cut, CutPiece, PlanError, Tree, cut::tokens},
    port::{ContextStrategy, PlanRequest},
};

/// Tokens of the line for omitted messages.
const OMITTED: u64 = 12;

/// The last messages verbatim, and a line for the omitted ones, which stay in the log.
///
/// Follows the sliding window of Strands Agents 1.62: at most [`window_size`](Self::window_size) messages, beginning
/// with a plain message of the user, otherwise with a tool call and its results. Pinned messages are shown before the
/// window. A small budget makes the window smaller, but never splits the last turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SlidingWindowView {
    /// Maximum messages of the window; 40 by default. 0 shows only the last turn.
    pub window_size: u64,
    /// Number of first messages that are pinned; none by default.
    pub pin_first: u64,
}

impl Default for SlidingWindowView {
    fn default() -> Self {
        Self { window_size: 40, pin_first: 0 }
    }
}

impl SlidingWindowView {
    crate::setters! {
        const window_size: u64,
        const pin_first: u64,
    }

    /// Turns of the largest possible window, and the indices of the turns at which a window may begin, the largest
    /// window first.
    fn windows(&self, tree: &Tree) -> (Vec<NodeRange>, Vec<usize>) {
        let Some(last) = NodeId::new(tree.total()) else { return Default::default() };
        let first = NodeId::new(tree.total().saturating_sub(self.window_size) + 1).unwrap_or(last).min(last);
        let mut turns: Vec<_> = tree.turns_from(first).filter(|turn| turn.first() >= first).collect();
        if turns.is_empty() {
            turns.extend(tree.turn_of(last));
        }
        let begins = |turn: &NodeRange| tree.node(turn.first()).is_some_and(NodeOutline::begins_prompt);
        let clean: Vec<_> = turns.iter().enumerate().filter(|(_, turn)| begins(turn)).map(|(at, _)| at).collect();
        let starts = if clean.is_empty() { (0..turns.len()).collect() } else { clean };
        (turns, starts)
    }

    /// Turns of pinned messages before `window`, newest first.
    fn pinned(&self, tree: &Tree, window: NodeId) -> Vec<NodeRange> {
        let first = (1..=self.pin_first.min(tree.total())).filter_map(NodeId::new);
        let mut turns: Vec<_> = tree.pinned().chain(first).filter_map(|node| tree.turn_of(node)).collect();
        turns.retain(|turn| turn.last() < window);
        turns.sort_unstable_by(|a, b| b.cmp(a));
        turns.dedup();
        turns
    }
}

impl ContextStrategy for SlidingWindowView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("sliding-window", "1")
    }

    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError> {
        let (turns, starts) = self.windows(tree);
        let window = |start: usize| turns.get(start..).unwrap_or_default();
        let cost = |start: usize| {
            let begins_later = window(start).first().is_some_and(|turn| turn.first() != NodeId::FIRST);
            let omitted = if begins_later { OMITTED } else { 0 };
            window(start).iter().map(|turn| tree.verbatim_cost(*turn)).sum::<u64>() + omitted
        };
        let budget = u64::from(request.budget);
        let smallest = starts.last().map_or(0, |start| cost(*start));
        let Some(mut left) = budget.checked_sub(smallest) else {
            return Err(PlanError::BudgetTooSmall { needed: tokens(smallest), budget: request.budget });
        };
        let smallest_window = starts.last().and_then(|start| window(*start).first());
        let mut pinned = smallest_window.map_or_else(Vec::new, |turn| self.pinned(tree, turn.first()));
        pinned.retain(|turn| {
            let cost = tree.verbatim_cost(*turn) + OMITTED;
            let fits = cost <= left;
            left -= if fits { cost } else { 0 };
            fits
        });
        let of_pinned = |window: &[NodeRange]| {
            let before = |turn: &&NodeRange| window.first().is_some_and(|first| turn.last() < first.first());
            pinned.iter().filter(before).map(|turn| tree.verbatim_cost(*turn) + OMITTED).sum::<u64>()
        };
        let fits = |start: &&usize| cost(**start) + of_pinned(window(**start)) <= budget;
        let start = starts.iter().find(fits).or(starts.last()).copied().unwrap_or_default();
        let shown = window(start);
        let before = |turn: &&NodeRange| shown.first().is_some_and(|first| turn.last() < first.first());
        let pieces = with_gaps(pinned.iter().rev().filter(before).chain(shown).copied());
        Ok(Cut::new(pieces, tokens(cost(start) + of_pinned(shown))))
    }

    fn whole(&self, tree: &Tree) -> Option<Cut> {
        let all = NodeRange::first_n(tree.total()).filter(|all| all.count() <= self.window_size)?;
        Some(Cut::new(vec![CutPiece::Verbatim(all)], 0))
    }

    fn smallest(&self, tree: &Tree) -> u32 {
        match self.plan(tree, &PlanRequest::new(0)) {
            Ok(cut) => cut.tokens,
            Err(PlanError::BudgetTooSmall { needed, .. }) => needed,
        }
    }

    fn history_share(&self) -> f32 {
        1.0
    }

    fn recalls(&self) -> bool {
        false
    }

    fn removed(&self, tree: &Tree) -> u64 {
        let cut = self.plan(tree, &PlanRequest::new(u32::MAX)).unwrap_or_default();
        tree.total() - cut.verbatim().iter().map(|run| run.count()).sum::<u64>()
    }
}

/// Turns in order, with a line for each gap before and between them.
fn with_gaps(turns: impl Iterator<Item = NodeRange>) -> Vec<CutPiece> {
    let mut pieces = Vec::new();
    let mut next = NodeId::FIRST;
    for turn in turns {
        let gap = turn.first().previous().and_then(|last| NodeRange::new(next, last));
        pieces.extend(gap.map(CutPiece::Omitted));
        pieces.push(CutPiece::Verbatim(turn));
        next = turn.last().next();
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{outlines, tree};

    /// The pieces as `-` for a line and the numbers of messages.
    fn shown(view: SlidingWindowView, shape: &str, budget: u32) -> String {
        let tree = tree(&outlines(shape), &[]);
        match view.plan(&tree, &PlanRequest::new(budget)) {
            Ok(cut) => {
                let piece = |piece: &CutPiece| match piece {
                    CutPiece::Omitted(run) => format!("-{run}"),
                    piece => piece.span().to_string(),
                };
                cut.pieces.iter().map(piece).collect::<Vec<_>>().join(" ")
            }
            Err(PlanError::BudgetTooSmall { needed, .. }) => format!("needs {needed}"),
        }
    }

    #[test]
    fn the_window_begins_at_a_plain_message_of_the_user() {
        let window = SlidingWindowView::default().window_size(4);
        assert_eq!(shown(window, "uaua", 9_999), "1 2 3 4");
        assert_eq!(shown(window, "uauaua", 9_999), "-1-2 3 4 5 6");
        // A result of a tool is no beginning, and a call stays with its result.
        assert_eq!(shown(window, "uau1rau", 9_999), "-1-6 7");
        assert_eq!(shown(window, "u1r1r1r", 9_999), "-1-3 4-5 6-7");
        assert_eq!(shown(window.window_size(0), "uaua", 9_999), "-1-3 4");
    }

    #[test]
    fn a_smaller_budget_has_a_smaller_window_and_what_is_needed_is_said() {
        // A message of the tests costs 45 tokens.
        let window = SlidingWindowView::default();
        assert_eq!(shown(window, "uauaua", 9_999), "1 2 3 4 5 6");
        assert_eq!(shown(window, "uauaua", 200), "-1-2 3 4 5 6");
        assert_eq!(shown(window, "uauaua", 150), "-1-4 5 6");
        assert_eq!(shown(window, "uauaua", 90), "needs 102");
    }

    #[test]
    fn pinned_messages_survive_every_reduction() {
        let mut nodes = outlines("uauauaua");
        nodes[2].pinned = true;
        let tree = tree(&nodes, &[]);
        let window = SlidingWindowView::default().window_size(2).pin_first(1);
        let cut = |budget| window.plan(&tree, &PlanRequest::new(budget)).unwrap();
        let spans = |cut: &Cut| cut.pieces.iter().map(|piece| piece.span().to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(spans(&cut(9_999)), "1 2 3 4-6 7 8");
        assert_eq!(spans(&cut(102)), "1-6 7 8", "no room is left for them");
        assert_eq!(spans(&cut(160)), "1-2 3 4-6 7 8", "the newer one goes first");
        assert_eq!(window.removed(&tree), 4);
    }
}
