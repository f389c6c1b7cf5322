//! The coarsest view, with selected messages verbatim.

use super::{coarsest, refinement::Refinement};
use crate::{
    NodeId,
    plan::{Cut, CutPiece, PlanError, Tree, cut::tokens},
};

/// All roots, with nodes verbatim that no summary covers, then the pinned messages and `wanted` in this order, as far
/// as they fit. All nodes verbatim if they fit.
///
/// # Errors
/// [`PlanError::BudgetTooSmall`] when the coarsest cut does not fit.
pub(super) fn selected(tree: &Tree, budget: u32, wanted: impl IntoIterator<Item = NodeId>) -> Result<Cut, PlanError> {
    refined(tree, budget, |view| view.restore_nodes(wanted, u64::from(budget)))
}

/// The coarsest view with pinned messages, refined by `refine`.
pub(super) fn refined(tree: &Tree, budget: u32, refine: impl FnOnce(&mut Refinement<'_>)) -> Result<Cut, PlanError> {
    if tree.verbatim_total() <= u64::from(budget) {
        let pieces = tree.turns_from(NodeId::FIRST).map(CutPiece::Verbatim).collect();
        return Ok(Cut::new(pieces, tokens(tree.verbatim_total())));
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
