//! How much of a prompt a provider's cache can reuse from turn to turn, and what a conversation costs.

use std::path::Path;

use anyhow::Result;
use memory_hooks::{Context, Prices};

use super::talk::Talk;
use crate::{figure::Figure, rounds::Samples};

/// Turns of a user's and a model's message each.
const TURNS: usize = 1_000;
const BUDGET: u32 = 8_000;
/// Tokens of the one big summary that a history is kept as, and messages between two of them.
const SUMMARY: u64 = 1_000;
const SUMMARIZED_EVERY: usize = 20;

/// What prompts add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Prompts {
    tokens: u64,
    cached: u64,
    /// Tokens that a model read and wrote to summarize.
    summarized: u64,
    written: u64,
}

impl Prompts {
    fn add(&mut self, tokens: u64, cached: u64) {
        self.tokens += tokens;
        self.cached += cached;
    }

    fn cost(self, prices: &Prices) -> f64 {
        prices.prompt(self.tokens, self.cached) + prices.prompt(self.summarized, 0) + prices.reply(self.written)
    }
}

pub(super) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    eprintln!("views: the prefix of {TURNS} turns");
    let talk = Talk::begin(directory)?;
    let (mut ours, mut full, mut sliding, mut summary) =
        (Prompts::default(), Prompts::default(), Prompts::default(), Prompts::default());
    let (mut shared, mut history) = (0, 0);
    let mut before: Option<Context> = None;
    let mut sizes: Vec<u64> = Vec::new();
    for turn in 0..TURNS {
        talk.say(2)?;
        let context = talk.context("Is everything ready?", BUDGET)?;
        let more = talk.sizes(sizes.len())?;
        let said: u64 = more.iter().sum();
        sizes.extend(more);
        let same = before.as_ref().map_or(0, |before| u64::from(context.shared_history(before)));
        if before.is_some() {
            shared += same;
            history += u64::from(context.history_tokens());
        }
        ours.add(u64::from(context.tokens), same);
        let all: u64 = sizes.iter().sum();
        full.add(all, all - said);
        let window = window(&sizes);
        // Once the window slides, the first message is another one at every turn.
        sliding.add(window, if window == all { all - said } else { 0 });
        let old = sizes.len() / SUMMARIZED_EVERY * SUMMARIZED_EVERY;
        let recent: u64 = sizes.iter().skip(old).sum();
        let head = if old > 0 { SUMMARY } else { 0 };
        let is_new = turn > 0 && sizes.len() % SUMMARIZED_EVERY < 2;
        summary.add(head + recent, if is_new { 0 } else { (head + recent).saturating_sub(said) });
        if is_new {
            summary.summarized +=
                SUMMARY + sizes.iter().skip(old.saturating_sub(SUMMARIZED_EVERY)).take(SUMMARIZED_EVERY).sum::<u64>();
            summary.written += SUMMARY;
        }
        before = Some(context);
    }
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let one = |key, name: &str, unit, value, note: String| {
        // Nothing here depends on time or chance.
        Figure::absolute(key, &Samples { name: name.to_owned(), unit, values: vec![value] }, note)
    };
    let prices = Prices::default();
    let cost = ours.cost(&prices);
    let note = format!("of the history's tokens, {TURNS} turns of two messages, {BUDGET} tokens a context");
    let mut figures = vec![
        one("cached_history_share", "memory-hooks", "", share(shared, history), note),
        one(
            "cached_prompt_share",
            "memory-hooks",
            "",
            share(ours.cached, ours.tokens),
            "of the whole prompt".to_owned(),
        ),
    ];
    for (key, other) in
        [("cost_vs_full_history", full), ("cost_vs_sliding_window", sliding), ("cost_vs_one_summary", summary)]
    {
        let note = format!(
            "{:.2} of them read from the cache; ours costs {cost:.2}, at {prices:?} a million tokens",
            share(other.cached, other.tokens)
        );
        figures.push(one(key, "memory-hooks", "x", cost / other.cost(&prices), note));
    }
    Ok(figures)
}

/// Tokens of the latest messages that fit into the budget.
fn window(sizes: &[u64]) -> u64 {
    let mut sum = 0;
    for size in sizes.iter().rev() {
        if sum + size > u64::from(BUDGET) {
            break;
        }
        sum += size;
    }
    sum
}
