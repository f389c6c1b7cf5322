//! Computes what the prompts of a conversation cost, and what they would cost otherwise.

use std::io;

use clap::Args as ClapArgs;
use memory_core::ConversationId;
use memory_hooks::{PromptOptions, PromptTokens, Spending};
use serde_json::{Value, json};

use crate::{
    Alternatives, Prices,
    output::{Output, decimal, grouped},
};

/// Settings of the cost computation.
#[derive(Debug, ClapArgs)]
pub(super) struct CostArgs {
    /// The most tokens of a prompt, for the total of all prompts
    #[arg(long, value_name = "TOKENS", default_value_t = PromptOptions::default().budget,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) budget: u32,
    /// Prices of a million tokens: read, read from the provider's cache, and written
    #[arg(long, value_name = "READ,CACHED,WRITTEN", default_value = "3,0.3,15", value_parser = prices)]
    pub(super) prices: Prices,
    /// The currency of the prices, in letters
    #[arg(long, value_name = "CODE", default_value = "USD", value_parser = currency)]
    pub(super) currency: String,
}

/// Total costs of a conversation, shown as it is and in other ways.
#[derive(Debug)]
pub(super) struct Costs {
    pub(super) spending: Spending,
    pub(super) others: Alternatives,
}

/// Parses a short word.
fn currency(text: &str) -> Result<String, String> {
    let is_code = (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_code {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a currency: expected letters, such as EUR"))
    }
}

/// Parses three numbers that are not negative.
fn prices(text: &str) -> Result<Prices, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.map_err(|error| format!("`{text}`: {error}"))?[..] {
        [read, cached, written] if [read, cached, written].iter().all(|price| price.is_finite() && *price >= 0.0) => {
            Ok(Prices { read, cached, written })
        }
        _ => Err(format!("`{text}` is not three prices from 0 on, such as 3,0.3,15")),
    }
}

pub(super) fn print(output: Output, all: &[(&ConversationId, &Costs)], prices: &Prices) -> io::Result<()> {
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
    let rows = all.iter().map(|(id, Costs { spending, others })| {
        let percent = |prompts: PromptTokens| format!("{:.1} %", 100.0 * prompts.cached_share());
        let ways = [spending.whole, others.sliding_window(), others.full_history(), others.one_summary()];
        let [memory, window, full, summary] = ways.map(|prompts| format!("{:.4}", prices.cost(prompts)));
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

impl Costs {
    pub(super) fn to_json(&self, args: &CostArgs) -> Value {
        let Self { spending, others } = self;
        let prices = &args.prices;
        let way = |prompts: PromptTokens| {
            json!({
                "tokens": prompts.tokens,
                "cached_tokens": prompts.cached,
                "cached_share": decimal(prompts.cached_share()),
                "written_tokens": prompts.written,
                "cost": decimal(prices.cost(prompts)),
            })
        };
        json!({
            "budget": spending.budget,
            "prompts": spending.prompts,
            "history_cached_share": decimal(spending.history.cached_share()),
            "memory": way(spending.whole),
            "sliding_window": way(others.sliding_window()),
            "full_history": way(others.full_history()),
            "one_summary": way(others.one_summary()),
            "currency": args.currency,
            "prices": {"read": decimal(prices.read), "cached": decimal(prices.cached), "written": decimal(prices.written)},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_is_a_few_letters() {
        assert_eq!(currency("EUR"), Ok("EUR".to_owned()));
        for wrong in ["", "E U", "€", "\u{1b}[31m", "dollarettes"] {
            assert!(currency(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn prices_are_three_numbers_from_0_on() {
        assert_eq!(prices("3, 0.3,15"), Ok(Prices::default()));
        for wrong in ["3,0.3", "3,0.3,15,1", "3,-1,15", "3,NaN,15", "3,,15", ""] {
            assert!(prices(wrong).is_err(), "{wrong}");
        }
    }
}
