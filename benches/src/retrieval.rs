//! The group `retrieval`: time of a search in one conversation and in thousands, and the share of the evidence that is
//! found and packed.

mod across;
mod many;

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Instant,
    vec,
};

use anyhow::{Context as _, Result, ensure};
use memory::{Access, Config, parts::Parts};
use memory_core::{
    ConversationId, NodeDraft, Timestamp,
    port::{Query, Retriever, Scope},
};
use memory_search::HybridRetriever;
use pollster::block_on;

pub(crate) use many::{print_cold_search, serve_searches};

use self::across::Across;
use crate::{
    eval::{self, Asked, Budget, EvalOptions, EvalParts, Steps},
    figure::{Entrant, Figure, Inputs, Samples, Spread, interleave},
};

/// Messages of the searched conversation.
const MESSAGES: usize = 10_000;
/// Hits of a search.
const HITS: usize = 10;
/// Questions of a round.
const QUESTIONS: usize = 100;
/// Messages appended at once.
const BATCH: usize = 1_000;
const SECOND: i64 = 1_000;

/// Measures the group, with its files under `scratch`. Without evaluation data there is nothing to measure, and a
/// message states it.
///
/// # Errors
/// When the model is missing, or a measurement fails.
pub(crate) fn measure(scratch: &Path, inputs: &Inputs) -> Result<Vec<Figure>> {
    let Some(data) = &inputs.eval else {
        eprintln!("retrieval: skipped, no evaluation data is at hand");
        return Ok(Vec::new());
    };
    let talk = Talk::begin(&scratch.join("ten-thousand"), data)?;
    let mut figures = talk.latencies()?;
    figures.push(talk.token_cache()?);
    // Appends to the conversation, so it comes last.
    figures.push(talk.contexts()?);
    drop(talk);
    let across = Across::begin(scratch, data)?;
    for (key, name) in [("packed_tenth_locomo", "locomo"), ("packed_tenth_beam100k", "beam100k")] {
        figures.push(packed(key, &EvalParts::of(&across.parts), &scratch.join(name), &data.join(name))?);
    }
    figures.extend(across.figures()?);
    drop(across);
    figures.extend(many::measure(inputs.kept.as_deref().unwrap_or(scratch))?);
    Ok(figures)
}

/// One conversation of [`MESSAGES`] messages of the data, and questions of the data about it.
struct Talk {
    store: PathBuf,
    id: ConversationId,
    late: Parts,
    plain: Parts,
    questions: Vec<String>,
    /// Messages of the data that are not in the conversation yet, for turns between two questions.
    further: RefCell<vec::IntoIter<NodeDraft>>,
}

impl Talk {
    fn begin(store: &Path, data: &Path) -> Result<Self> {
        let mut config = Config::new(store, Access::Write);
        let late = memory::parts::open(&config)?;
        let id = ConversationId::new("ten-thousand")?;
        let (mut drafts, mut questions) = (Vec::new(), Vec::new());
        for directory in eval::directories(data)? {
            for conversation in eval::conversations(&directory)? {
                for (mut message, _) in conversation.messages {
                    message.key = None;
                    let at = Timestamp::from_millis(i64::try_from(drafts.len())? * SECOND);
                    let tokens = late.memory.token_counter().count(&message.text());
                    drafts.push(NodeDraft::new(message, at, tokens));
                }
            }
            questions.extend(eval::question_texts(&directory)?);
        }
        ensure!(drafts.len() >= MESSAGES, "{} holds {} messages, {MESSAGES} are wanted", data.display(), drafts.len());
        let further = drafts.split_off(MESSAGES).into_iter();
        for batch in drafts.chunks(BATCH) {
            block_on(late.store.append(&id, batch.to_vec()))?;
        }
        eprintln!("retrieval: embedding {MESSAGES} messages");
        eval::index_with_bar(&*late.retriever, &id, MESSAGES as u64)?;
        block_on(late.memory.conversation(id.clone()).compact())?;
        config.tokens = None;
        config.access = Access::Existing;
        let plain = memory::parts::open(&config)?;
        let step = questions.len().div_ceil(QUESTIONS).max(1);
        let questions = questions.into_iter().step_by(step).collect();
        Ok(Self { store: store.to_owned(), id, late, plain, questions, further: RefCell::new(further) })
    }

    fn latencies(&self) -> Result<Vec<Figure>> {
        let words = HybridRetriever::new(self.late.store.clone(), None, None);
        let steps = RefCell::new(Steps::default());
        let search = |name, retriever: &dyn Retriever, text: &str| -> Result<()> {
            let query = Query::new(text, Scope::one(&self.id)).limit(HITS);
            let found = block_on(retriever.search(&query))?;
            ensure!(!found.hits.is_empty() || found.steps.is_empty(), "nothing was found for {text:?}");
            steps.borrow_mut().add(name, &found.steps);
            Ok(())
        };
        let all = |name, retriever: &dyn Retriever| self.median(|| Ok(()), |text| search(name, retriever, text));
        let (late, plain) = (&*self.late.retriever, &*self.plain.retriever);
        let [[late], [plain], [no_model]] = interleave([
            Entrant::new("with tokens", ["ms"], || all("late", late)),
            Entrant::new("without tokens", ["ms"], || all("plain", plain)),
            Entrant::new("by words", ["ms"], || all("words", &words)),
        ])?;
        let figure = |key, samples: &Samples, what: &str| Figure::absolute(key, samples, asked(what));
        let split = |name| steps.borrow().line(name);
        let of_late = format!("late interaction over 64 candidates and their neighbours ({})", split("late"));
        Ok(vec![
            figure("query_late_p50_ms", &late, &of_late),
            figure("query_plain_p50_ms", &plain, &format!("words and vectors ({})", split("plain"))),
            figure("query_no_model_p50_ms", &no_model, &format!("words alone ({})", split("words"))),
        ])
    }

    /// Contexts of a growing conversation: a turn of two messages precedes each question.
    fn contexts(&self) -> Result<Figure> {
        let conversation = self.late.memory.conversation(self.id.clone());
        let context = |text: &str| -> Result<()> {
            block_on(conversation.prompt(text))?;
            Ok(())
        };
        let [[contexts]] = interleave([Entrant::new("context", ["ms"], || self.median(|| self.go_on(), context))])?;
        let what =
            "view and recall, 4,000 tokens, each after a turn of two messages, what it embeds and compacts included";
        Ok(Figure::absolute("context_p50_ms", &contexts, asked(what)))
    }

    /// Appends a turn of two messages.
    fn go_on(&self) -> Result<()> {
        let turn: Vec<_> = self.further.borrow_mut().by_ref().take(2).collect();
        ensure!(!turn.is_empty(), "the data has too few messages for a turn before each question");
        block_on(self.late.store.append(&self.id, turn))?;
        Ok(())
    }

    /// The median time of all questions, in milliseconds. The work `before` each question is not timed.
    fn median(&self, before: impl Fn() -> Result<()>, ask: impl Fn(&str) -> Result<()>) -> Result<[f64; 1]> {
        let mut millis = Vec::with_capacity(self.questions.len());
        for question in &self.questions {
            before()?;
            let start = Instant::now();
            ask(question).with_context(|| format!("asking {question:?}"))?;
            millis.push(start.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok([Spread::of(&millis).median])
    }

    fn token_cache(&self) -> Result<Figure> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.store.join("cache/tokens")).context("listing the token caches")? {
            bytes += entry?.metadata()?.len();
        }
        ensure!(bytes > 0, "no token was kept: does the model give the vectors of tokens?");
        #[expect(clippy::cast_precision_loss, reason = "a quotient")]
        let value = bytes as f64 / MESSAGES as f64;
        Ok(Figure::single("token_cache_bytes_per_message", value, "B", "the file, divided by all messages"))
    }
}

/// The note of a figure.
fn asked(what: &str) -> String {
    format!("{what}; {QUESTIONS} questions to {MESSAGES} messages of real text")
}

/// The share of the evidence among messages packed into a tenth of each conversation.
fn packed(key: &'static str, parts: &EvalParts, run: &Path, data: &Path) -> Result<Figure> {
    let options = EvalOptions {
        data: vec![data.to_owned()],
        run: run.with_extension("run.jsonl"),
        compare: None,
        budget: Some(Budget::Tenth),
        stop_early: false,
        asked: BTreeSet::from([Asked::One]),
        demand_model: true,
    };
    let shares = block_on(eval::packed_shares(parts, &options, data))?;
    let note = format!(
        "evidence among messages packed into a tenth of the tokens, deterministic; a full context of as many shows \
         {:.1} % of it word for word, its history taking {:.0} % of the budget",
        shares.in_context * 100.0,
        shares.history * 100.0
    );
    Ok(Figure::single(key, shares.alone * 100.0, "%", note))
}
