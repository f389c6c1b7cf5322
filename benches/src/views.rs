//! The group `views`: the cost of showing and compacting a long conversation.

mod grown;
mod real;

use std::{cell::RefCell, path::Path, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use memory_core::{
    ConversationId,
    port::{Store, TokenCounter},
};
use memory_embed::TiktokenCounter;
use memory_hooks::{Conversation, Memory, Prompt};
use memory_plugins::Registry;
use memory_store::LogStore;
use pollster::block_on;

use crate::{
    corpus::{Corpus, QuarterOfBytes},
    figure::{Entrant, Figure, Samples, interleave},
};

/// Messages of the conversations `10k` and `1M` of the figures.
const TEN_THOUSAND: usize = 10_000;
const MILLION: usize = 1_000_000;
/// Messages appended at once.
const BATCH: usize = 1_000;
/// Messages compacted at once for the rate.
const FRESH: usize = 2_000;
/// New messages since the last compaction, when compaction is repeated in a long conversation.
const MORE: usize = 40;
/// Turns of a round. Compaction is due at every fifth of them.
const TURNS: u32 = 20;
/// Turns whose median is an overhead.
const MANY_TURNS: usize = 200;
const ASSEMBLED: &str = "from the store to the text of a context of 4,000 tokens, the default, in which nothing is recalled, after \
                         each of 20 turns of two messages; what compaction is due meanwhile is part of it";

/// Measures the group, with its files under `directory`; includes the figures of question and running mode if there is
/// evaluation data.
///
/// # Errors
/// When a part of the memory fails.
pub(crate) fn measure(directory: &Path, eval: Option<&Path>) -> Result<Vec<Figure>> {
    let mut figures = vec![compaction_rate(directory)?];
    eprintln!("views: compacting {TEN_THOUSAND} messages");
    let compacted = Talk::begin(directory)?;
    compacted.say(TEN_THOUSAND, &TiktokenCounter::cl100k())?;
    compacted.compact()?;
    figures.push(reduction(&compacted)?);
    eprintln!("views: growing to a million messages");
    let million = Talk::begin(directory)?;
    grown::grow(&million, MILLION)?;
    let thousand = Talk::begin(directory)?;
    grown::grow(&thousand, 1_000)?;
    figures.extend(assembling(&compacted, &million)?);
    figures.push(compaction_growth(&million, &thousand)?);
    figures.push(overhead(&compacted)?);
    figures.extend(real::questions(directory, eval)?);
    figures.extend(real::running(directory, eval)?);
    Ok(figures)
}

/// A generated conversation in a log on disk, with the default strategies and exact token counts; nothing is recalled.
#[derive(Debug)]
struct Talk {
    store: Arc<dyn Store>,
    conversation: Conversation,
    corpus: RefCell<Corpus>,
}

impl Talk {
    /// An empty conversation, in a new directory under `parent`.
    fn begin(parent: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("talk").tempdir_in(parent)?.keep();
        let store: Arc<dyn Store> = Arc::new(LogStore::open(directory)?);
        let strategies = Registry::with_builtins();
        let memory = Memory::builder()
            .store(Arc::clone(&store))
            .token_counter(Arc::new(TiktokenCounter::cl100k()))
            .summarizer(strategies.summarizer(Registry::DEFAULT_SUMMARIZER)?)
            .scorer(strategies.scorer(Registry::DEFAULT_SCORER)?)
            .build()?;
        let conversation = memory.conversation(ConversationId::new("talk")?);
        Ok(Self { store, conversation, corpus: RefCell::new(Corpus::new(11)) })
    }

    /// Appends messages.
    fn say(&self, messages: usize, counter: &dyn TokenCounter) -> Result<()> {
        for before in (0..messages).step_by(BATCH) {
            let batch = self.corpus.borrow_mut().drafts(BATCH.min(messages - before), counter);
            block_on(self.store.append(self.conversation.id(), batch))?;
        }
        Ok(())
    }

    /// Performs due compaction; returns the microseconds that it took.
    fn compact(&self) -> Result<f64> {
        let start = Instant::now();
        let report = block_on(self.conversation.compact())?;
        ensure!(report.summaries > 0, "nothing was compacted");
        Ok(start.elapsed().as_secs_f64() * 1e6)
    }

    /// Milliseconds of a context at the defaults, after a turn of two messages.
    fn turn(&self, question: &str) -> Result<f64> {
        self.say(2, &TiktokenCounter::cl100k())?;
        let start = Instant::now();
        let context = self.context(question)?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        ensure!(context.tokens <= context.budget, "the context is over its budget");
        ensure!(context.text().ends_with(question), "the context is not what was asked for");
        Ok(took)
    }

    fn context(&self, question: &str) -> Result<Prompt> {
        Ok(block_on(self.conversation.prompt(question))?)
    }
}

/// Messages a second, from FULL to the level that the thresholds require.
fn compaction_rate(directory: &Path) -> Result<Figure> {
    eprintln!("views: compaction rate");
    let compact = || {
        let talk = Talk::begin(directory)?;
        talk.say(FRESH, &TiktokenCounter::cl100k())?;
        #[expect(clippy::cast_precision_loss, reason = "some thousand messages")]
        Ok([FRESH as f64 * 1e6 / talk.compact()?])
    };
    let [[rate]] = interleave([Entrant::new("memory-hooks", ["messages/s"], compact)])?;
    let note = "summaries and scores by the default strategies of 2,000 messages, token counts and syncs included";
    Ok(Figure::absolute("compaction_messages_per_s", &rate, note))
}

/// Size of a history divided by that of its smallest view.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn reduction(compacted: &Talk) -> Result<Figure> {
    let stats = block_on(compacted.conversation.stats())?;
    let note = format!(
        "{} tokens of messages, {} of the coarsest view under the default thresholds, headers included",
        stats.tokens, stats.view_tokens
    );
    Ok(Figure::single("reduction_10k", stats.tokens as f64 / stats.view_tokens as f64, "x", note))
}

/// Contexts of a compacted conversation and of a very long one.
fn assembling(ten_thousand: &Talk, million: &Talk) -> Result<[Figure; 2]> {
    eprintln!("views: assembling");
    // The first context may compact until the coarsest view fits, which is not part of assembling.
    for talk in [ten_thousand, million] {
        talk.context("Is everything ready?")?;
    }
    let question = Corpus::new(12).question();
    let mean = |talk: &Talk| -> Result<[f64; 1]> {
        let times = (0..TURNS).map(|_| talk.turn(&question)).collect::<Result<Vec<_>>>()?;
        Ok([times.iter().sum::<f64>() / f64::from(TURNS)])
    };
    let [[small], [large]] = interleave([
        Entrant::new("10,000 messages", ["ms"], || mean(ten_thousand)),
        Entrant::new("1,000,000 messages", ["ms"], || mean(million)),
    ])?;
    let of_large = format!("{ASSEMBLED}; the tree's shape is real, its words are made up");
    Ok([Figure::absolute("assemble_10k_ms", &small, ASSEMBLED), Figure::absolute("assemble_1m_ms", &large, of_large)])
}

/// Compaction time per new message of a long conversation, divided by that of a short one.
fn compaction_growth(million: &Talk, thousand: &Talk) -> Result<Figure> {
    eprintln!("views: compaction at a million messages");
    let carry_on = |talk: &Talk| -> Result<[f64; 1]> {
        talk.say(MORE, &TiktokenCounter::cl100k())?;
        #[expect(clippy::cast_precision_loss, reason = "a few messages")]
        Ok([talk.compact()? / MORE as f64])
    };
    for talk in [million, thousand] {
        carry_on(talk)?;
    }
    let [[large], [small]] = interleave([
        Entrant::new("1,000,000 messages", ["us"], || carry_on(million)),
        Entrant::new("1,000 messages", ["us"], || carry_on(thousand)),
    ])?;
    let note = format!("compacting {MORE} messages more; the tree's shape is real, its words are made up");
    Ok(Figure::ratio("compaction_1m_vs_1k", &large, &small, note))
}

/// Time that managing a long conversation adds to the median turn, including syncs.
fn overhead(compacted: &Talk) -> Result<Figure> {
    eprintln!("views: {MANY_TURNS} turns");
    let question = Corpus::new(21).question();
    let values = (0..MANY_TURNS).map(|_| compacted.turn(&question)).collect::<Result<_>>()?;
    let note = format!(
        "doing what is due and the text of a context of 4,000 tokens without recall under the default manager, at each of \
         {MANY_TURNS} turns of two messages after {TEN_THOUSAND}; what is written is synced, which is part of it"
    );
    let turns = Samples { name: "memory-hooks".to_owned(), unit: "ms", values };
    Ok(Figure::absolute("turn_overhead_10k_p50_ms", &turns, note))
}
