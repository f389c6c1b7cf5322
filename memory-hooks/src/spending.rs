//! What the prompts of a conversation add up to, and what they would have added up to otherwise.

mod alternatives;
mod replay;

use memory_core::plan::{PlanError, Tree};

use crate::{ContextOptions, Prices, memory::Parts};
pub use alternatives::Alternatives;
use replay::Replay;

/// What prompts add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Tokens that a model is sent.
    pub tokens: u64,
    /// Those of them at the beginning of a prompt that stood at the beginning of the one before: what a provider that
    /// caches the beginnings of prompts need not read again.
    pub cached: u64,
    /// Tokens that a model writes beside its replies: summaries.
    pub written: u64,
}

impl Prompts {
    /// Adds a prompt of `tokens`, of which `cached` are in the cache.
    pub fn add(&mut self, tokens: u64, cached: u64) {
        self.tokens += tokens;
        self.cached += cached.min(tokens);
    }

    /// The share of the tokens that were cached, 0..=1; 0 of nothing.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cached_share(&self) -> f64 {
        self.cached as f64 / self.tokens.max(1) as f64
    }

    /// What they cost. The replies, which are the same whatever a model is shown, are not in it.
    #[must_use]
    pub fn cost(&self, prices: &Prices) -> f64 {
        prices.prompt(self.tokens, self.cached) + prices.reply(self.written)
    }
}

/// What the prompts of a conversation add up to, one before each of the model's messages; and what they would add up to
/// if the conversation were shown otherwise.
///
/// It is worked out from the log: every turn is taken again, compacted when it was due, and its view is planned. Tokens
/// are the plan's estimates. Summaries count as written by a strategy that costs nothing, as the built-in ones do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The most tokens of a prompt, save where the full history is shown.
    pub budget: u32,
    /// How many prompts.
    pub prompts: u64,
    /// The history's part of the prompts.
    pub history: Prompts,
    /// The whole prompts; recall, where there is a retriever, fills whatever the history leaves of the budget, and is
    /// never cached.
    pub whole: Prompts,
    /// The newest messages that fit the budget.
    pub sliding_window: Prompts,
    /// Every message, in every prompt.
    pub full_history: Prompts,
    /// One summary that a model writes of all that is old, and the newest messages.
    pub one_summary: Prompts,
}

impl Spending {
    /// Takes every turn of a conversation again.
    pub(crate) fn of(parts: &Parts, tree: &Tree, options: &ContextOptions) -> Result<Self, PlanError> {
        let mut replay = Replay::of(parts, tree, options);
        for outline in tree.nodes() {
            replay.take(*outline)?;
        }
        Ok(replay.finish())
    }
}
