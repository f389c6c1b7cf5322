//! The strategy that shows every message verbatim, and the last ones where not all fit.

use serde::{Deserialize, Serialize};

use super::SlidingWindowView;
use crate::{
    WrittenBy,
    plan::{Cut, PlanError, Tree},
    port::{ContextStrategy, PlanRequest},
};

/// Shows every message verbatim; where they do not fit, as many of the last ones as do, and a line for the others.
/// Never summarizes anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EverythingView {}

impl EverythingView {
    /// The view of the last messages.
    fn last() -> SlidingWindowView {
        SlidingWindowView::default().window_size(u64::MAX)
    }
}

impl ContextStrategy for EverythingView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("none", "2")
    }

    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError> {
        Self::last().plan(tree, request)
    }

    fn smallest(&self, tree: &Tree) -> u32 {
        Self::last().smallest(tree)
    }

    fn removed(&self, _tree: &Tree) -> u64 {
        0
    }

    fn history_share(&self) -> f32 {
        1.0
    }

    fn recalls(&self) -> bool {
        false
    }
}
