//! The strategy that shows the end of a conversation and selected messages verbatim.

use std::sync::Arc;

use serde::Deserialize;

use super::{coarsest, refinement::Refinement};
use crate::{
    NodeId, WrittenBy,
    plan::{Compaction, Cut, CutPiece, PlanError, Thresholds, Tree, cut::tokens, plan_compaction},
    port::{ContextStrategy, PlanRequest, ShrinkScope},
};

/// Most messages that are selected; a prompt has room for fewer.
const MOST: usize = 200;

/// The end of a conversation and selected messages verbatim; the rest as coarse as possible, refined where selected
/// messages leave room.
///
/// [`importance_window`](Self::importance_window), [`query_aware`](Self::query_aware) and
/// [`knowledge`](Self::knowledge) select by what their names say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectedView {
    selects: Selects,
    tail: f32,
    share: f32,
    thresholds: Thresholds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selects {
    Important,
    Relevant,
    Known,
}

/// Settings of a [`SelectedView`] in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SelectedSettings {
    tail: Option<f32>,
    share: Option<f32>,
    pub(super) thresholds: Thresholds,
}

impl SelectedView {
    fn new(selects: Selects, share: f32) -> Self {
        Self { selects, tail: 0.2, share, thresholds: Thresholds::default() }
    }

    /// Selects the most important messages, up to .5 of a prompt.
    #[must_use]
    pub fn importance_window() -> Self {
        Self::new(Selects::Important, 0.5)
    }

    /// Selects the messages that answer the question, each at its place, up to .7 of a prompt.
    ///
    /// The history differs between questions, so that a provider's cache covers less of it than with the other
    /// managers, which put recalled messages after the history.
    #[must_use]
    pub fn query_aware() -> Self {
        Self::new(Selects::Relevant, 0.7)
    }

    /// Selects what is known of the conversation, up to .3 of a prompt: currently its standing lines.
    #[must_use]
    pub fn knowledge() -> Self {
        Self::new(Selects::Known, 0.3)
    }

    crate::setters! {
        /// Sets the share of a prompt for the end of the conversation, 0..=1; 0.2 by default.
        tail: f32,
        /// Sets the share of a prompt for what is selected, 0..=1.
        share: f32,
        /// Sets when compaction starts and stops.
        thresholds: Thresholds,
    }

    /// The view with these settings; otherwise the fault in them.
    pub(super) fn configured(self, settings: SelectedSettings) -> Result<Self, String> {
        let SelectedSettings { tail, share, thresholds } = settings;
        let set = Self { tail: tail.unwrap_or(self.tail), share: share.unwrap_or(self.share), thresholds, ..self };
        match [("tail", set.tail), ("share", set.share)].into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((name, share)) => Err(format!("`{name}` is a share from 0 to 1, and {share} is not")),
            None => Ok(set),
        }
    }
}

impl ContextStrategy for SelectedView {
    fn identity(&self) -> WrittenBy {
        let name = match self.selects {
            Selects::Important => "importance-window",
            Selects::Relevant => "query-aware",
            Selects::Known => "knowledge",
        };
        WrittenBy::new(name, "2")
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
        let budget = u64::from(request.budget);
        refined(tree, request.budget, |view| {
            let share = |of: f32| part_of(request.prompt, of);
            view.restore_newest(share(self.tail), budget);
            let most = budget.min(view.tokens() + share(self.share));
            match self.selects {
                Selects::Important => view.restore_nodes(by_importance(tree), most),
                Selects::Relevant => view.restore_nodes(request.hits.iter().copied(), most),
                // Standing lines are not in the history, and need the room.
                Selects::Known => return,
            }
            view.refine(budget);
        })
    }

    fn hits(&self) -> usize {
        if self.selects == Selects::Relevant { MOST } else { 0 }
    }

    fn history_share(&self) -> f32 {
        match self.selects {
            Selects::Important | Selects::Relevant => (self.tail + self.share).min(1.0),
            Selects::Known => self.tail,
        }
    }

    fn base_share(&self) -> f32 {
        self.tail
    }

    fn standing_share(&self) -> f32 {
        if self.selects == Selects::Known { self.share } else { 0.0 }
    }
}

/// The most important nodes; newest first among equals.
fn by_importance(tree: &Tree) -> impl Iterator<Item = NodeId> {
    let mut nodes: Vec<_> =
        tree.nodes().enumerate().map(|(index, node)| (node.importance(), NodeId::from_index(index))).collect();
    nodes.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    nodes.into_iter().take(MOST).map(|(_, node)| node)
}

/// The coarsest view with pinned messages, refined by `refine`; all nodes verbatim if they fit.
///
/// # Errors
/// [`PlanError::BudgetTooSmall`] when the coarsest cut does not fit.
pub(super) fn refined(tree: &Tree, budget: u32, refine: impl FnOnce(&mut Refinement<'_>)) -> Result<Cut, PlanError> {
    if tree.verbatim_total() <= u64::from(budget) {
        let pieces = tree.turns_from(NodeId::FIRST).map(CutPiece::Verbatim).collect();
        return Ok(Cut::new(pieces, tokens(tree.verbatim_total())));
    }
    let needed = coarsest(tree);
    if needed > budget {
        return Err(PlanError::BudgetTooSmall { needed, budget });
    }
    let mut view = Refinement::of_all(tree);
    view.restore_pinned(u64::from(budget));
    refine(&mut view);
    Ok(view.into_cut())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
fn part_of(prompt: u32, share: f32) -> u64 {
    (f64::from(prompt) * f64::from(share)) as u64
}
