//! The view between two compactions: what is summarized keeps its cut while messages are added.

use super::{Cut, CutPiece, PlanError, ViewPolicy, plan_view, words};
use crate::{
    History, NodeRange,
    plan::{Tree, turns},
};

/// Plans a view whose older part depends on the summaries and the budget alone.
///
/// Half of the budget is the older part's whatever has been said since, so the cut of that part, and the
/// prompt rendered from it, stays the same until the next compaction. When what came since needs more than
/// its half, the older part is shown at its coarsest from then on.
pub(super) fn plan(history: History<'_>, budget: u32, policy: &ViewPolicy) -> Result<Cut, PlanError> {
    let tree = Tree::new(history);
    let Some(recent) = recent(&tree).filter(|_| words(history.nodes, policy) > u64::from(budget)) else {
        return plan_view(&tree, budget, policy);
    };
    let first = recent.first().map_or(history.nodes.len(), |turn| turn.first().index());
    let (older, since) = history.nodes.split_at_checked(first).unwrap_or((history.nodes, &[]));
    let older = Tree::new(History { nodes: older, summaries: history.summaries });
    let since = u32::try_from(words(since, policy)).unwrap_or(u32::MAX);
    let coarsest = match plan_view(&older, 0, policy) {
        Ok(cut) => cut.tokens,
        Err(PlanError::BudgetTooSmall { needed, .. }) => needed,
    };
    let needed = coarsest.saturating_add(since);
    if needed > budget {
        return Err(PlanError::BudgetTooSmall { needed, budget });
    }
    let half = budget / 2;
    let share = if since <= half { coarsest.max(budget - half) } else { coarsest };
    // No more than is left: `coarsest` and `since` fit together, and `budget - half` fits beside `half`.
    let mut cut = plan_view(&older, share, policy)?;
    cut.pieces.extend(recent.into_iter().map(CutPiece::Verbatim));
    cut.tokens = cut.tokens.saturating_add(since);
    Ok(cut)
}

/// The turns behind the last summarized one; `None` where there are FULL nodes before it too.
fn recent(tree: &Tree<'_>) -> Option<Vec<NodeRange>> {
    let full = tree.full();
    let turns = turns(tree.nodes());
    match full.as_slice() {
        [] => Some(Vec::new()),
        [run] if run.last().get() == tree.total() => {
            let behind: Vec<_> = turns.into_iter().filter(|turn| turn.last() >= run.first()).collect();
            let is_whole = behind.first().is_some_and(|turn| turn.first() == run.first());
            is_whole.then_some(behind)
        }
        _ => None,
    }
}
