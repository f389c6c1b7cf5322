//! The group `agent`: the time that an agent's memory adds to a turn.

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use memory::{Builder, Message, Timestamp};
use memory_agent::{Agent, Scripted};
use pollster::block_on;

use crate::{
    corpus::Corpus,
    figure::{Figure, Samples},
};

/// Messages of the conversation before the first turn.
const MESSAGES: usize = 10_000;
/// Messages appended at once.
const BATCH: usize = 1_000;
/// Turns whose median is the overhead, after some that fill the window.
const TURNS: usize = 100;
const WARM: usize = 10;

/// Measures the group, with its store under `directory`.
///
/// # Errors
/// When a part of the memory fails, or the store has no embedding model.
pub(crate) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    eprintln!("agent: {MESSAGES} messages");
    let memory = Builder::new(directory.join("agent")).open()?;
    ensure!(memory.parts().vectors.is_some(), "the figure includes recall by meaning: cargo xtask setup");
    let talk = memory.conversation("talk")?;
    let mut corpus = Corpus::new(31);
    for first in (0..MESSAGES).step_by(BATCH) {
        let message = |number: usize| {
            let text = corpus.text(200);
            let message = if number.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) };
            (message, Timestamp::from_millis(i64::try_from(number).unwrap_or_default() * 60_000))
        };
        block_on(talk.append_batch((first..first + BATCH).map(message).collect()))?;
    }
    block_on(memory.catch_up())?;
    eprintln!("agent: {TURNS} turns");
    let model = Arc::new(Scripted::new(|_, _| Ok(Message::assistant("It is noted."))));
    let mut agent = Agent::new(talk, model);
    let mut values = Vec::with_capacity(TURNS);
    for turn in 0..WARM + TURNS {
        let question = corpus.question();
        let begun = Instant::now();
        let answered = block_on(agent.run(Message::user(question), &()))?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        ensure!(answered.usage.requests == 1, "a turn asked more than once");
        if turn >= WARM {
            values.push(took);
        }
    }
    let turns = Samples { name: "memory-agent".to_owned(), unit: "ms", values };
    let note = format!(
        "one turn of an agent with a model that answers at once, at each of {TURNS} turns after {MESSAGES} messages: two \
         appends with their syncs, the prompt of 16,000 tokens with recall by words and meaning, and the request; \
         summaries and vectors are made in the background meanwhile"
    );
    Ok(vec![Figure::absolute("turn_overhead_p50_ms", &turns, note)])
}
