//! Views: the nodes and summaries that a model is shown, as a cut through the summary tree.

mod everything;
mod hierarchical;
mod knapsack;
mod named;
mod refinement;
mod selected;
mod sliding_window;
mod summarizing;
mod tiered;

use self::{knapsack::Knapsack, refinement::Refinement};
use super::{Cut, CutPiece, PlanError, Tree, cut::tokens};
use crate::NodeId;

pub use everything::EverythingView;
pub use hierarchical::HierarchicalView;
pub use named::{MANAGERS, ManagerNameError, strategy_named};
pub use selected::SelectedView;
pub use sliding_window::SlidingWindowView;
pub use summarizing::SummarizingView;
pub use tiered::{TierShares, TieredView};

/// Plans a view of at most `budget` tokens; all nodes verbatim if they fit.
///
/// # Errors
/// [`PlanError::BudgetTooSmall`] when not even the coarsest cut fits.
pub fn plan_view(tree: &Tree, budget: u32) -> Result<Cut, PlanError> {
    if tree.verbatim_total() <= u64::from(budget) {
        let pieces = tree.turns_from(NodeId::FIRST).map(CutPiece::Verbatim).collect();
        return Ok(Cut { pieces, tokens: tokens(tree.verbatim_total()) });
    }
    let needed = coarsest(tree);
    if needed > budget {
        return Err(PlanError::BudgetTooSmall { needed, budget });
    }
    Ok(finest(tree, Refinement::of_all(tree), budget))
}

/// The best cut of at most `budget` tokens that keeps the verbatim turns of `coarse`, which is a coarsest cut, and the
/// pinned nodes.
fn finest(tree: &Tree, mut coarse: Refinement<'_>, budget: u32) -> Cut {
    coarse.restore_end(u64::from(budget));
    coarse.restore_pinned(u64::from(budget));
    let forced = coarse.verbatim();
    let spent: u64 = forced.iter().map(|turn| tree.verbatim_cost(*turn)).sum();
    let left = tokens(u64::from(budget).saturating_sub(spent));
    let is_low = tree.roots().all(|root| tree.height(root.id) <= Some(HIGHEST));
    let chosen = if is_low { Knapsack::new(tree, forced).cut(left) } else { None };
    match chosen {
        // The knapsack ignores nodes of negligible weight; the refinement spends the rest of the budget on them.
        Some(cut) => {
            let mut view = Refinement::of_cut(tree, cut);
            view.refine(u64::from(budget));
            view.into_cut()
        }
        None => {
            coarse.refine(u64::from(budget));
            coarse.into_cut()
        }
    }
}

/// Maximum height of a tree that is cut by dynamic programming, which is recursive. A tree is higher only if the budget
/// forced a summary of everything in many successive turns, or if the log was crafted so.
const HIGHEST: u32 = 48;

/// Tokens of the coarsest view: all roots, with nodes verbatim that no summary covers.
#[must_use]
pub fn coarsest(tree: &Tree) -> u32 {
    let top = if tree.mixed_turns().is_empty() { tree.top() } else { Refinement::of_all(tree).tokens() };
    tokens(top.min(tree.verbatim_total()))
}

#[cfg(test)]
mod tests;
