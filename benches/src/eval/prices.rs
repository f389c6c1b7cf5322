//! Prices of the prompts of a running agent, and of a sliding window for comparison.

use std::collections::VecDeque;

/// Prices of a million prompt tokens, uncached and cached, in the usual ratio.
const PRICES: [f64; 2] = [3.0, 0.3];

/// Total tokens of prompts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PromptTokens {
    pub(super) tokens: u64,
    /// Tokens shared with the beginning of the previous prompt.
    cached: u64,
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
impl PromptTokens {
    pub(super) fn add(&mut self, tokens: u64, cached: u64) {
        self.tokens += tokens;
        self.cached += cached.min(tokens);
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.add(other.tokens, other.cached);
    }

    /// The share of the tokens that were cached, 0..=1.
    pub(super) fn cached_share(self) -> f64 {
        self.cached as f64 / self.tokens.max(1) as f64
    }

    pub(super) fn cost(self) -> f64 {
        let [read, cached] = PRICES;
        (self.tokens - self.cached) as f64 * read + self.cached as f64 * cached
    }
}

/// The newest messages within a budget, which drops them in batches, so that a provider's cache is seldom invalidated.
#[derive(Clone, Debug, Default)]
pub(super) struct SlidingWindow {
    budget: u64,
    sizes: VecDeque<u64>,
    tokens: u64,
    cached: u64,
    pub(super) prompts: PromptTokens,
}

impl SlidingWindow {
    pub(super) fn new(budget: u32) -> Self {
        Self { budget: budget.into(), ..Self::default() }
    }

    pub(super) fn say(&mut self, tokens: u64) {
        self.sizes.push_back(tokens);
        self.tokens += tokens;
    }

    /// Records a prompt of the window, which first shrinks to half of the budget if it exceeds the budget.
    pub(super) fn prompt(&mut self) {
        if self.tokens > self.budget {
            while self.tokens > self.budget / 2 && self.sizes.len() > 1 {
                self.tokens -= self.sizes.pop_front().unwrap_or_default();
                self.cached = 0;
            }
        }
        self.prompts.add(self.tokens, self.cached);
        self.cached = self.tokens;
    }

    /// Number of newest messages in the window.
    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_drops_in_batches_and_is_cached_between_them() {
        let mut window = SlidingWindow::new(1_000);
        for _ in 0..17 {
            window.say(100);
            window.prompt();
        }
        // The eleventh message exceeds the budget: five are left, and the seventeenth exceeds it again.
        let grown: u64 = (1..=10).map(|messages| 100 * messages).sum();
        let again: u64 = (5..=10).map(|messages| 100 * messages).sum();
        assert_eq!(window.prompts.tokens, grown + again + 500);
        assert_eq!(window.prompts.cached, grown - 1_000 + again - 1_000);
        assert_eq!(window.len(), 5);
    }
}
