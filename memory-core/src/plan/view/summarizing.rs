//! The strategy that summarizes a share of the oldest messages only when a prompt becomes too long.

use serde::{Deserialize, Serialize};

use super::selected::refined;
use crate::{
    WrittenBy,
    plan::{
        Compaction, Cut, PlanError, Tree,
        list::{InvalidListConfig, Summarizing},
        plan_ratio,
    },
    port::{ContextStrategy, PlanRequest, ShrinkScope},
};

/// The summarizing manager of Strands Agents 1.62 on the summary tree. Appending a message makes nothing due. If a view
/// does not fit, the oldest [`summary_ratio`](Self::summary_ratio) of its messages are summarized, repeatedly until it
/// fits. The last [`preserve_recent_messages`](Self::preserve_recent_messages) are never summarized, so a budget below
/// their cost shows them by head and tail, and then fewer of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SummarizingView {
    /// Share of the messages that one step summarizes, 0.1..=0.8; 0.3 by default.
    pub summary_ratio: f64,
    /// Number of last messages that are never summarized; 10 by default.
    pub preserve_recent_messages: u64,
    /// True for the semantic manager, which also recalls exact messages for each message of the user.
    #[serde(skip)]
    pub is_semantic: bool,
}

/// Share of a prompt for the history of the semantic manager, which leaves the rest to recall.
const SEMANTIC: f32 = 0.6;

impl Default for SummarizingView {
    fn default() -> Self {
        Self { summary_ratio: 0.3, preserve_recent_messages: 10, is_semantic: false }
    }
}

impl SummarizingView {
    crate::setters! {
        const summary_ratio: f64,
        const preserve_recent_messages: u64,
        const is_semantic: bool,
    }

    /// Clamps the ratio to [`Summarizing::RATIOS`], as [`Summarizing::clamped`] does.
    #[must_use]
    pub fn clamped(self) -> Self {
        self.summary_ratio(Summarizing::clamped(self.summary_ratio).summary_ratio())
    }

    /// Checks the ratio.
    ///
    /// # Errors
    /// If it is outside of [`Summarizing::RATIOS`].
    pub fn check(&self) -> Result<(), InvalidListConfig> {
        Summarizing::new(self.summary_ratio).map(drop)
    }
}

impl ContextStrategy for SummarizingView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new(if self.is_semantic { "semantic-summarizing" } else { "summarizing" }, "1")
    }

    fn shrink(&self, tree: &Tree, scope: ShrinkScope) -> Compaction {
        plan_ratio(tree, self.summary_ratio, self.preserve_recent_messages, scope)
    }

    fn keeps_shrunk(&self) -> bool {
        true
    }

    fn history_share(&self) -> f32 {
        if self.is_semantic { SEMANTIC } else { 1.0 }
    }

    fn recalls(&self) -> bool {
        self.is_semantic
    }

    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError> {
        refined(tree, request.budget, |_| {})
    }
}
