//! The strategy that gives knowledge of a conversation more room than its history.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::selected::{newest, selected};
use crate::{
    WrittenBy,
    plan::{Compaction, Cut, PlanError, Thresholds, Tree, plan_compaction},
    port::{ContextStrategy, PlanRequest, ShrinkScope},
};

/// Recent messages verbatim, older ones as coarse as possible, and a large share of the budget for knowledge: currently
/// the standing lines (instructions, preferences, decisions, open questions), later the facts of a knowledge base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct KnowledgeView {
    /// Number of last messages that are shown; 10 by default.
    pub recent: u64,
    /// Maximum share of the budget for knowledge, 0..=1; 0.25 by default.
    pub knowledge: f32,
    /// Thresholds at which compaction starts and stops.
    pub thresholds: Thresholds,
}

impl Default for KnowledgeView {
    fn default() -> Self {
        Self { recent: 10, knowledge: 0.25, thresholds: Thresholds::default() }
    }
}

impl KnowledgeView {
    crate::setters! {
        const recent: u64,
        const knowledge: f32,
        const thresholds: Thresholds,
    }
}

impl ContextStrategy for KnowledgeView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("knowledge", "1")
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
        selected(tree, request.budget, newest(tree, self.recent))
    }

    fn standing_share(&self) -> f32 {
        self.knowledge.clamp(0.0, 1.0)
    }
}
