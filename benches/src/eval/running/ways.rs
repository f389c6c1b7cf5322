//! Other ways to prompt a running agent, each at its best.

use std::collections::VecDeque;

use memory_hooks::{Piece, Prompt};

use super::{Bill, Running, Way};

/// The share of the messages that the one summary takes in at once, and the newest that it never does.
const SUMMARIZED: f64 = 0.3;
const PRESERVED: usize = 10;
/// The one summary's share of the budget.
const SUMMARY: f64 = 0.125;

/// Everything that was said, without a limit.
#[derive(Debug)]
pub(super) struct FullHistory {
    pub(super) way: Way,
    said: f64,
    cached: f64,
}

impl Default for FullHistory {
    fn default() -> Self {
        Self { way: Way { name: "full history", ..Way::default() }, said: 0.0, cached: 0.0 }
    }
}

impl FullHistory {
    pub(super) fn say(&mut self, tokens: f64) {
        self.said += tokens;
    }

    pub(super) fn prompt(&mut self) {
        self.way.bill.add(Bill { tokens: self.said, cached: self.cached, written: 0.0 });
        self.cached = self.said;
    }
}

/// The newest messages. When they do not fit any more, the oldest go until a share of the budget is left, so that the
/// cache is lost seldom.
#[derive(Debug)]
pub(super) struct SlidingWindow {
    pub(super) way: Way,
    budget: f64,
    floor: f64,
    sizes: VecDeque<f64>,
    tokens: f64,
    cached: f64,
}

impl SlidingWindow {
    pub(super) fn new(budget: u32, floor: f32) -> Self {
        let way = Way { name: Running::SLIDING_WINDOW, ..Way::default() };
        let budget = f64::from(budget);
        Self { way, budget, floor: budget * f64::from(floor), sizes: VecDeque::new(), tokens: 0.0, cached: 0.0 }
    }

    /// How many messages it shows.
    pub(super) fn shown(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn say(&mut self, tokens: f64) {
        self.sizes.push_back(tokens);
        self.tokens += tokens;
    }

    pub(super) fn prompt(&mut self) {
        if self.tokens > self.budget {
            while self.tokens > self.floor && self.sizes.len() > 1 {
                self.tokens -= self.sizes.pop_front().unwrap_or_default();
            }
            self.cached = 0.0;
        }
        self.way.bill.add(Bill { tokens: self.tokens, cached: self.cached, written: 0.0 });
        self.cached = self.tokens;
    }
}

/// One summary of what is older than the newest messages, written again by a model when these do not fit.
#[derive(Debug)]
pub(super) struct OneSummary {
    pub(super) way: Way,
    budget: f64,
    summary: f64,
    sizes: VecDeque<f64>,
    tokens: f64,
    cached: f64,
}

impl OneSummary {
    pub(super) fn new(budget: u32) -> Self {
        let way = Way { name: "one running summary", ..Way::default() };
        Self { way, budget: f64::from(budget), summary: 0.0, sizes: VecDeque::new(), tokens: 0.0, cached: 0.0 }
    }

    /// How many messages it shows word for word.
    pub(super) fn shown(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn say(&mut self, tokens: f64) {
        self.sizes.push_back(tokens);
        self.tokens += tokens;
    }

    pub(super) fn prompt(&mut self) {
        while self.summary + self.tokens > self.budget && self.sizes.len() > 1 {
            self.summarize();
        }
        let tokens = self.summary + self.tokens;
        self.way.bill.add(Bill { tokens, cached: self.cached, written: 0.0 });
        self.cached = tokens;
    }

    /// The model reads the old summary and the oldest messages, which are cached, and writes the new summary.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a number of messages"
    )]
    fn summarize(&mut self) {
        let share = (self.sizes.len() as f64 * SUMMARIZED) as usize;
        let share = share.min(self.sizes.len().saturating_sub(PRESERVED)).max(1);
        let oldest: f64 = self.sizes.drain(..share.min(self.sizes.len())).sum();
        self.tokens -= oldest;
        let read = self.summary + oldest;
        self.summary = self.budget * SUMMARY;
        self.way.bill.add(Bill { tokens: read, cached: read.min(self.cached), written: self.summary });
        self.cached = 0.0;
    }
}

/// Our history, with the same recall put before the last message of the user anew at each turn and not kept there.
#[derive(Debug)]
pub(super) struct FreshRecall {
    pub(super) way: Way,
    /// The pieces of the history before the last message that was prompted for.
    before: Vec<Piece>,
}

impl Default for FreshRecall {
    fn default() -> Self {
        Self { way: Way { name: Running::FRESH_RECALL, ..Way::default() }, before: Vec::new() }
    }
}

impl FreshRecall {
    /// A prompt of our history and so many recalled tokens.
    pub(super) fn prompt(&mut self, ours: &Prompt, recalled: f64) {
        let history: Vec<_> = ours.pieces.iter().filter(|piece| piece.kind.is_history()).cloned().collect();
        let tokens = |pieces: &[Piece]| pieces.iter().map(|piece| f64::from(piece.tokens)).sum::<f64>();
        let same = history.iter().zip(&self.before).take_while(|(a, b)| a.text == b.text).count();
        let cached = tokens(history.get(..same).unwrap_or_default());
        self.way.bill.add(Bill { tokens: tokens(&history) + recalled, cached, written: 0.0 });
        // What was recalled stood before the last message, so nothing from there on is cached next time.
        self.before = history.get(..history.len().saturating_sub(1)).unwrap_or_default().to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_drops_in_batches_and_is_cached_between_them() {
        let mut window = SlidingWindow::new(100, 0.5);
        let mut cached = Vec::new();
        for _ in 0..12 {
            window.say(20.0);
            let before = window.way.bill.cached;
            window.prompt();
            cached.push(window.way.bill.cached - before);
        }
        assert_eq!(cached, [0.0, 20.0, 40.0, 60.0, 80.0, 0.0, 40.0, 60.0, 80.0, 0.0, 40.0, 60.0]);
    }

    #[test]
    fn one_summary_is_written_when_nothing_else_fits() {
        let mut one = OneSummary::new(100);
        for _ in 0..30 {
            one.say(10.0);
            one.prompt();
        }
        assert!(one.way.bill.written > 0.0 && one.summary + one.tokens <= 100.0, "{one:?}");
        assert!(one.shown() < 30 && one.shown() >= 1);
    }
}
