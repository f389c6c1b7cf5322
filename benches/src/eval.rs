//! Retrieval over evaluation data: imports conversations, asks every question and writes a run file.

mod contexts;
mod data;
mod fit;
mod judge;
mod prices;
mod question_mode;
mod running;
mod score;
mod shown;
mod subject;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use memory::parts::Parts;
use memory_core::{
    ConversationId, MessageKey, NodeRange,
    plan::PlanError,
    port::{Hit, Progress, Query, RecallRequest, Retriever, Scope, Store, TokenCounter},
};
use memory_hooks::{Memory, MemoryError, PromptOptions};

pub use contexts::{ContextsOptions, write_contexts};
pub(crate) use data::conversations;
use data::{Question, questions};
pub use fit::{Calibration, Fit, HeldOut, fit, weights_file};
pub use judge::judge;
pub use question_mode::{QuestionMode, question_mode};
pub use running::{Running, running};
use score::{ContextTurns, PackedTurns, RunLine, Scored};
pub(crate) use score::{PackedShares, Steps};
pub use subject::Budget;
use subject::{PER_MESSAGE, Subject, cost};

/// Turns in a ranking.
const RANKED: usize = 50;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct EvalOptions {
    /// Directories with `conversations.jsonl` and `queries.jsonl`.
    pub data: Vec<PathBuf>,
    /// The run file to write; for several directories of data, or both scopes, the directory for a run file of each.
    pub run: PathBuf,
    /// Another run to compare with, in the same form.
    pub compare: Option<PathBuf>,
    /// Token budget of packing; without one, nothing is packed.
    pub budget: Option<Budget>,
    /// True if packing stops where hits are not worth their tokens, instead of filling the budget.
    pub stop_early: bool,
    /// Scopes of the questions; each gets a separate run.
    pub asked: BTreeSet<Asked>,
    /// True if recall by words alone is an error rather than a notice.
    pub demand_model: bool,
}

/// Conversations that a question is asked of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Asked {
    /// Its own conversation.
    #[default]
    One,
    /// All conversations of all data together.
    All,
}

/// The parts of a memory that a run measures.
#[derive(Clone, Debug)]
pub struct EvalParts {
    /// Holds the conversations.
    pub store: Arc<dyn Store>,
    /// Answers the questions.
    pub retriever: Arc<dyn Retriever>,
    /// Counts tokens; the data states its figures in `cl100k_base`.
    pub counter: Arc<dyn TokenCounter>,
    /// Assembles contexts.
    pub memory: Memory,
}

impl EvalParts {
    /// The parts of a runtime.
    #[must_use]
    pub fn of(runtime: &Parts) -> Self {
        Self {
            store: runtime.store.clone(),
            retriever: runtime.retriever.clone(),
            counter: runtime.memory.token_counter().clone(),
            memory: runtime.memory.clone(),
        }
    }
}

/// Imports the data, asks every question and writes a run file for each directory. Progress goes to standard error. A
/// table in Markdown and the time of each step of a search go to standard output.
///
/// # Errors
/// When the data does not follow the format, a part fails, a run file cannot be read or written, or a model is demanded
/// and recall was by words.
pub async fn evaluate(parts: &EvalParts, options: &EvalOptions) -> Result<()> {
    let mut prepared = Vec::new();
    for data in &options.data {
        prepared.push((data, prepare_run(parts, options, data).await?));
    }
    let subjects = || prepared.iter().flat_map(|(_, (_, subjects))| subjects.values());
    let mut scopes = BTreeMap::new();
    for asked in &options.asked {
        let scope = match asked {
            Asked::One => None,
            Asked::All => {
                // The search also covers conversations without questions.
                report(&index(parts, subjects()).await?, options.demand_model)?;
                Some(everything(parts, subjects().map(|subject| subject.id.clone())).await?)
            }
        };
        scopes.insert(*asked, scope);
    }
    let mut rows = Vec::new();
    let mut steps = Steps::default();
    for (data, prepared) in &prepared {
        let name = contexts::data_name(data);
        let mut runs = BTreeMap::new();
        // Packing is limited to one conversation, so only the first of two runs packs.
        let mut budget = options.budget;
        for (asked, everything) in &scopes {
            let file = |path: &Path| match (&options.data[..], scopes.len(), asked) {
                ([_], 1, _) => path.to_owned(),
                (_, 2, Asked::All) => path.join(format!("{name}-all.jsonl")),
                _ => path.join(format!("{name}.jsonl")),
            };
            let run = file(&options.run);
            let run_of = Run { options, budget: budget.take(), everything: everything.as_ref() };
            run_of.write(parts, prepared, &run, &mut steps).await?;
            let (questions, _) = prepared;
            let other = options.compare.as_deref().map(|other| Scored::read(&file(other), questions)).transpose()?;
            runs.insert(*asked, (Scored::read(&run, questions)?, other));
        }
        rows.push((name, runs));
    }
    println!("{}", score::table(&rows));
    println!("\n{steps}");
    Ok(())
}

/// The scope of all `conversations`; unrestricted if the store has no others.
async fn everything(parts: &EvalParts, conversations: impl Iterator<Item = ConversationId>) -> Result<Scope> {
    let (conversations, known) = (conversations.collect::<Vec<_>>(), parts.store.conversations().await?);
    Ok(if known.len() == conversations.len() { Scope::all() } else { Scope::only(conversations) })
}

/// The questions of a directory, and its conversations.
type Prepared = (Vec<Question>, HashMap<ConversationId, Subject>);

async fn prepare_run(parts: &EvalParts, options: &EvalOptions, data: &Path) -> Result<Prepared> {
    let questions = questions(data)?;
    let subjects = prepare(parts, data, questions.iter(), options.demand_model).await?;
    Ok((questions, subjects))
}

/// A run of one directory in one scope.
struct Run<'a> {
    options: &'a EvalOptions,
    budget: Option<Budget>,
    /// Scope of the questions; `None` for the conversation of each.
    everything: Option<&'a Scope>,
}

impl Run<'_> {
    /// Asks each question and writes the run file.
    async fn write(
        &self,
        parts: &EvalParts,
        (questions, subjects): &Prepared,
        run: &Path,
        steps: &mut Steps,
    ) -> Result<()> {
        let mut lines = Vec::with_capacity(questions.len());
        let bar = progress_bar(questions.len() as u64, "questions");
        for question in questions {
            let Some(subject) = subjects.get(&question.conversation) else { continue };
            let scope = self.everything.cloned().unwrap_or_else(|| Scope::one(&subject.id));
            let mut line = rank(parts, question, subject, scope, steps).await?;
            if let Some(budget) = self.budget {
                line.packed = Some(pack(parts, question, subject, budget, self.options, steps).await?);
                line.context = context(parts, question, subject, budget).await?;
            }
            lines.push(line);
            bar.inc(1);
        }
        bar.finish_and_clear();
        contexts::write_lines(run, &lines)
    }
}

/// Imports the conversations of a directory and indexes those with questions; a notice is an error if a model is
/// demanded.
async fn prepare(
    parts: &EvalParts,
    data: &Path,
    questions: impl Iterator<Item = &Question>,
    demand_model: bool,
) -> Result<HashMap<ConversationId, Subject>> {
    let subjects = import(parts, data).await?;
    let mut asked = BTreeSet::new();
    for Question { id, conversation, .. } in questions {
        if !subjects.contains_key(conversation) {
            bail!("question {id} is about `{conversation}`, which is not among the conversations");
        }
        asked.insert(conversation);
    }
    let asked = asked.into_iter().filter_map(|conversation| subjects.get(conversation));
    report(&index(parts, asked).await?, demand_model)?;
    Ok(subjects)
}

/// Prints notices; each is an error if a model is demanded.
fn report(notices: &BTreeSet<String>, demand_model: bool) -> Result<()> {
    for notice in notices {
        eprintln!("eval: {notice}");
    }
    if demand_model && !notices.is_empty() {
        bail!("the run would not measure what it should, which CI=true makes an error");
    }
    Ok(())
}

/// Shares that a run of one directory packs, as means over its questions.
pub(crate) async fn packed_shares(parts: &EvalParts, options: &EvalOptions, data: &Path) -> Result<PackedShares> {
    let prepared = prepare_run(parts, options, data).await?;
    let run = Run { options, budget: options.budget, everything: None };
    run.write(parts, &prepared, &options.run, &mut Steps::default()).await?;
    Ok(Scored::read(&options.run, &prepared.0)?.packed())
}

/// Questions of a category, and those of them whose evidence is among the first ten hits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub(crate) asked: usize,
    pub(crate) found: usize,
}

pub(crate) type RecallByCategory = BTreeMap<String, Found>;

/// Asks each question of a directory in its conversation, and adds what was found to `recall`.
pub(crate) async fn add_recall(
    parts: &EvalParts,
    data: &Path,
    demand_model: bool,
    recall: &mut RecallByCategory,
) -> Result<()> {
    let questions = questions(data)?;
    let subjects = prepare(parts, data, questions.iter(), demand_model).await?;
    for question in &questions {
        let Some(subject) = subjects.get(&question.conversation) else { continue };
        let line = rank(parts, question, subject, Scope::one(&subject.id), &mut Steps::default()).await?;
        let of = recall.entry(question.category.clone()).or_default();
        of.asked += 1;
        of.found += usize::from(line.ranked.iter().take(10).any(|key| question.evidence.contains(key.as_str())));
    }
    Ok(())
}

/// The questions in a directory, in plain words.
pub(crate) fn question_texts(data: &Path) -> Result<Vec<String>> {
    Ok(questions(data)?.into_iter().map(|question| question.text).collect())
}

/// The subdirectories of `data` that hold conversations, in the order of their names.
pub(crate) fn directories(data: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(data).with_context(|| format!("listing {}", data.display()))?;
    let mut directories = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    directories.retain(|path| path.join("conversations.jsonl").is_file());
    directories.sort();
    Ok(directories)
}

/// Builds postings, vectors and tokens of a conversation; a notice is an error.
pub(crate) fn index_with_bar(retriever: &dyn Retriever, id: &ConversationId, nodes: u64) -> Result<()> {
    let bar = Indexing(progress_bar(nodes, "messages embedded"));
    let indexed = pollster::block_on(retriever.catch_up(id, &bar));
    bar.0.finish_and_clear();
    match indexed?.notices.first() {
        Some(notice) => bail!("{notice}"),
        None => Ok(()),
    }
}

async fn import(parts: &EvalParts, data: &Path) -> Result<HashMap<ConversationId, Subject>> {
    let conversations = conversations(data)?;
    let messages: usize = conversations.iter().map(|conversation| conversation.messages.len()).sum();
    let bar = progress_bar(messages as u64, "messages imported");
    let mut subjects = HashMap::new();
    for conversation in conversations {
        let count = conversation.messages.len() as u64;
        let name = conversation.id.clone();
        let mut subject = Subject::empty(conversation.id);
        subject.say(parts, conversation.messages).await.with_context(|| format!("importing `{name}`"))?;
        if subjects.insert(name, subject).is_some() {
            bail!("two conversations of {} have one name", data.display());
        }
        bar.inc(count);
    }
    bar.finish_and_clear();
    Ok(subjects)
}

/// Builds postings and vectors beforehand, so that no question waits for them; returns the notices.
async fn index(parts: &EvalParts, subjects: impl Iterator<Item = &Subject>) -> Result<BTreeSet<String>> {
    let mut notices = BTreeSet::new();
    for subject in subjects {
        let bar = Indexing(progress_bar(subject.outline.len() as u64, "messages embedded"));
        let indexed = parts.retriever.catch_up(&subject.id, &bar).await;
        bar.0.finish_and_clear();
        let indexed = indexed.with_context(|| format!("indexing `{}`", subject.id))?;
        notices.extend(indexed.notices.iter().map(ToString::to_string));
    }
    Ok(notices)
}

async fn rank(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
    scope: Scope,
    steps: &mut Steps,
) -> Result<RunLine> {
    let query = Query::new(&question.text, scope).limit(RANKED);
    let start = Instant::now();
    let found = parts.retriever.search(&query).await.with_context(|| format!("searching for {}", question.id))?;
    let latency_ms = start.elapsed().as_secs_f64() * 1_000.0;
    steps.add("search", &found.steps);
    // Turns of different conversations may have one id.
    let key = |hit: &Hit| match hit.conversation == subject.id {
        true => subject.key(hit.node.id),
        false => MessageKey::new(&format!("{}#{}", hit.conversation, hit.node.id)).ok(),
    };
    let ranked = found.hits.iter().filter_map(key).collect();
    Ok(RunLine { query_id: question.id.clone(), ranked, packed: None, context: None, latency_ms })
}

/// Packs exact messages alone: recall gets the whole budget.
async fn pack(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
    budget: Budget,
    options: &EvalOptions,
    steps: &mut Steps,
) -> Result<PackedTurns> {
    let max_tokens = budget.of(&subject.outline);
    let request = RecallRequest::new(&question.text, &subject.id, max_tokens)
        .per_message(PER_MESSAGE)
        .limit(subject.outline.len())
        .stop_early(options.stop_early);
    let recalled = parts.retriever.recall(&request).await.with_context(|| format!("packing for {}", question.id))?;
    steps.add("recall", &recalled.steps);
    let nodes = || recalled.excerpts.iter().flat_map(|excerpt| excerpt.nodes.iter());
    let costs = nodes().filter_map(|node| subject.outline.get(node.index()));
    let packed_tokens = costs.map(|node| u64::from(cost(node))).sum();
    if packed_tokens > u64::from(max_tokens) {
        bail!("{} was packed into {packed_tokens} tokens where {max_tokens} were allowed", question.id);
    }
    Ok(PackedTurns { packed: nodes().filter_map(|node| subject.key(node)).collect(), packed_tokens })
}

/// A full context, in which the history gets its share; `None` if no context fits the budget.
async fn context(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
    budget: Budget,
) -> Result<Option<ContextTurns>> {
    let budget = budget.of(&subject.outline);
    let Some(shown) = fresh_context(parts, question, subject, budget).await? else { return Ok(None) };
    let nodes = shown.verbatim().into_iter().flat_map(NodeRange::iter);
    let in_context = nodes.filter_map(|node| subject.key(node)).collect();
    Ok(Some(ContextTurns { in_context, history_share: f64::from(shown.history_tokens()) / f64::from(budget.max(1)) }))
}

/// A context of a question with the default options, asked when the last message was said, which leaves no record;
/// `None` if no context fits the budget.
async fn fresh_context(
    parts: &EvalParts,
    question: &Question,
    subject: &Subject,
    budget: u32,
) -> Result<Option<memory_hooks::Prompt>> {
    let options = PromptOptions::new(budget).record(false).now(subject.outline.last().map(|node| node.at));
    let conversation = parts.memory.conversation(subject.id.clone());
    match conversation.prompt_with(&question.text, &options).await {
        Err(MemoryError::Plan(PlanError::BudgetTooSmall { .. }) | MemoryError::NoProgress { .. }) => Ok(None),
        shown => Ok(Some(shown.with_context(|| format!("putting a context together for {}", question.id))?)),
    }
}

fn progress_bar(total: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {eta} left");
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_message(what)
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
