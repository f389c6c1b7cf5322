//! What managing a long conversation adds to a turn, under each manager.

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::{Context as _, Result, ensure};
use memory_core::{
    ConversationId, Store as _,
    plan::{MANAGERS, manager_named},
};
use memory_embed::TiktokenCounter;
use memory_hooks::{Memory, MemoryError, PromptOptions};
use memory_plugins::Registry;
use memory_store::LogStore;

use super::waiting::Waiting;
use crate::{
    corpus::Corpus,
    figure::Figure,
    rounds::Samples,
    stats::{Spread, quantile},
};

const MESSAGES: usize = 10_000;
const TURNS: usize = 200;
/// Messages appended at once.
const BATCH: usize = 1_000;

/// Milliseconds of the turns under one manager, and those in which was waited for the disk.
struct Turns {
    worked: Vec<f64>,
    waited: Vec<f64>,
    /// Whether a view fits the budget.
    fits: bool,
}

/// The median turn under the default manager; those of the others are in the note.
pub(super) fn measure(scratch: &Path, is_short: bool) -> Result<Figure> {
    let messages = if is_short { MESSAGES / 10 } else { MESSAGES };
    let mut of_default = None;
    let mut note = format!(
        "doing what is due and the text of a context of 4,000 tokens without recall, over the log, at each of {TURNS} turns of two \
         messages after {messages}; the time in which records are written and synced is left out"
    );
    for name in MANAGERS {
        eprintln!("views: turns under {name}, {messages} messages");
        let turns = turns(&scratch.join(name), name, messages).with_context(|| format!("the manager {name}"))?;
        let sorted = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let worked = sorted(&turns.worked);
        note.push_str(&format!(
            "<br>{name}: p50 {:.2} ms, p99 {:.2} ms; waited p50 {:.2} ms, p99 {:.2} ms{}",
            quantile(&worked, 0.5),
            quantile(&worked, 0.99),
            Spread::of(&turns.waited).median,
            quantile(&sorted(&turns.waited), 0.99),
            if turns.fits { "" } else { "; no view fits, so the time is that of the error" },
        ));
        of_default.get_or_insert(turns.worked);
    }
    let values = of_default.context("no manager")?;
    Ok(Figure::absolute(
        "turn_overhead_10k_p50_ms",
        &Samples { name: MANAGERS[0].to_owned(), unit: "ms", values },
        note,
    ))
}

/// Plays turns in a conversation of so many messages.
fn turns(directory: &Path, manager: &str, messages: usize) -> Result<Turns> {
    let store = Arc::new(Waiting::over(Arc::new(LogStore::open(directory)?)));
    let (counter, strategies) = (Arc::new(TiktokenCounter::cl100k()), Registry::with_builtins());
    let memory = Memory::builder()
        .store(Arc::<Waiting>::clone(&store))
        .token_counter(Arc::<TiktokenCounter>::clone(&counter))
        .summarizer(strategies.summarizer(Registry::DEFAULT_SUMMARIZER)?)
        .scorer(strategies.scorer(Registry::DEFAULT_SCORER)?)
        .strategy(manager_named(manager, "")?)
        .build()?;
    let id = ConversationId::new("talk")?;
    let (talk, mut corpus) = (memory.conversation(id.clone()), Corpus::new(21));
    let question = corpus.question();
    let mut say = |count: usize| pollster::block_on(store.append(&id, corpus.drafts(count, &*counter)));
    for before in (0..messages).step_by(BATCH) {
        say(BATCH.min(messages - before))?;
    }
    let options = PromptOptions::default();
    let context = || match pollster::block_on(talk.prompt(&question, &options)) {
        Ok(prompt) => {
            ensure!(prompt.tokens <= prompt.budget, "the context is over its budget");
            Ok(true)
        }
        Err(MemoryError::Plan(_)) => Ok(false),
        Err(error) => Err(error.into()),
    };
    // What is due of the first messages is not a turn's.
    pollster::block_on(talk.compact(&()))?;
    let fits = context()?;
    let mut turns = Turns { worked: Vec::with_capacity(TURNS), waited: Vec::with_capacity(TURNS), fits };
    for _ in 0..TURNS {
        say(2)?;
        store.take();
        let start = Instant::now();
        ensure!(context()? == fits, "some views fit and others do not");
        let (took, waited) = (start.elapsed(), store.take());
        turns.worked.push(took.saturating_sub(waited).as_secs_f64() * 1e3);
        turns.waited.push(waited.as_secs_f64() * 1e3);
    }
    Ok(turns)
}
