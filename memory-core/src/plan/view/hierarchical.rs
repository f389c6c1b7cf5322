//! The strategy of the hierarchical view.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::plan_view;
use crate::{
    WrittenBy,
    plan::{
        Compaction, Cut, PlanError, Thresholds, Tree, plan_compaction, plan_merge_before_end, plan_shrink,
        plan_shrink_before_end,
    },
    port::{ContextStrategy, PlanRequest, ShrinkScope},
};

/// The hierarchical view: FULL nodes verbatim, and for the rest the most valuable cut that fits.
///
/// The value of a cut is the sum of importance × recency × fidelity over its nodes; recency halves every
/// [`ViewPolicy::half_life`] nodes. Dynamic programming over the tree finds the cut. Each merged summary caches the
/// profile of the part below it, with the maximum value at each number of tokens, in at most 64 points, so that only
/// changed parts are merged again. The result is exact while profiles have fewer points, and beyond that to a 64th of
/// the full cost of a part. Pinned nodes are restored verbatim first, newest first, while they fit.
///
/// [`ViewPolicy::half_life`]: crate::plan::ViewPolicy::half_life
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HierarchicalView {
    /// Thresholds of compaction.
    pub thresholds: Thresholds,
}

impl HierarchicalView {
    /// The strategy with these thresholds.
    #[must_use]
    pub const fn new(thresholds: Thresholds) -> Self {
        Self { thresholds }
    }
}

impl Thresholds {
    /// The next step of compaction towards a smaller view.
    pub(super) fn shrink(&self, tree: &Tree, scope: ShrinkScope) -> Compaction {
        match scope {
            ShrinkScope::BeforeEnd => plan_shrink_before_end(tree, self),
            ShrinkScope::MergeBeforeEnd => plan_merge_before_end(tree, self),
            ShrinkScope::All => plan_shrink(tree, self),
        }
    }
}

impl ContextStrategy for HierarchicalView {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "hierarchical".into(), version: "2".into() }
    }

    fn with_thresholds(&self, thresholds: Thresholds) -> Option<Arc<dyn ContextStrategy>> {
        Some(Arc::new(Self { thresholds }))
    }

    fn due(&self, tree: &Tree) -> Compaction {
        plan_compaction(tree, &self.thresholds)
    }

    fn shrink(&self, tree: &Tree, scope: ShrinkScope) -> Compaction {
        self.thresholds.shrink(tree, scope)
    }

    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError> {
        plan_view(tree, request.budget)
    }
}
