//! Prices of prompts.

use memory_hooks::PromptTokens;

/// What a provider charges for a million tokens, in any currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens that the model reads.
    pub read: f64,
    /// Tokens that it has in its cache, because an earlier prompt began with them.
    pub cached: f64,
    /// Tokens that it writes.
    pub written: f64,
}

impl Default for Prices {
    /// Usual ratios: a tenth for cached tokens, five times as much for written ones.
    fn default() -> Self {
        Self { read: 3.0, cached: 0.3, written: 15.0 }
    }
}

impl Prices {
    /// The cost of prompts. It excludes replies, which are the same whatever a model is shown.
    #[must_use]
    pub fn cost(&self, prompts: PromptTokens) -> f64 {
        self.prompt(prompts.tokens, prompts.cached) + self.reply(prompts.written)
    }

    /// The cost of a prompt of `tokens`, of which `cached` were in the cache.
    fn prompt(&self, tokens: u64, cached: u64) -> f64 {
        let cached = cached.min(tokens);
        millions(tokens - cached) * self.read + millions(cached) * self.cached
    }

    /// The cost of a reply of `tokens`.
    fn reply(&self, tokens: u64) -> f64 {
        millions(tokens) * self.written
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn millions(tokens: u64) -> f64 {
    tokens as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cached_costs_a_tenth() {
        let prices = Prices::default();
        assert!((prices.prompt(2_000_000, 1_000_000) - 3.3).abs() < 1e-9);
        assert!((prices.prompt(1_000_000, 9_000_000) - 0.3).abs() < 1e-9, "no more is cached than there is");
        assert!((prices.reply(1_000_000) - 15.0).abs() < 1e-9);
    }
}
