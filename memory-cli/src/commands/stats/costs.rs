//! What the prompts of a conversation cost, and what they would cost otherwise.

use std::io;

use clap::Args as ClapArgs;
use memory_core::ConversationId;
use memory_hooks::{ContextOptions, Prices, Prompts, Spending};
use serde_json::{Value, json};

use crate::output::{Output, grouped};

/// What prompts are made of and what they cost.
#[derive(Debug, ClapArgs)]
pub(super) struct CostArgs {
    /// The most tokens of a prompt, for what prompts add up to
    #[arg(long, value_name = "TOKENS", default_value_t = ContextOptions::default().budget,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) budget: u32,
    /// What a million tokens cost that are read, read from the provider's cache, and written
    #[arg(long, value_name = "READ,CACHED,WRITTEN", default_value = "3,0.3,15", value_parser = prices)]
    pub(super) prices: Prices,
}

/// Three numbers from 0 on.
fn prices(text: &str) -> Result<Prices, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.map_err(|error| format!("`{text}`: {error}"))?[..] {
        [read, cached, written] if [read, cached, written].iter().all(|price| price.is_finite() && *price >= 0.0) => {
            Ok(Prices { read, cached, written })
        }
        _ => Err(format!("`{text}` is not three prices from 0 on, such as 3,0.3,15")),
    }
}

pub(super) fn print(output: Output, all: &[(ConversationId, Spending)], prices: &Prices) -> io::Result<()> {
    let header = [
        "conversation",
        "prompts",
        "history cached",
        "prompt cached",
        "cost",
        "sliding window",
        "full history",
        "one summary",
    ];
    let rows = all.iter().map(|(id, spending)| {
        let percent = |prompts: Prompts| format!("{:.1} %", 100.0 * prompts.cached_share());
        let ways = [spending.whole, spending.sliding_window, spending.full_history, spending.one_summary];
        let [memory, window, full, summary] = ways.map(|prompts| format!("{:.4}", prompts.cost(prices)));
        [
            id.to_string(),
            grouped(spending.prompts),
            percent(spending.history),
            percent(spending.whole),
            memory,
            window,
            full,
            summary,
        ]
    });
    output.table(header, rows)
}

pub(super) fn to_json(spending: &Spending, prices: &Prices) -> Value {
    let way = |prompts: Prompts| {
        json!({
            "tokens": prompts.tokens,
            "cached_tokens": prompts.cached,
            "cached_share": prompts.cached_share(),
            "written_tokens": prompts.written,
            "cost": prompts.cost(prices),
        })
    };
    json!({
        "budget": spending.budget,
        "prompts": spending.prompts,
        "history_cached_share": spending.history.cached_share(),
        "memory": way(spending.whole),
        "sliding_window": way(spending.sliding_window),
        "full_history": way(spending.full_history),
        "one_summary": way(spending.one_summary),
        "prices": {"read": prices.read, "cached": prices.cached, "written": prices.written},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_three_numbers_from_0_on() {
        assert_eq!(prices("3, 0.3,15"), Ok(Prices::default()));
        for wrong in ["3,0.3", "3,0.3,15,1", "3,-1,15", "3,NaN,15", "3,,15", ""] {
            assert!(prices(wrong).is_err(), "{wrong}");
        }
    }
}
