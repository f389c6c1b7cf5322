//! The coarsest view with some messages verbatim.

use super::{coarsest, refinement::Refinement};
use crate::{
    NodeId,
    plan::{Cut, CutPiece, PlanError, Tree, cut::tokens},
};

/// Every root of the tree and what no summary covers; the pinned messages and then `wanted` verbatim, in this order,
/// as far as they fit. Everything verbatim where that fits.
///
/// # Errors
/// [`PlanError::BudgetTooSmall`] when the coarsest cut does not fit.
pub(super) fn selected(tree: &Tree, budget: u32, wanted: impl IntoIterator<Item = NodeId>) -> Result<Cut, PlanError> {
    refined(tree, budget, |view| view.restore_nodes(wanted, u64::from(budget)))
}

/// The coarsest view with pinned messages, and what `refine` adds to it.
pub(super) fn refined(tree: &Tree, budget: u32, refine: impl FnOnce(&mut Refinement<'_>)) -> Result<Cut, PlanError> {
    if tree.words() <= u64::from(budget) {
        let pieces = tree.turns_from(NodeId::FIRST).map(CutPiece::Verbatim).collect();
        return Ok(Cut::new(pieces, tokens(tree.words())));
    }
    let needed = coarsest(tree);
    if needed > budget {
        return Err(PlanError::BudgetTooSmall { needed, budget });
    }
    let mut view = Refinement::of_all(tree);
    view.restore_pinned(u64::from(budget));
    refine(&mut view);
    Ok(view.into_cut())
}

/// The last `count` nodes, the newest first.
pub(super) fn newest(tree: &Tree, count: u64) -> impl Iterator<Item = NodeId> {
    let first = tree.total().saturating_sub(count) + 1;
    (first..=tree.total()).rev().filter_map(NodeId::new)
}
