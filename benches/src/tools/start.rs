//! The time from the start of a server to its first answer.

use std::{cell::Cell, time::Instant};

use anyhow::Result;
use serde_json::json;

use super::{
    binary::Memory,
    client::Client,
    served::{check, median, question},
    store::MESSAGES,
};
use crate::{
    figure::Figure,
    rounds::{Entrant, interleave},
};

/// Processes of a round.
const PROCESSES: usize = 5;

pub(super) fn measure(memory: &Memory) -> Result<[Figure; 2]> {
    let number = Cell::new(0);
    let started = |globals: &[&str]| {
        median(PROCESSES, || {
            let asked = json!({"query": question(number.replace(number.get() + 1))?});
            let start = Instant::now();
            let (found, _) = Client::begin(memory, globals, &[])?.call("search_memory", &asked)?;
            let took = start.elapsed().as_secs_f64() * 1e3;
            check(&found)?;
            Ok(took)
        })
    };
    let [[words], [model]] = interleave([
        Entrant::new("by words", ["ms"], || started(&["--words-only"])),
        Entrant::new("with a model", ["ms"], || started(&[])),
    ])?;
    let note = |how: &str| {
        format!(
            "from the start of `memory mcp` to the answer to its first search {how}, {MESSAGES} messages, files in the page \
             cache, {PROCESSES} processes a round"
        )
    };
    Ok([
        Figure::absolute("start_no_model_ms", &words, note("by words")),
        Figure::absolute("start_with_model_ms", &model, note("by words and meaning")),
    ])
}
