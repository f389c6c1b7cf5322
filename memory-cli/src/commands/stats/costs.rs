//! What the prompts of a conversation cost, and what they would cost otherwise.

use clap::Args as ClapArgs;
use memory_core::ConversationId;
use memory_hooks::{ContextOptions, Prices, Prompts, Spending};
use serde_json::{Value, json};

use crate::output::{grouped, table};

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

/// The ways to show a conversation, by the names they have in JSON.
fn ways(spending: &Spending) -> [(&'static str, Prompts); 4] {
    [
        ("memory", spending.whole),
        ("sliding_window", spending.sliding_window),
        ("full_history", spending.full_history),
        ("one_summary", spending.one_summary),
    ]
}

pub(super) fn to_text(all: &[(ConversationId, Spending)], prices: &Prices) -> String {
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
        let [memory, window, full, summary] = ways(spending).map(|(_, prompts)| format!("{:.4}", prompts.cost(prices)));
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
    table(header, rows).to_string()
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
    let ways = ways(spending).map(|(name, prompts)| (name.to_owned(), way(prompts)));
    let mut value = Value::Object(ways.into_iter().collect());
    value["budget"] = spending.budget.into();
    value["prompts"] = spending.prompts.into();
    value["history_cached_share"] = spending.history.cached_share().into();
    value["prices"] = json!({"read": prices.read, "cached": prices.cached, "written": prices.written});
    value
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
