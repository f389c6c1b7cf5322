//! Tokens and costs of a turn.

use memory::port::ChatUsage;
use schemars::JsonSchema;
use serde::Serialize;

/// Tokens and costs of requests to a model. Tokens that a provider does not report are counted by the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Usage {
    /// Number of requests.
    pub requests: u64,
    /// Tokens of the requests, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens of the requests that were read from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens of the requests that were written to the provider's cache.
    pub cache_written_tokens: u64,
    /// Tokens of the replies, reasoning included.
    pub reply_tokens: u64,
    /// Costs in the unit of the prices; `None` without prices.
    pub cost: Option<f64>,
}

/// Prices per million tokens, all in one currency.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prices {
    /// Price of a million tokens of requests.
    pub prompt: f64,
    /// Price of a million tokens read from the provider's cache.
    pub cached: f64,
    /// Price of a million tokens written to the provider's cache.
    pub cache_written: f64,
    /// Price of a million tokens of replies.
    pub reply: f64,
}

impl Prices {
    /// Prices of a provider whose cache costs nothing extra to write to, and nothing less to read from.
    #[must_use]
    pub const fn new(prompt: f64, reply: f64) -> Self {
        Self { prompt, cached: prompt, cache_written: prompt, reply }
    }

    memory::setters! {
        const cached: f64,
        const cache_written: f64,
    }
}

impl Usage {
    /// Usage of one request. `prompt` and `reply` are counts of our own, for those that the provider does not report.
    pub(crate) fn of(usage: ChatUsage, (prompt, reply): (u32, u32), prices: Option<Prices>) -> Self {
        let or = |count: Option<u32>, counted| u64::from(count.unwrap_or(counted));
        let (prompt, reply) = (or(usage.prompt_tokens, prompt), or(usage.reply_tokens, reply));
        let (cached, written) = (or(usage.cached_tokens, 0), or(usage.cache_written_tokens, 0));
        let cost = prices.map(|prices| {
            let fresh = prompt.saturating_sub(cached).saturating_sub(written);
            #[expect(clippy::cast_precision_loss, reason = "tokens of one request")]
            let of = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
            of(fresh, prices.prompt)
                + of(cached, prices.cached)
                + of(written, prices.cache_written)
                + of(reply, prices.reply)
        });
        Self {
            requests: 1,
            prompt_tokens: prompt,
            cached_tokens: cached,
            cache_written_tokens: written,
            reply_tokens: reply,
            cost,
        }
    }

    /// Adds the requests of another turn.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_written_tokens += other.cache_written_tokens;
        self.reply_tokens += other.reply_tokens;
        self.cost = match (self.cost, other.cost) {
            (None, None) => None,
            (ours, theirs) => Some(ours.unwrap_or_default() + theirs.unwrap_or_default()),
        };
    }

    /// Share of the requests' tokens that the provider's cache gave, 0..=1; `None` without requests.
    #[must_use]
    pub fn cached_share(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = self.cached_tokens as f64 / self.prompt_tokens as f64;
        (self.prompt_tokens > 0).then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = ChatUsage::default()
            .prompt_tokens(Some(1_000_000))
            .cached_tokens(Some(600_000))
            .cache_written_tokens(Some(100_000));
        let prices = Prices::new(3.0, 15.0).cached(0.3).cache_written(3.75);
        let sum = Usage::of(usage, (7, 2_000), Some(prices));
        let cost = 0.9 + 0.18 + 0.375 + 0.03;
        assert!((sum.cost.unwrap() - cost).abs() < 1e-9, "{sum:?}");
        assert_eq!((sum.requests, sum.reply_tokens, sum.cached_share()), (1, 2_000, Some(0.6)));
        let mut both = sum;
        both.merge(&Usage::default());
        assert_eq!(both, sum);
        both.merge(&Usage::of(ChatUsage::default(), (7, 3), None));
        assert_eq!((both.prompt_tokens, both.cost), (1_000_007, sum.cost));
    }
}
