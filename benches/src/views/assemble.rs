//! Assembling a context from a compacted conversation.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::talk::Talk;
use crate::{
    corpus::Corpus,
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
};

/// Turns of a round. Compaction is due at every fifth of them.
const TURNS: u32 = 20;
const NOTE: &str = "from the store to the text of a context of 4,000 tokens, the default, in which nothing is recalled, after each of \
                    20 turns of two messages; what compaction is due meanwhile is part of it";
/// The logarithm of a million is so many times that of ten thousand.
const GROWTH: f64 = 1.5;

pub(super) fn measure(ten_thousand: &Talk, million: &Talk) -> Result<Vec<Figure>> {
    eprintln!("views: assembling");
    // The first context may compact what the coarsest view does not fit, which is not part of assembling.
    for talk in [ten_thousand, million] {
        talk.context("Is everything ready?")?;
    }
    let [[small], [large]] = interleave([
        Entrant::new("10,000 messages", ["ms"], || Ok([assemble(ten_thousand)?])),
        Entrant::new("1,000,000 messages", ["ms"], || Ok([assemble(million)?])),
    ])?;
    let of_small = Figure::absolute("assemble_10k_ms", &small, NOTE);
    let large_note = format!("{NOTE}; the tree's shape is real, its words are made up");
    let grown = Samples {
        name: format!("{} × {GROWTH}", small.name),
        values: small.values.iter().map(|ms| ms * GROWTH).collect(),
        ..small
    };
    let growth_note = "time at a million messages, against that at 10,000 grown as the logarithm of the length";
    Ok(vec![
        of_small,
        Figure::absolute("assemble_1m_ms", &large, large_note),
        Figure::ratio("assemble_growth_vs_log", &large, &grown, growth_note),
    ])
}

/// Milliseconds of a context, the mean of some turns.
fn assemble(talk: &Talk) -> Result<f64> {
    let question = Corpus::new(12).question();
    let mut took = Duration::ZERO;
    for _ in 0..TURNS {
        talk.say(2)?;
        let start = Instant::now();
        let context = talk.context(&question)?;
        took += start.elapsed();
        ensure!(context.tokens <= context.budget, "the context is over its budget");
        ensure!(context.text().ends_with(&question), "the context is not what was asked for");
    }
    Ok(took.as_secs_f64() * 1e3 / f64::from(TURNS))
}
