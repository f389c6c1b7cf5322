//! Port: which part of a history is shown to a model.

use std::fmt;

use crate::{
    WrittenBy,
    plan::{Cut, PlanError, Tree},
};

/// Chooses what is shown of a history.
///
/// Contract: pure. The [`Cut`] represents every node exactly once and costs at most the budget, or the call fails with
/// the tokens needed. Equal inputs give equal cuts. The question is not an input, so that the history's part of a
/// prompt stays the same between turns. A strategy sees the shape of a conversation and the importance and cost of its
/// parts, but no words.
pub trait ContextStrategy: fmt::Debug + Send + Sync {
    /// Name and version.
    fn identity(&self) -> WrittenBy;

    /// Plans a view of at most `budget` tokens under the tree's policy.
    ///
    /// `shown` is what was shown before, where that is known. A change early in a prompt makes the model read
    /// everything after it anew, so a strategy may keep what was shown as far as that is possible.
    ///
    /// # Errors
    /// [`PlanError::BudgetTooSmall`] when not even the coarsest cut fits.
    fn plan(&self, tree: &Tree, budget: u32, shown: Option<&Cut>) -> Result<Cut, PlanError>;
}
