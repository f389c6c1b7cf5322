//! Other ways to show a conversation: a sliding window, the full history, one big summary.

use std::collections::VecDeque;

use memory_hooks::PromptTokens;

/// The share of the oldest messages that is summarized at once, in tenths: between two times, a prompt begins as the one
/// before did.
const SUMMARIZED_TENTHS: usize = 3;
/// The window drops messages until the budget divided by this is left, so that a provider's cache is lost seldom.
const FLOOR_PART: u64 = 2;
/// The newest messages, which are not summarized.
const PRESERVED: usize = 10;
/// The summary gets the budget divided by this.
const SUMMARY_PART: u64 = 8;

/// Computes what a conversation costs if it is shown in other ways. Call [`Self::say`] for every message and
/// [`Self::prompt`] for every prompt, in order.
///
/// All three ways are computed at their best: a prompt that only grew is cached up to where it grew, the window drops its
/// oldest messages in batches, and the source of the one summary is cached too.
#[derive(Clone, Debug, Default)]
pub struct Alternatives {
    budget: u64,
    all: Growing,
    window: Growing,
    /// The newest messages, and the tokens of the summary before them.
    recent: Growing,
    summary: u64,
    full_history: PromptTokens,
    sliding_window: PromptTokens,
    /// Prompts with the one summary, and the work of a model that writes it.
    one_summary: PromptTokens,
    summarizing: PromptTokens,
}

/// Messages, the oldest of which may be dropped.
#[derive(Clone, Debug, Default)]
struct Growing {
    sizes: VecDeque<u64>,
    tokens: u64,
    /// Tokens of the last prompt that the next prompt may begin with.
    cached: u64,
}

impl Growing {
    fn say(&mut self, tokens: u64) {
        self.sizes.push_back(tokens);
        self.tokens += tokens;
    }

    /// Drops the oldest message and returns its tokens. The cached prefix is lost.
    fn drop_oldest(&mut self) -> u64 {
        let dropped = self.sizes.pop_front().unwrap_or_default();
        self.tokens -= dropped;
        self.cached = 0;
        dropped
    }
}

impl Alternatives {
    /// An empty conversation, shown within `budget` tokens; the full history has no limit.
    #[must_use]
    pub fn new(budget: u32) -> Self {
        Self { budget: u64::from(budget), ..Self::default() }
    }

    /// Adds a message of so many tokens, with its overhead beside the text.
    pub fn say(&mut self, tokens: u64) {
        for messages in [&mut self.window, &mut self.recent] {
            messages.say(tokens);
        }
        // The full history drops nothing.
        self.all.tokens += tokens;
    }

    /// Adds a prompt that shows the messages so far.
    pub fn prompt(&mut self) {
        self.full_history.add(self.all.tokens, self.all.cached);
        self.all.cached = self.all.tokens;
        if self.window.tokens > self.budget {
            while self.window.tokens > self.budget / FLOOR_PART && self.window.sizes.len() > 1 {
                self.window.drop_oldest();
            }
        }
        self.sliding_window.add(self.window.tokens, self.window.cached);
        self.window.cached = self.window.tokens;
        while self.summary + self.recent.tokens > self.budget && self.recent.sizes.len() > 1 {
            self.summarize();
        }
        let shown = self.summary + self.recent.tokens;
        self.one_summary.add(shown, self.recent.cached);
        self.recent.cached = shown;
    }

    /// Moves the oldest messages into the summary: three tenths of them, and none of the newest unless there are no
    /// others.
    fn summarize(&mut self) {
        let messages = self.recent.sizes.len();
        let share = (messages * SUMMARIZED_TENTHS / 10).min(messages.saturating_sub(PRESERVED)).max(1);
        let cached = self.recent.cached;
        let read = self.summary + (0..share).map(|_| self.recent.drop_oldest()).sum::<u64>();
        self.summarizing.add(read, cached);
        self.summary = self.summary_tokens();
        self.summarizing.written += self.summary;
    }

    /// Tokens of the one summary, once there is one.
    #[must_use]
    pub fn summary_tokens(&self) -> u64 {
        self.budget / SUMMARY_PART
    }

    /// How many of the newest messages the sliding window shows.
    #[must_use]
    pub fn in_window(&self) -> usize {
        self.window.sizes.len()
    }

    /// How many of the newest messages the one summary leaves word for word.
    #[must_use]
    pub fn beside_summary(&self) -> usize {
        self.recent.sizes.len()
    }

    /// Every message, in every prompt.
    #[must_use]
    pub fn full_history(&self) -> PromptTokens {
        self.full_history
    }

    /// The newest messages that fit the budget, less what was dropped with the last one that did not: all but half.
    #[must_use]
    pub fn sliding_window(&self) -> PromptTokens {
        self.sliding_window
    }

    /// One summary of the old messages, an eighth of the budget, and the newest messages. A model writes the summary.
    #[must_use]
    pub fn one_summary(&self) -> PromptTokens {
        let (prompts, work) = (self.one_summary, self.summarizing);
        PromptTokens::new(prompts.tokens + work.tokens, prompts.cached + work.cached).written(work.written)
    }

    /// The same where what writes the summary costs nothing.
    #[must_use]
    pub fn one_free_summary(&self) -> PromptTokens {
        self.one_summary
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Prices;

    fn told(budget: u32, sizes: &[u64]) -> Alternatives {
        let mut shown = Alternatives::new(budget);
        for size in sizes {
            shown.say(*size);
            shown.prompt();
        }
        shown
    }

    #[test]
    fn a_history_that_only_grows_is_cached_but_for_what_is_new() {
        let shown = told(1_000, &[100; 5]);
        let grown = PromptTokens::new(1_500, 1_000);
        assert_eq!([shown.full_history(), shown.sliding_window(), shown.one_summary()], [grown; 3]);
    }

    #[test]
    fn a_window_drops_in_batches_and_is_cached_between_them() {
        // The eleventh message exceeds the budget: five are left, and the seventeenth exceeds it again.
        let shown = told(1_000, &[100; 17]);
        let grown: u64 = (1..=10).map(|messages| 100 * messages).sum();
        let again: u64 = (5..=10).map(|messages| 100 * messages).sum();
        assert_eq!(shown.sliding_window(), PromptTokens::new(grown + again + 500, grown - 1_000 + again - 1_000));
        assert_eq!(shown.in_window(), 5);
    }

    #[test]
    fn one_summary_is_written_of_three_tenths_of_the_messages() {
        // The twenty-first message exceeds the budget: of 21, six are read and summarized in 250 tokens.
        let shown = told(2_000, &[100; 21]);
        let grown: u64 = (1..=20).map(|messages| 100 * messages).sum();
        let prompts = PromptTokens::new(grown + 600 + 1_750, grown - 2_000 + 600).written(250);
        assert_eq!(shown.one_summary(), prompts);
        assert_eq!(shown.one_free_summary(), PromptTokens::new(grown + 1_750, grown - 2_000));
    }

    proptest! {
        #[test]
        fn no_prompt_is_over_its_budget_unless_a_message_is(sizes in prop::collection::vec(1u64..400, 1..80)) {
            let mut shown = Alternatives::new(1_000);
            for (said, size) in (1..).zip(&sizes) {
                let before = shown.sliding_window().tokens;
                shown.say(*size);
                shown.prompt();
                prop_assert!(shown.sliding_window().tokens - before <= 1_000);
                prop_assert!((1..=said).contains(&shown.beside_summary()));
                prop_assert!(shown.summary + shown.recent.tokens <= 1_000);
            }
            let all: u64 = (1..=sizes.len()).map(|said| sizes[..said].iter().sum::<u64>()).sum();
            prop_assert_eq!(shown.full_history().tokens, all);
        }
    }
}
