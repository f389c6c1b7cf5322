//! The strategy that shows recent messages and those that are relevant to the question.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::selected::{newest, selected};
use crate::{
    WrittenBy,
    plan::{Compaction, Cut, PlanError, Thresholds, Tree, plan_compaction},
    port::{ContextStrategy, PlanRequest, ShrinkScope},
};

/// The last messages, and each message that the retriever finds for the question, verbatim at its place in the history,
/// best first. All others are as coarse as their summaries allow.
///
/// The history differs between questions, so that a provider's cache covers less of it than with the other managers,
/// which put recalled messages after the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct QueryAwareView {
    /// Number of last messages that are always shown; 10 by default.
    pub recent: u64,
    /// Maximum messages that are shown for a question; 20 by default.
    pub most: usize,
    /// Thresholds at which compaction starts and stops.
    pub thresholds: Thresholds,
}

impl Default for QueryAwareView {
    fn default() -> Self {
        Self { recent: 10, most: 20, thresholds: Thresholds::default() }
    }
}

impl QueryAwareView {
    crate::setters! {
        const recent: u64,
        const most: usize,
        const thresholds: Thresholds,
    }
}

impl ContextStrategy for QueryAwareView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("query-aware", "1")
    }

    fn with_thresholds(&self, thresholds: Thresholds) -> Option<Arc<dyn ContextStrategy>> {
        Some(Arc::new(Self { thresholds, ..*self }))
    }

    fn due(&self, tree: &Tree) -> Compaction {
        plan_compaction(tree, &self.thresholds)
    }

    fn shrink(&self, tree: &Tree, scope: ShrinkScope) -> Compaction {
        self.thresholds.shrink(tree, scope)
    }

    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError> {
        selected(tree, request.budget, newest(tree, self.recent).chain(request.hits.iter().copied()))
    }

    fn hits(&self) -> usize {
        self.most
    }
}
