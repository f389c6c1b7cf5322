//! Port: which part of a history a model is shown.

use std::fmt;

use crate::{
    NodeOutline, Summary, WrittenBy,
    plan::{Cut, PlanError, ViewPolicy},
};

/// A conversation as a strategy sees it: no words of messages, only their outlines.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    /// Every node in order; the node at index `i` has position `i + 1`.
    pub nodes: &'a [NodeOutline],
    /// Every recorded summary in order of its number; numbers are missing where the store lost a summary.
    pub summaries: &'a [Summary],
}

/// Chooses what of a history is shown.
///
/// Contract: pure; the [`Cut`] represents every node exactly once and costs at most the budget, or the
/// call fails with the tokens needed; equal inputs give equal cuts. The question at hand is no input, so
/// that the history's part of a prompt stays the same between turns.
pub trait ContextStrategy: fmt::Debug + Send + Sync {
    /// Name and version.
    fn identity(&self) -> WrittenBy;

    /// Plans a view of at most `budget` tokens.
    ///
    /// # Errors
    /// [`PlanError::BudgetTooSmall`] when not even the coarsest cut fits.
    fn plan(&self, history: History<'_>, budget: u32, policy: &ViewPolicy) -> Result<Cut, PlanError>;
}
