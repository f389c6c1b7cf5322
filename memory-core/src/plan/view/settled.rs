//! The view between two compactions: what is summarized keeps its cut while messages are added.

use super::{Cut, CutPiece, PlanError, Refinement, ViewPolicy, plan_view, words};
use crate::{
    History, NodeRange,
    plan::{Tree, turns},
};

/// About as many messages as compaction lets stand before it sets in again.
const EXPECTED: u64 = 20;

/// Plans a view whose older part depends on the summaries, the pins and the budget alone.
///
/// Room for what is still to come before the next compaction is set aside at once, so the cut of the older
/// part, and the prompt rendered from it, stays the same until then. Where more comes than was expected, the
/// older part is cut anew at most twice: with half of the budget, then as coarse as it gets.
pub(super) fn plan(history: History<'_>, budget: u32, policy: &ViewPolicy) -> Result<Cut, PlanError> {
    let tree = Tree::new(history);
    let Some(recent) = recent(&tree).filter(|_| words(history.nodes, policy) > u64::from(budget)) else {
        return plan_view(&tree, budget, policy);
    };
    let first = recent.first().map_or(history.nodes.len(), |turn| turn.first().index());
    let (older, since) = history.nodes.split_at_checked(first).unwrap_or((history.nodes, &[]));
    let since = tokens(words(since, policy));
    let expected = tokens(words(older, policy) * EXPECTED / (older.len() as u64).max(1));
    let older = Tree::new(History { nodes: older, summaries: history.summaries });
    let Some(left) = budget.checked_sub(since) else {
        let needed = coarsest(&older, 0, policy).saturating_add(since);
        return Err(PlanError::BudgetTooSmall { needed, budget });
    };
    let coarsest = coarsest(&older, left, policy);
    if coarsest > left {
        return Err(PlanError::BudgetTooSmall { needed: coarsest.saturating_add(since), budget });
    }
    let half = budget / 2;
    let reserve = [expected.min(half), half].into_iter().find(|reserve| since <= *reserve).unwrap_or(budget);
    let mut cut = plan_view(&older, coarsest.max(budget - reserve), policy)?;
    cut.pieces.extend(recent.into_iter().map(CutPiece::Verbatim));
    cut.tokens = cut.tokens.saturating_add(since);
    Ok(cut)
}

/// What the coarsest view costs, with as many pinned messages as fit into `budget`.
fn coarsest(tree: &Tree<'_>, budget: u32, policy: &ViewPolicy) -> u32 {
    let mut view = Refinement::new(tree, policy);
    view.restore_pinned(u64::from(budget));
    tokens(view.tokens.min(words(tree.nodes(), policy)))
}

fn tokens(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
