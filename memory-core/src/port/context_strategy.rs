//! Port: which part of a history is shown to a model.

use std::{fmt, sync::Arc};

use crate::{
    NodeId, NodeRange, WrittenBy,
    plan::{Compaction, Cut, CutPiece, PlanError, Thresholds, Tree, coarsest},
};

/// Decides what a manager of the summary tree does: which summaries are written when, and what a view shows.
///
/// Contract: pure. The [`Cut`] represents every node exactly once and costs at most the budget, or the call fails with
/// the tokens needed. Equal inputs give equal cuts. A strategy sees the shape of a conversation and the importance and
/// cost of its parts, but no words.
pub trait ContextStrategy: fmt::Debug + Send + Sync {
    /// Name and version. The name is that of the manager.
    fn identity(&self) -> WrittenBy;

    /// The same strategy with compaction that starts and stops by `thresholds`; `None`, as by default, for one that
    /// does not go by them.
    fn with_thresholds(&self, _thresholds: Thresholds) -> Option<Arc<dyn ContextStrategy>> {
        None
    }

    /// The summaries that are due now; none by default. Performing them may make others due: it is asked again until
    /// nothing is.
    fn due(&self, _tree: &Tree) -> Compaction {
        Compaction::default()
    }

    /// The next summaries to write for a smaller view, whatever is due; none by default. Empty when no step is left.
    fn shrink(&self, _tree: &Tree, _scope: ShrinkScope) -> Compaction {
        Compaction::default()
    }

    /// True if the summaries that a view needs stay for later ones. By default they are for that view alone, so that a
    /// view depends on the log, the question and the budget, and not on other views.
    fn keeps_shrunk(&self) -> bool {
        false
    }

    /// Plans a view under the tree's policy.
    ///
    /// # Errors
    /// [`PlanError::BudgetTooSmall`] when not even the smallest cut fits.
    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError>;

    /// The cut that shows every node verbatim, where it may be shown if it fits; by default it always may.
    fn whole(&self, tree: &Tree) -> Option<Cut> {
        Some(Cut::new(NodeRange::first_n(tree.total()).map(CutPiece::Verbatim).into_iter().collect(), 0))
    }

    /// Tokens of the smallest view: by default every root of the tree, and, verbatim, what no summary covers.
    fn smallest(&self, tree: &Tree) -> u32 {
        coarsest(tree)
    }

    /// How many nodes no view shows verbatim any more; by default those under summaries.
    fn removed(&self, tree: &Tree) -> u64 {
        tree.total() - tree.full_count()
    }

    /// How many messages that bear on the question the view is planned with; none by default, so that the history's
    /// part of a prompt stays the same from question to question.
    fn hits(&self) -> usize {
        0
    }

    /// The largest share of a budget for standing lines, 0..=1.
    fn standing_share(&self) -> f32 {
        0.05
    }
}

/// Nodes that may be summarized for a smaller view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShrinkScope {
    /// Nodes older than the last user's message and what follows it.
    BeforeEnd,
    /// The same; when no step is left, the two newest neighbours before the end become one summary.
    MergeBeforeEnd,
    /// Everything.
    All,
}

/// A request for a cut.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PlanRequest<'a> {
    /// The most tokens of the cut.
    pub budget: u32,
    /// Nodes that bear on the question, best first, for a strategy that [asks for them](ContextStrategy::hits).
    pub hits: &'a [NodeId],
}

impl<'a> PlanRequest<'a> {
    /// A request for a cut of at most `budget` tokens.
    #[must_use]
    pub const fn new(budget: u32) -> Self {
        Self { budget, hits: &[] }
    }

    crate::setters! { const hits: &'a [NodeId] }
}
