//! Retrieval over evaluation data: conversations go in, every question is asked, a run file comes out.

mod budget;
mod fit;
mod latency;
mod questions;
mod run_file;
mod subject;

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use memory_core::{ConversationId, Progress, Query, RecallRequest, Retriever, Scope, Store, TokenCounter};

pub use budget::Budget;
use budget::{PER_MESSAGE, cost};
pub use fit::{Fit, fit, weights_file};
use latency::Latencies;
use questions::Question;
use run_file::{PackedTurns, RunFile, RunLine};
use subject::Subject;

/// Turns in a ranking.
const RANKED: usize = 50;

/// What to run, and where it goes.
#[derive(Clone, Debug)]
pub struct EvalOptions {
    /// The directory with `conversations.jsonl` and `queries.jsonl`.
    pub data: PathBuf,
    /// The run file to write.
    pub run: PathBuf,
    /// How much may be packed; without it nothing is.
    pub budget: Option<Budget>,
    /// Whether recall by words alone is a failure rather than a notice.
    pub demand_model: bool,
}

/// The parts of a memory that a run is about.
#[derive(Clone, Debug)]
pub struct EvalParts {
    /// Takes the conversations.
    pub store: Arc<dyn Store>,
    /// Answers the questions.
    pub retriever: Arc<dyn Retriever>,
    /// Counts tokens; the scorer's figures are in `cl100k_base`.
    pub counter: Arc<dyn TokenCounter>,
}

/// Imports the data, asks every question and writes the run file. Progress goes to standard error, a summary
/// to standard output.
///
/// # Errors
/// When the data is not what the format asks for, a part fails, the run file cannot be written, or a model is
/// demanded and recall did without.
pub async fn evaluate(parts: &EvalParts, options: &EvalOptions) -> Result<()> {
    let questions = questions::read(&options.data.join("queries.jsonl"))?;
    let subjects = import(parts, &options.data).await?;
    for question in &questions {
        if !subjects.contains_key(&question.conversation) {
            bail!(
                "question {} is about `{}`, which is not among the conversations",
                question.id,
                question.conversation
            );
        }
    }
    let notices = index(parts, subjects.values()).await?;
    for notice in &notices {
        eprintln!("eval: {notice}");
    }
    if options.demand_model && !notices.is_empty() {
        bail!("the run would not show what it is to show, and CI=true does not let that pass");
    }

    let mut run = RunFile::create(&options.run)?;
    let bar = Bars::of(questions.len() as u64, "questions");
    let (mut search, mut recall) = (Latencies::default(), Latencies::default());
    for question in &questions {
        let Some(subject) = subjects.get(&question.conversation) else { continue };
        let mut line = rank(parts, question, subject, &mut search).await?;
        if let Some(budget) = options.budget {
            line.packed = Some(pack(parts, question, subject, budget, &mut recall).await?);
        }
        run.push(&line)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    run.finish()?;
    println!("{} questions to {} conversations: search {search}", questions.len(), subjects.len());
    if options.budget.is_some() {
        println!("packing {recall}");
    }
    Ok(())
}

async fn import(parts: &EvalParts, data: &Path) -> Result<HashMap<ConversationId, Subject>> {
    let conversations = memory_cli::import::eval::read(data)?;
    let messages: usize = conversations.iter().map(|conversation| conversation.messages.len()).sum();
    let bar = Bars::of(messages as u64, "messages imported");
    let mut subjects = HashMap::new();
    for conversation in conversations {
        let count = conversation.messages.len() as u64;
        let name = conversation.id.clone();
        let subject = Subject::import(parts, conversation).await.with_context(|| format!("importing `{name}`"))?;
        if subjects.insert(name, subject).is_some() {
            bail!("two conversations of {} have one name", data.display());
        }
        bar.inc(count);
    }
    bar.finish_and_clear();
    Ok(subjects)
}

/// Makes postings and vectors beforehand, so that no question waits for them; gives the notices.
async fn index(parts: &EvalParts, subjects: impl Iterator<Item = &Subject>) -> Result<BTreeSet<String>> {
    let mut notices = BTreeSet::new();
    for subject in subjects {
        let bar = Indexing(Bars::of(subject.outline.len() as u64, "messages embedded"));
        let indexed = parts.retriever.catch_up(&subject.id, &bar).await;
        bar.0.finish_and_clear();
        notices.extend(indexed.with_context(|| format!("indexing `{}`", subject.id))?.notices);
    }
    Ok(notices)
}

async fn rank(parts: &EvalParts, question: &Question, subject: &Subject, took: &mut Latencies) -> Result<RunLine> {
    let query = Query { limit: RANKED, ..Query::new(&question.text, Scope::one(&subject.id)) };
    let start = Instant::now();
    let found = parts.retriever.search(&query).await.with_context(|| format!("searching for {}", question.id))?;
    let latency_ms = took.add(start.elapsed());
    let ranked = found.hits.iter().filter_map(|hit| subject.key(hit.node)).collect();
    Ok(RunLine { query_id: question.id.clone(), ranked, packed: None, latency_ms })
}

/// Packs exact messages alone: the whole budget is recall's.
async fn pack(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
    budget: Budget,
    took: &mut Latencies,
) -> Result<PackedTurns> {
    let max_tokens = budget.of(&subject.outline);
    let request = RecallRequest {
        per_message: PER_MESSAGE,
        limit: subject.outline.len(),
        ..RecallRequest::new(&question.text, &subject.id, max_tokens)
    };
    let start = Instant::now();
    let recalled = parts.retriever.recall(&request).await.with_context(|| format!("packing for {}", question.id))?;
    took.add(start.elapsed());
    let nodes = || recalled.excerpts.iter().flat_map(|excerpt| excerpt.nodes.iter());
    let costs = nodes().filter_map(|node| subject.outline.get(node.index()));
    let packed_tokens = costs.map(|node| u64::from(cost(node))).sum();
    if packed_tokens > u64::from(max_tokens) {
        bail!("{} was packed into {packed_tokens} tokens where {max_tokens} were allowed", question.id);
    }
    Ok(PackedTurns { packed: nodes().filter_map(|node| subject.key(node)).collect(), packed_tokens })
}

/// Makes progress bars.
struct Bars;

impl Bars {
    fn of(total: u64, what: &'static str) -> ProgressBar {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {eta} left");
        ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_message(what)
    }
}

/// Shows the retriever's progress.
struct Indexing(ProgressBar);

impl Progress for Indexing {
    fn report(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

#[cfg(test)]
mod tests;
