//! A cut through the summary tree: the pieces to show, each node exactly once.

use super::Tree;
use crate::{NodeRange, SummaryId};

/// A selection of pieces that represents each node of a conversation exactly once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// Pieces in order of the nodes that they represent; the spans tile the conversation.
    pub pieces: Vec<CutPiece>,
    /// Tokens that the pieces cost under the policy.
    pub tokens: u32,
}

/// A piece of a cut.
///
/// Exhaustive, because a view must show every piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPiece {
    /// A turn, shown verbatim.
    Verbatim(NodeRange),
    /// A summary, shown instead of the nodes that it covers.
    Summary {
        /// The summary.
        id: SummaryId,
        /// The nodes.
        span: NodeRange,
    },
    /// A line that names the nodes that are not shown.
    Omitted(NodeRange),
}

impl CutPiece {
    /// The nodes that the piece represents.
    #[must_use]
    pub const fn span(self) -> NodeRange {
        match self {
            Self::Verbatim(span) | Self::Summary { span, .. } | Self::Omitted(span) => span,
        }
    }
}

impl Cut {
    /// A cut of these pieces, which cost `tokens`.
    #[must_use]
    pub const fn new(pieces: Vec<CutPiece>, tokens: u32) -> Self {
        Self { pieces, tokens }
    }

    /// Replaces each dissolved summary with its parts. The cost stays the same.
    #[must_use]
    pub fn undissolved(mut self, tree: &Tree) -> Self {
        let is_dissolved = |piece: &CutPiece| matches!(piece, CutPiece::Summary { id, .. } if tree.is_dissolved(*id));
        if self.pieces.iter().any(is_dissolved) {
            let piece = |part: SummaryId| {
                let span = tree.summary(part)?.span;
                Some(CutPiece::Summary { id: part, span })
            };
            let parts = |shown: CutPiece| match shown {
                CutPiece::Summary { id, .. } => tree.undissolved([id]).into_iter().filter_map(piece).collect(),
                other => vec![other],
            };
            self.pieces = self.pieces.into_iter().flat_map(parts).collect();
        }
        self
    }

    /// Runs of nodes that are shown verbatim.
    #[must_use]
    pub fn verbatim(&self) -> Vec<NodeRange> {
        let verbatim = |piece: &CutPiece| match piece {
            CutPiece::Verbatim(span) => Some(*span),
            CutPiece::Summary { .. } | CutPiece::Omitted(_) => None,
        };
        NodeRange::merge(self.pieces.iter().filter_map(verbatim).collect())
    }
}

/// Reason why no cut can be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The coarsest cut exceeds the budget.
    #[error("the coarsest view of the conversation needs {needed} tokens, the budget is {budget}")]
    BudgetTooSmall {
        /// Tokens of the coarsest cut.
        needed: u32,
        /// The budget.
        budget: u32,
    },
}

/// Saturating conversion of a token count.
pub(super) fn tokens(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
