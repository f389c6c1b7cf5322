//! What prompts cost.

/// What a provider asks for a million tokens, in whatever currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens that the model reads.
    pub read: f64,
    /// Tokens that it has in its cache, since a prompt before began with them.
    pub cached: f64,
    /// Tokens that it writes.
    pub written: f64,
}

impl Default for Prices {
    /// The ratios that are usual: a tenth for what is cached, five times as much for what is written.
    fn default() -> Self {
        Self { read: 3.0, cached: 0.3, written: 15.0 }
    }
}

impl Prices {
    /// What a prompt of `tokens` costs, of which `cached` were in the cache.
    #[must_use]
    pub fn prompt(&self, tokens: u64, cached: u64) -> f64 {
        let cached = cached.min(tokens);
        millions(tokens - cached) * self.read + millions(cached) * self.cached
    }

    /// What a reply of `tokens` costs.
    #[must_use]
    pub fn reply(&self, tokens: u64) -> f64 {
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
