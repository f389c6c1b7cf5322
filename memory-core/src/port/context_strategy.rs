//! Port: which part of a history a model is shown.

use std::fmt;

use crate::{
    WrittenBy,
    plan::{Cut, PlanError, Tree},
};

/// Chooses what of a history is shown.
///
/// Contract: pure; the [`Cut`] represents every node exactly once and costs at most the budget, or the
/// call fails with the tokens needed; equal inputs give equal cuts. The question at hand is no input, so
/// that the history's part of a prompt stays the same between turns. A strategy sees the shape of a conversation
/// and what its parts weigh and cost, no words.
pub trait ContextStrategy: fmt::Debug + Send + Sync {
    /// Name and version.
    fn identity(&self) -> WrittenBy;

    /// Plans a view of at most `budget` tokens under the tree's policy.
    ///
    /// `shown` is what was shown before, where that is known: what changes early in a prompt has everything behind
    /// it read anew by the model, so a strategy may stay with what was shown as far as that goes.
    ///
    /// # Errors
    /// [`PlanError::BudgetTooSmall`] when not even the coarsest cut fits.
    fn plan(&self, tree: &Tree, budget: u32, shown: Option<&Cut>) -> Result<Cut, PlanError>;
}
