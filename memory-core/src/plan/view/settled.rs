//! The view between two compactions, which keeps its cut while messages are appended.

use super::{finest, plan_view, refinement::Refinement};
use crate::{
    NodeId, NodeRange,
    plan::{Cut, CutPiece, PlanError, Thresholds, Tree, cut::tokens},
};

/// Plans a view that depends only on the summaries, the pins and the budget, not on earlier views.
///
/// Room for the expected messages until the next compaction is reserved, so that the cut and the rendered prompt stay
/// stable until then. If more messages come, the older part is cut again at most twice: for half of the budget, then as
/// coarse as possible.
pub(super) fn plan(tree: &Tree, thresholds: &Thresholds, budget: u32) -> Result<Cut, PlanError> {
    let Some(recent) = recent(tree).filter(|_| tree.verbatim_total() > u64::from(budget)) else {
        return plan_view(tree, budget);
    };
    let since: u64 = recent.iter().map(|turn| tree.verbatim_cost(*turn)).sum();
    let words = tree.verbatim_total() - since;
    let since = tokens(since);
    let older = NodeId::new(recent.first().map_or(tree.total(), |turn| turn.first().get() - 1));
    let Some(left) = budget.checked_sub(since) else {
        let needed = coarsest(tree, words, 0).saturating_add(since);
        return Err(PlanError::BudgetTooSmall { needed, budget });
    };
    let coarsest = coarsest(tree, words, left);
    if coarsest > left {
        return Err(PlanError::BudgetTooSmall { needed: coarsest.saturating_add(since), budget });
    }
    let expected = tokens(words.saturating_mul(thresholds.summary_threshold) / older.map_or(1, NodeId::get));
    let half = budget / 2;
    let reserve = [expected.min(half), half].into_iter().find(|reserve| since <= *reserve).unwrap_or(budget);
    let mut cut = plan_older(tree, words, coarsest.max(budget - reserve));
    cut.pieces.extend(recent.into_iter().map(CutPiece::Verbatim));
    cut.tokens = cut.tokens.saturating_add(since);
    Ok(cut)
}

/// The best cut of the summarized part; `budget` must suffice for the coarsest one.
fn plan_older(tree: &Tree, words: u64, budget: u32) -> Cut {
    if words <= u64::from(budget) {
        let last = tree.roots().next_back().map(|last| last.span.last());
        let turns = tree.turns_from(NodeId::FIRST).take_while(|turn| Some(turn.last()) <= last);
        return Cut { pieces: turns.map(CutPiece::Verbatim).collect(), tokens: tokens(words) };
    }
    finest(tree, Refinement::of_roots(tree), budget)
}

/// Cost of the coarsest view of the summarized part, with as many pinned messages as fit into `budget`.
fn coarsest(tree: &Tree, words: u64, budget: u32) -> u32 {
    let mut view = Refinement::of_roots(tree);
    view.restore_end(u64::from(budget));
    view.restore_pinned(u64::from(budget));
    tokens(view.tokens().min(words))
}

/// Turns after the last summarized one; `None` if there are FULL nodes before it.
fn recent(tree: &Tree) -> Option<Vec<NodeRange>> {
    let mut full = tree.full();
    match (full.next(), full.next()) {
        (None, _) => Some(Vec::new()),
        (Some(run), None) if run.last().get() == tree.total() => {
            let behind: Vec<_> = tree.turns_from(run.first()).collect();
            let is_whole = behind.first().is_some_and(|turn| turn.first() == run.first());
            is_whole.then_some(behind)
        }
        _ => None,
    }
}
