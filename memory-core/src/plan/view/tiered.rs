//! The strategy of three tiers: messages, their SUMMARYs, and summaries of everything older.

use serde::{Deserialize, Serialize};

use super::selected::refined;
use crate::{
    NodeId, WrittenBy,
    plan::{Compaction, Cut, PlanError, Thresholds, Tree, plan_compaction},
    port::{ContextStrategy, PlanRequest, ShrinkScope},
};

/// The last messages verbatim (immediate), a SUMMARY for each of those before (working), and METAs and ARCHIVEs for
/// everything older (long-term).
///
/// Messages move between tiers [`step`](Self::step) at a time. Each tier spends at most its share of the budget in
/// addition to the coarsest view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TieredView {
    /// Number of last messages that are shown verbatim; 10 by default.
    pub immediate: u64,
    /// Number of messages before those that are shown by their SUMMARYs; 20 by default.
    pub working: u64,
    /// Number of messages, the oldest of a tier, that move together; 5 by default.
    pub step: u64,
    /// Shares of the budget that the tiers may spend.
    pub shares: TierShares,
}

/// Maximum share of the budget that each tier adds to the coarsest view, 0..=1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TierShares {
    /// Messages; 0.5 by default.
    pub immediate: f32,
    /// SUMMARYs; 0.3 by default.
    pub working: f32,
    /// METAs instead of ARCHIVEs; 0.2 by default.
    pub long_term: f32,
}

impl Default for TierShares {
    fn default() -> Self {
        Self { immediate: 0.5, working: 0.3, long_term: 0.2 }
    }
}

impl TierShares {
    crate::setters! {
        const immediate: f32,
        const working: f32,
        const long_term: f32,
    }
}

impl Default for TieredView {
    fn default() -> Self {
        Self { immediate: 10, working: 20, step: 5, shares: TierShares::default() }
    }
}

impl TieredView {
    crate::setters! {
        const immediate: u64,
        const working: u64,
        const step: u64,
        const shares: TierShares,
    }

    /// Thresholds of compaction that move the messages between tiers.
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        let group = self.step.max(2);
        Thresholds::default()
            .recent_node_limit(self.immediate)
            .summary_threshold(self.immediate.saturating_add(self.step.saturating_sub(1)))
            .meta_summary_threshold(self.working.max(group))
            .meta_min(group)
            .meta_max(group)
    }
}

impl ContextStrategy for TieredView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("tiered", "1")
    }

    fn due(&self, tree: &Tree) -> Compaction {
        plan_compaction(tree, &self.thresholds())
    }

    fn shrink(&self, tree: &Tree, scope: ShrinkScope) -> Compaction {
        self.thresholds().shrink(tree, scope)
    }

    fn history_share(&self) -> f32 {
        (self.shares.immediate + self.shares.working).min(1.0)
    }

    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError> {
        let budget = u64::from(request.budget);
        refined(tree, request.budget, |view| {
            let ceiling = |spent: u64, share: f32| budget.min(spent.saturating_add(share_of(request.prompt, share)));
            let immediate = ceiling(view.tokens(), self.shares.immediate);
            view.restore_nodes(newest(tree, self.immediate), immediate);
            let working = ceiling(view.tokens(), self.shares.working);
            let before = usize::try_from(self.immediate).unwrap_or(usize::MAX);
            let summarized = newest(tree, self.immediate.saturating_add(self.working)).skip(before);
            summarized.for_each(|node| view.open_to_summary(node, working));
            let long_term = ceiling(view.tokens(), self.shares.long_term);
            view.open_archives(long_term);
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
fn share_of(budget: u32, share: f32) -> u64 {
    (f64::from(budget) * f64::from(share.clamp(0.0, 1.0))) as u64
}

/// The last `count` nodes, the newest first.
fn newest(tree: &Tree, count: u64) -> impl Iterator<Item = NodeId> {
    let first = tree.total().saturating_sub(count) + 1;
    (first..=tree.total()).rev().filter_map(NodeId::new)
}
