//! The strategy that plans the hierarchical view.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::settled;
use crate::{
    ContextStrategy, PlanRequest, ShrinkScope, WrittenBy,
    plan::{
        Compaction, Cut, PlanError, Thresholds, Tree, plan_compaction, plan_merge_before_end, plan_shrink,
        plan_shrink_before_end,
    },
};

/// The hierarchical view: FULL nodes verbatim, and of the rest the cut with the most value for its tokens.
///
/// The value of a node is importance × recency × fidelity, where recency halves every [`ViewPolicy::half_life`] nodes.
/// The value of a cut is the sum. Dynamic programming over the tree finds the cut. A merged summary caches the profile
/// of what is below it, which is the most value for each number of tokens, in at most 64 points. So only changed parts
/// are merged again. The result is exact while profiles have fewer points; then it is exact on a grain of a 64th of
/// what a part costs in full. Pinned nodes are restored verbatim first, newest first, while they fit.
///
/// Between two compactions new messages only add to the end: room for them is reserved before the summarized part is
/// cut.
///
/// [`ViewPolicy::half_life`]: crate::plan::ViewPolicy::half_life
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HierarchicalView {
    /// When compaction starts and stops, which determines how much room is reserved until the next one.
    pub thresholds: Thresholds,
}

impl HierarchicalView {
    /// The strategy for compactions under these thresholds.
    #[must_use]
    pub const fn new(thresholds: Thresholds) -> Self {
        Self { thresholds }
    }
}

impl Thresholds {
    /// The next step of the hierarchical manager toward a smaller view.
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
        WrittenBy { strategy: "hierarchical".into(), version: "1".into() }
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
        settled::plan(tree, &self.thresholds, request.budget)
    }
}
