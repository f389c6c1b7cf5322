//! The time and memory of searches over thousands of conversations: in running processes, and in new ones.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use indicatif::ProgressBar;
use memory::{Access, Builder, Config, ConversationId, Notice, Query, Scope, blocking::Memory};
use memory_embed::ALL_MINILM_L6_V2;
use pollster::block_on;

use super::HITS;
use crate::{
    figure::{Entrant, Figure, interleave, median_of},
    process::{self, Subprocess},
    talks::{Asked, KINDS, Talk},
};

/// Conversations of the store.
const CONVERSATIONS: u32 = 2_000;
/// Messages of a conversation.
const MESSAGES: usize = 100;
/// Distance between the talks of two questions; a prime, so that it shares no factor with the number of conversations.
const STEP: u32 = 617;
/// The line that asks a running process for its memory use; no question is empty.
const RESIDENT: &str = "";
/// Version of the stores' contents; raise it when the same texts are stored differently.
const VERSION: u32 = 1;

/// Measures the figures over a store under `kept`, which is made there once.
pub(super) fn measure(kept: &Path) -> Result<Vec<Figure>> {
    let store = kept_store(kept)?;
    let (mut words, mut model) = (Asking::begin(&store, true)?, Asking::begin(&store, false)?);
    let [[by_words], [by_model]] = interleave([
        Entrant::new("by words", ["ms"], || words.round()),
        Entrant::new("with a model", ["ms"], || model.round()),
    ])?;
    let [words_mb, model_mb] = [words.resident_mb()?, model.resident_mb()?];
    let resident = format!("RssAnon after the last question, model loaded; {words_mb:.0} MB in a process by words");
    let mut figures = vec![
        Figure::absolute("all_2000_conversations_words_p50_ms", &by_words, words.note()),
        Figure::absolute("all_2000_conversations_model_p50_ms", &by_model, model.note()),
        Figure::single("all_2000_conversations_rss_mb", model_mb, "MB", resident),
    ];
    // No other process may hold the store while new processes are measured.
    drop((words, model));
    figures.push(cold(&store)?);
    Ok(figures)
}

/// Searches of new processes, from their start to their end.
fn cold(store: &Path) -> Result<Figure> {
    let mut number = 0;
    let [[opening, search, whole]] = interleave([Entrant::new("a new process", ["ms"; 3], || {
        let question = nth_question(number).1.text;
        number += 1;
        let task = process::task([OsStr::new("cold-search"), store.as_os_str(), OsStr::new(&question)])?;
        let start = Instant::now();
        let [opening, search] = process::numbers(task)?;
        Ok([opening, search, start.elapsed().as_secs_f64() * 1e3])
    })])?;
    let [opening, search] = [opening, search].map(|samples| samples.median());
    let note = format!(
        "from the start of a process to its end, everything kept from before, files in the page cache; opening store and \
         model takes {opening:.0} ms of it, the search {search:.0} ms"
    );
    Ok(Figure::absolute("all_2000_conversations_cold_ms", &whole, note))
}

/// Opens the store, asks all conversations one question and prints the milliseconds of each.
///
/// # Errors
/// When that fails, or a part is missing for an answer by words and by meaning.
pub(crate) fn print_cold_search(store: &Path, question: &str) -> Result<()> {
    let start = Instant::now();
    let runtime = memory::parts::open(&Config::new(store, Access::Existing))?;
    let opened = start.elapsed();
    let found = block_on(runtime.retriever.search(&Query::new(question, Scope::all()).limit(HITS)))?;
    let took = start.elapsed() - opened;
    let is_whole = found.notices.iter().all(|notice| matches!(notice, Notice::NothingLikely { .. }));
    ensure!(!found.hits.is_empty() && is_whole, "not all was kept: {:?}", found.notices);
    println!("{} {}", opened.as_secs_f64() * 1e3, took.as_secs_f64() * 1e3);
    Ok(())
}

/// A running process, and its progress through the questions.
struct Asking {
    searcher: Subprocess,
    next: usize,
    /// Number of questions with one right message, and number of them that found it.
    answered: [usize; 2],
}

impl Asking {
    /// Starts the process, and waits for its first background work.
    fn begin(store: &Path, by_words: bool) -> Result<Self> {
        let mut command = process::task([OsStr::new("serve-searches"), store.as_os_str()])?;
        let searcher = Subprocess::start("the process that searches", command.args(by_words.then_some("--by-words")))?;
        let mut asking = Self { searcher, next: 0, answered: [0; 2] };
        asking.resident_mb()?;
        Ok(asking)
    }

    /// The anonymous memory of the process, in megabytes.
    fn resident_mb(&mut self) -> Result<f64> {
        let [megabytes] = process::parse(&self.searcher.ask(RESIDENT)?)?;
        Ok(megabytes)
    }

    /// The median time of one question of each kind, in milliseconds.
    fn round(&mut self) -> Result<[f64; 1]> {
        median_of(KINDS, || {
            let (talk, Asked { text, answer }) = nth_question(self.next);
            self.next += 1;
            let start = Instant::now();
            let hits: Vec<String> = serde_json::from_str(&self.searcher.ask(&text)?)?;
            let took = start.elapsed().as_secs_f64() * 1e3;
            ensure!(!hits.is_empty(), "nothing was found for {text:?}");
            if let Some(answer) = answer {
                let [asked, found] = self.answered;
                self.answered = [asked + 1, found + usize::from(hits.contains(&place(&talk.name(), answer)))];
            }
            Ok(took)
        })
    }

    fn note(&self) -> String {
        let [asked, found] = self.answered;
        format!(
            "a search without a scope, {} made-up messages in {CONVERSATIONS} conversations, a running process with its \
             background, {KINDS} other questions a round; of {asked} questions that one message answers, {found} had it \
             among ten hits",
            MESSAGES * CONVERSATIONS as usize
        )
    }
}

/// Question `number`: the kinds take turns, and each question is about another talk.
fn nth_question(number: usize) -> (Talk, Asked) {
    let talk = Talk::of(u32::try_from(number).unwrap_or_default().wrapping_mul(STEP) % CONVERSATIONS);
    let asked = talk.question(number % KINDS);
    (talk, asked)
}

/// Label of a message: its conversation, and its index there from 0.
fn place(conversation: &str, index: usize) -> String {
    format!("{conversation}#{index}")
}

/// Answers each line of standard input by a line: a question by the places of its hits, an empty one by the anonymous
/// memory of this process in megabytes.
///
/// # Errors
/// When the store cannot be opened, a search fails, or its notices show an answer that is incomplete for this mode.
pub(crate) fn serve_searches(store: &Path, by_words: bool) -> Result<()> {
    let config = Config::new(store, Access::Existing);
    let config = if by_words { config.without_model() } else { config };
    let memory = Memory::from(Builder::of(config).open()?);
    // The measured process should be one that has run for a while, which has caught up.
    memory.catch_up()?;
    process::serve(|line| match line {
        RESIDENT => Ok(process::megabytes(None, "RssAnon")?.to_string()),
        question => search(&memory, question, by_words).with_context(|| format!("asking {question:?}")),
    })
}

fn search(memory: &Memory, question: &str, by_words: bool) -> Result<String> {
    let found = memory.search(Query::new(question, Scope::all()).limit(HITS))?;
    let is_other = |notice: &Notice| {
        matches!(notice, Notice::PartlyEmbedded { .. } | Notice::TokensNotCompared { .. })
            || (matches!(notice, Notice::WordsOnly { .. }) && !by_words)
    };
    ensure!(!found.notices.iter().any(is_other), "it was not answered as it should be: {:?}", found.notices);
    let places = found.hits.iter().map(|hit| place(hit.conversation.as_str(), hit.node.id.index()));
    Ok(serde_json::to_string(&places.collect::<Vec<_>>())?)
}

/// The store under `kept`: that of an earlier run with the same messages and model, or a new one. Derived files of an
/// outdated format are rebuilt.
fn kept_store(kept: &Path) -> Result<PathBuf> {
    let store = kept.join(format!("talks-{}", key()));
    let is_new = !store.is_dir();
    let unfinished = store.with_extension("unfinished");
    let open = |path: &Path, access| {
        let config = Config::new(path, access).model(ALL_MINILM_L6_V2.name.to_owned());
        let memory = Builder::of(config).background(false).open();
        memory.map(Memory::from).with_context(|| format!("opening {}", path.display()))
    };
    let memory = if is_new {
        eprintln!("retrieval: making {} with {} messages", store.display(), MESSAGES * CONVERSATIONS as usize);
        if unfinished.is_dir() {
            fs::remove_dir_all(&unfinished).with_context(|| format!("removing {}", unfinished.display()))?;
        }
        fs::create_dir_all(kept).with_context(|| format!("making {}", kept.display()))?;
        let memory = open(&unfinished, Access::Write)?;
        for talk in (0..CONVERSATIONS).map(Talk::of) {
            let messages = (0..MESSAGES).map(|index| talk.message(index)).collect();
            memory.conversation(&talk.name())?.append_batch(messages)?;
        }
        memory
    } else {
        eprintln!("retrieval: {} is kept from an earlier run; remove it to have it made anew", store.display());
        open(&store, Access::Existing)?
    };
    index(&memory)?;
    memory.catch_up()?;
    drop(memory);
    if is_new {
        fs::rename(&unfinished, &store).with_context(|| format!("naming {}", store.display()))?;
    }
    Ok(store)
}

/// Digest of the messages, the model and the store's version.
fn key() -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{VERSION} {CONVERSATIONS} {MESSAGES} {}", ALL_MINILM_L6_V2.name).as_bytes());
    for talk in (0..CONVERSATIONS).step_by(100).map(Talk::of) {
        for (message, at) in (0..MESSAGES).map(|index| talk.message(index)) {
            hasher.update(format!("{at} {} {}\n", message.speaker_or_role(), message.text()).as_bytes());
        }
    }
    hasher.finalize().to_hex().chars().take(16).collect()
}

/// Embeds messages without vectors, with progress on standard error.
fn index(memory: &Memory) -> Result<()> {
    let parts = memory.as_async().parts();
    let bar = ProgressBar::new(CONVERSATIONS.into());
    for number in 0..CONVERSATIONS {
        let id = ConversationId::new(&Talk::of(number).name())?;
        let report = block_on(parts.retriever.catch_up(&id, &()))?;
        ensure!(report.notices.is_empty(), "{id} is not indexed: {:?}", report.notices);
        bar.inc(1);
        if number % 100 == 99 {
            block_on(parts.flush())?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}
