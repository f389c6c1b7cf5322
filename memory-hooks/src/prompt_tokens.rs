//! Total tokens of several prompts, as a provider charges for them.

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
