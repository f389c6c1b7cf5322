//! Total tokens of the prompts of a conversation.

mod replay;

use memory_core::plan::{PlanError, Tree};

use crate::{PromptOptions, parts::Parts};
pub(crate) use replay::Replay;

/// Total tokens of several prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PromptTokens {
    /// Tokens that are sent to a model.
    pub tokens: u64,
    /// Those of them that also began the previous prompt: a provider that caches the beginnings of prompts need not
    /// read them again.
    pub cached: u64,
    /// Tokens that a model writes besides its replies: summaries.
    pub written: u64,
}

impl PromptTokens {
    /// Prompts of `tokens`, of which `cached` are in the cache.
    #[must_use]
    pub const fn new(tokens: u64, cached: u64) -> Self {
        Self { tokens, cached, written: 0 }
    }

    memory_core::setters! { const written: u64 }

    /// Adds a prompt of `tokens`, of which `cached` are in the cache.
    pub fn add(&mut self, tokens: u64, cached: u64) {
        self.tokens += tokens;
        self.cached += cached.min(tokens);
    }

    /// The share of the tokens that were cached, 0..=1; 0 if there are no tokens.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cached_share(&self) -> f64 {
        self.cached as f64 / self.tokens.max(1) as f64
    }
}

/// Total tokens of the prompts of a conversation, one before each of the model's messages.
///
/// It is computed from the log: every turn is replayed, compacted when it was due, and its view is planned. Tokens are
/// the plan's estimates. Summaries are assumed to come from a strategy that costs nothing, as the built-in ones do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Spending {
    /// The most tokens of a prompt.
    pub budget: u32,
    /// How many prompts.
    pub prompts: u64,
    /// The history's part of the prompts.
    pub history: PromptTokens,
    /// The whole prompts. Recall, where there is a retriever, fills what the history leaves of the budget, and is never
    /// cached.
    pub whole: PromptTokens,
}

impl PromptTokens {
    /// What was added since `before`.
    fn since(self, before: Self) -> Self {
        Self {
            tokens: self.tokens - before.tokens,
            cached: self.cached - before.cached,
            written: self.written - before.written,
        }
    }
}

impl Spending {
    /// What was spent since `before`, which is an earlier state of the same.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            budget: self.budget,
            prompts: self.prompts - before.prompts,
            history: self.history.since(before.history),
            whole: self.whole.since(before.whole),
        }
    }

    /// Replays every turn of a conversation.
    pub(crate) fn of(parts: &Parts, tree: &Tree, options: &PromptOptions) -> Result<Self, PlanError> {
        let mut replay = Replay::of(parts, tree, options);
        for outline in tree.nodes() {
            replay.take(*outline)?;
        }
        Ok(replay.finish())
    }
}
