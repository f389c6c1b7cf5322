//! The strategy that shows recent and important messages verbatim.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::selected::{newest, selected};
use crate::{
    NodeId, WrittenBy,
    plan::{Compaction, Cut, PlanError, Thresholds, Tree, plan_compaction},
    port::{ContextStrategy, PlanRequest, ShrinkScope},
};

/// The last messages and the important ones verbatim; all others as coarse as their summaries allow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ImportanceWindowView {
    /// Number of last messages that are shown; 10 by default.
    pub recent: u64,
    /// Minimum importance of a message that is shown, 0..=1; 0.7 by default. The most important messages come first.
    pub importance: f32,
    /// Thresholds at which compaction starts and stops.
    pub thresholds: Thresholds,
}

impl Default for ImportanceWindowView {
    fn default() -> Self {
        Self { recent: 10, importance: 0.7, thresholds: Thresholds::default() }
    }
}

impl ImportanceWindowView {
    crate::setters! {
        const recent: u64,
        const importance: f32,
        const thresholds: Thresholds,
    }

    /// Nodes of at least the minimum importance, by importance; newest first among equals.
    fn important(&self, tree: &Tree) -> impl Iterator<Item = NodeId> {
        let important = tree.nodes().enumerate().filter(|(_, node)| node.importance() >= self.importance);
        let mut important: Vec<_> =
            important.map(|(index, node)| (node.importance(), NodeId::from_index(index))).collect();
        important.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        important.into_iter().map(|(_, node)| node)
    }
}

impl ContextStrategy for ImportanceWindowView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("importance-window", "1")
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
        selected(tree, request.budget, newest(tree, self.recent).chain(self.important(tree)))
    }
}
