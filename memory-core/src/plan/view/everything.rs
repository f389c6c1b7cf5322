//! The strategy that shows every message verbatim.

use serde::{Deserialize, Serialize};

use crate::{
    WrittenBy,
    plan::{Cut, PlanError, Tree, cut::tokens},
    port::{ContextStrategy, PlanRequest},
};

/// Shows every message verbatim, or fails with the tokens needed. Never summarizes or omits anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EverythingView {}

impl ContextStrategy for EverythingView {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("none", "1")
    }

    fn plan(&self, tree: &Tree, request: &PlanRequest<'_>) -> Result<Cut, PlanError> {
        let needed = self.smallest(tree);
        if needed > request.budget {
            return Err(PlanError::BudgetTooSmall { needed, budget: request.budget });
        }
        let mut cut = self.whole(tree).unwrap_or_default();
        cut.tokens = needed;
        Ok(cut)
    }

    fn smallest(&self, tree: &Tree) -> u32 {
        tokens(tree.verbatim_total())
    }

    fn removed(&self, _tree: &Tree) -> u64 {
        0
    }
}
