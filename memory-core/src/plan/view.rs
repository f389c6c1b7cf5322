//! Which nodes and summaries a model is shown: a cut through the summary tree.

mod knapsack;
mod refinement;
mod settled;

use self::{
    knapsack::{Chosen, Knapsack},
    refinement::Refinement,
};
use super::{Thresholds, Tree};
use crate::{ContextStrategy, NodeId, NodeRange, SummaryId, WrittenBy};

/// What a view weighs and what its pieces cost beside their words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewPolicy {
    /// Tokens that a message costs beside its text.
    pub per_message: u32,
    /// Tokens that a summary costs beside its text.
    pub per_summary: u32,
    /// A node's weight halves with every so many nodes behind it.
    pub half_life: f32,
    /// What is kept of a node at each level, by the level's number. An ARCHIVE over ARCHIVEs keeps half of what
    /// those keep.
    pub fidelity: [f32; 4],
    /// What a view must gain for each token from its first change on, as the model has to read them anew: a share of what
    /// a message of importance 1 that was just said is worth, word for word.
    pub stickiness: f32,
    /// Messages of fewer tokens are shown as they are, not by SUMMARYs of their own.
    pub short: u32,
    /// So many of the last messages are shown word for word before anything older is refined, as far as they fit.
    pub recent: u64,
}

impl Default for ViewPolicy {
    fn default() -> Self {
        Self {
            per_message: 5,
            per_summary: 8,
            half_life: 200.0,
            fidelity: [1.0, 0.5, 0.2, 0.1],
            stickiness: 0.02,
            short: 40,
            recent: 10,
        }
    }
}

/// A choice of what is shown: each node of a conversation exactly once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// In order of the nodes they represent; the spans tile the conversation.
    pub pieces: Vec<CutPiece>,
    /// What the pieces cost under the policy, in tokens.
    pub tokens: u32,
    /// Where what is older was chosen, and stays until compaction has come further: the last node of it.
    pub settled: Option<NodeId>,
}

/// One piece of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPiece {
    /// A turn, word for word.
    Verbatim(NodeRange),
    /// A summary in the place of the nodes that it covers.
    Summary {
        /// The summary.
        id: SummaryId,
        /// The nodes.
        span: NodeRange,
    },
}

impl CutPiece {
    /// The nodes that the piece represents.
    #[must_use]
    pub const fn span(self) -> NodeRange {
        match self {
            Self::Verbatim(span) | Self::Summary { span, .. } => span,
        }
    }
}

impl Cut {
    /// Runs of nodes that are shown word for word.
    #[must_use]
    pub fn verbatim(&self) -> Vec<NodeRange> {
        let verbatim = |piece: &CutPiece| match piece {
            CutPiece::Verbatim(span) => Some(*span),
            CutPiece::Summary { .. } => None,
        };
        NodeRange::merge(self.pieces.iter().filter_map(verbatim).collect())
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not even the coarsest cut fits.
    #[error("the coarsest view of the conversation needs {needed} tokens, the budget is {budget}")]
    BudgetTooSmall {
        /// Tokens of the coarsest cut.
        needed: u32,
        /// The budget.
        budget: u32,
    },
}

/// The hierarchical view: FULL nodes word for word, of the rest the cut of most value for its tokens.
///
/// The value of a node is importance × recency × fidelity, recency halving every [`ViewPolicy::half_life`] nodes; that of a
/// cut is the sum, less [`ViewPolicy::stickiness`] for each token behind the first change. The cut is found by
/// dynamic programming over the tree. A merged summary keeps the profile of what is below it, the most value for each
/// number of tokens, in at most 64 points: so only what has changed is merged anew. It is exact while profiles
/// have fewer points; then it is exact on a grain of a 64th of what a part costs in full. Pinned nodes are brought
/// back word for word first, newest first, while they fit.
///
/// Between two compactions new messages only add to the end: room for them is set aside before what is
/// summarized is cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct HierarchicalView {
    /// When compaction starts and stops: how much room is set aside for what comes before the next one.
    pub thresholds: Thresholds,
}

impl ContextStrategy for HierarchicalView {
    fn identity(&self) -> WrittenBy {
        WrittenBy { strategy: "hierarchical".into(), version: "1".into() }
    }

    fn plan(&self, tree: &Tree, budget: u32, shown: Option<&Cut>) -> Result<Cut, PlanError> {
        settled::plan(tree, &self.thresholds, budget, shown)
    }
}

/// Plans a view of at most `budget` tokens; everything word for word where that fits.
///
/// # Errors
/// [`PlanError::BudgetTooSmall`] when not even the coarsest cut fits.
pub fn plan_view(tree: &Tree, budget: u32) -> Result<Cut, PlanError> {
    if tree.words() <= u64::from(budget) {
        let pieces = tree.turns_from(NodeId::FIRST).map(CutPiece::Verbatim).collect();
        return Ok(Cut { pieces, tokens: tokens(tree.words()), settled: None });
    }
    let needed = coarsest(tree);
    if needed > budget {
        return Err(PlanError::BudgetTooSmall { needed, budget });
    }
    Ok(finest(tree, Refinement::of_all(tree), budget, None, 0))
}

/// The best cut of at most `budget` tokens that shows word for word what `coarse`, a coarsest cut, does, and what is
/// pinned; `behind` more tokens follow it.
fn finest(tree: &Tree, mut coarse: Refinement<'_>, budget: u32, shown: Option<&Cut>, behind: u32) -> Cut {
    coarse.restore_end(u64::from(budget));
    coarse.restore_pinned(u64::from(budget));
    let forced = coarse.verbatim();
    let spent: u64 = forced.iter().map(|turn| tree.words_of(*turn)).sum();
    let left = tokens(u64::from(budget).saturating_sub(spent));
    let is_low = tree.roots().all(|root| tree.height(root.id) <= Some(HIGHEST));
    let chosen = if is_low { Knapsack::new(tree, forced).cut(left, shown, behind) } else { None };
    match chosen {
        // What was said so long ago that it weighs nothing beside the rest is chosen among itself.
        Some(Chosen { cut, is_new: true }) => {
            let mut view = Refinement::of_cut(tree, cut);
            view.refine(u64::from(budget));
            view.into_cut()
        }
        Some(Chosen { cut, is_new: false }) => cut,
        None => {
            coarse.refine(u64::from(budget));
            coarse.into_cut()
        }
    }
}

/// Storeys up to which a tree is cut by dynamic programming, which recurs. A tree is higher only where a budget asked for
/// one summary of everything turn after turn, or where a log tells of one.
const HIGHEST: u32 = 48;

/// Tokens of the coarsest view: every root of the tree, and word for word what no summary covers.
#[must_use]
pub fn coarsest(tree: &Tree) -> u32 {
    let top = if tree.mixed_turns().is_empty() { tree.top() } else { Refinement::of_all(tree).tokens() };
    tokens(top.min(tree.words()))
}

fn tokens(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
