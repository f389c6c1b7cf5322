//! Port: selection of the history that a model is shown.

use std::{fmt, sync::Arc};

use crate::{
    NodeId, NodeRange, WrittenBy,
    plan::{Compaction, Cut, CutPiece, PlanError, Thresholds, Tree, coarsest},
};

/// Decides for a manager of the summary tree which summaries are due and what a view shows.
///
/// Contract: pure. The [`Cut`] represents every node exactly once and costs at most the budget; otherwise the call
/// fails with the tokens needed. Equal inputs give equal cuts. A strategy sees the structure of a conversation with
/// importance and cost of its parts, but no text.
pub trait ContextStrategy: fmt::Debug + Send + Sync {
    /// Name and version. The name is also the manager's.
    fn identity(&self) -> WrittenBy;

    /// The same strategy with other thresholds of compaction; `None`, the default, for a strategy without thresholds.
    fn with_thresholds(&self, _thresholds: Thresholds) -> Option<Arc<dyn ContextStrategy>> {
        None
    }

    /// Summaries that are due; none by default. Writing them may make others due, so the call is repeated until nothing
    /// is.
    fn due(&self, _tree: &Tree) -> Compaction {
        Compaction::default()
    }

    /// Next summaries to write for a smaller view, whether due or not; none by default. Empty if no step is left.
    fn shrink(&self, _tree: &Tree, _scope: ShrinkScope) -> Compaction {
        Compaction::default()
    }

    /// True if summaries that were written for a view are kept for later views. By default each serves only its own
    /// view, so that a view depends on the log, the question and the budget, and not on other views.
    fn keeps_shrunk(&self) -> bool {
        false
    }

    /// Plans a view under the tree's policy.
    ///
    /// # Errors
    /// [`PlanError::BudgetTooSmall`] if not even the smallest cut fits.
    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError>;

    /// The cut that shows every node verbatim, to be used whenever it fits; `None` if it must not be shown.
    fn whole(&self, tree: &Tree) -> Option<Cut> {
        Some(Cut::new(NodeRange::first_n(tree.total()).map(CutPiece::Verbatim).into_iter().collect(), 0))
    }

    /// Tokens of the smallest view: by default all roots, with nodes verbatim that no summary covers.
    fn smallest(&self, tree: &Tree) -> u32 {
        coarsest(tree)
    }

    /// Number of nodes that no view shows verbatim any more; by default those under summaries.
    fn removed(&self, tree: &Tree) -> u64 {
        tree.total() - tree.full_count()
    }

    /// Number of relevant messages to retrieve before a view is planned. 0 by default, so that the history's part of a
    /// prompt does not change with the question.
    fn hits(&self) -> usize {
        0
    }

    /// Share of a budget, 0..=1, that the history takes before anything is recalled. 0 by default: recall comes first,
    /// and the history is refined with what is left.
    fn history_share(&self) -> f32 {
        0.0
    }

    /// Share of a budget, 0..=1, to which the history is summarized before it is refined with what the strategy selects;
    /// 0, by default, if it need only fit its whole share.
    fn base_share(&self) -> f32 {
        0.0
    }

    /// True, by default, if exact messages are recalled next to the history.
    fn recalls(&self) -> bool {
        true
    }

    /// Maximum share of a budget, 0..=1, for decisions, preferences and open points that bear on the question; none by
    /// default.
    fn standing_share(&self) -> f32 {
        0.0
    }
}

/// Nodes that may be summarized for a smaller view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShrinkScope {
    /// Nodes older than the last user's message.
    BeforeEnd,
    /// Nodes as for `BeforeEnd`; if no step is left, the two newest neighbours before the end become one summary.
    MergeBeforeEnd,
    /// All nodes.
    All,
}

/// A request for a cut.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PlanRequest<'a> {
    /// Maximum tokens of the cut.
    pub budget: u32,
    /// Maximum tokens of the whole prompt, of which a strategy may take shares; by default the budget.
    pub prompt: u32,
    /// Nodes that are relevant to the question, best first, for a strategy that [requests them](ContextStrategy::hits).
    pub hits: &'a [NodeId],
}

impl<'a> PlanRequest<'a> {
    /// A request for a cut of at most `budget` tokens.
    #[must_use]
    pub const fn new(budget: u32) -> Self {
        Self { budget, prompt: budget, hits: &[] }
    }

    crate::setters! {
        const prompt: u32,
        const hits: &'a [NodeId],
    }
}
