//! Summaries written by a chat model.

mod answer;
mod chunks;
mod grounded;
mod many;
mod words;

use std::{collections::VecDeque, sync::Arc};

use memory_core::{
    Hash, Message, WrittenBy,
    port::{
        BoxFuture, ChatError, ChatModel, ChatReply, ChatRequest, SummarizeError, Summarizer, SummaryJob, WrittenSummary,
    },
};
use memory_strategies::Spans;

use self::{
    chunks::{Block, blocks, take_chunk},
    words::Task,
};
use crate::spend::{Exhausted, SpendLimits, Spent};

/// Share of a window that is filled, in percent: the model's tokens differ from those counted here.
const FILLED: u32 = 80;
/// Smallest part of a text that is asked about, in tokens. A window with room for less is too small.
const SMALLEST_PART: u32 = 96;
/// Fewest tokens of a summary that needs a model; shorter ones are quotations, since a model cannot say anything in so
/// few words.
const FEWEST: u32 = 16;
/// Most tokens of the notes on a part of a longer text, unless its summary may have more.
const NOTES: u32 = 96;

/// Summaries by a chat model: the agent's own, or a separate one.
///
/// Very short summaries, of short messages, are [`Spans`], under that name.
///
/// The model is given the whole text of a job as data, between fences and escaped, in parts if its window is small. An
/// answer that breaks the contract of [`Summarizer`] is an error ([`ModelSummaryError`]), for which a memory uses [its
/// fallback](crate::MemoryBuilder::fallback_summarizer). Topics, decisions and code of a summary are found by rules, as
/// for summaries that are written offline.
///
/// [Several](Self::together) messages may share a request, whose reply is JSON with their summaries, importance and
/// topics, and whether something was decided or code was shown.
///
/// Summaries are recorded, so that no request is repeated. The identity names the model and a hash of the prompt.
#[derive(Clone, Debug)]
pub struct ModelSummarizer {
    model: Arc<dyn ChatModel>,
    system_prompt: Arc<str>,
    limits: SpendLimits,
    /// Most messages whose SUMMARYs one request asks for.
    together: usize,
    process: Arc<Spent>,
    /// Amounts of a compaction; `None` outside of one, where each job counts as one.
    compaction: Option<Arc<Spent>>,
}

/// Reasons why a model wrote no summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelSummaryError {
    /// The model did not reply.
    #[error("no reply")]
    Chat(#[from] ChatError),
    /// A limit is reached.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The model called a tool instead of writing.
    #[error("the reply is a call of a tool, not a text")]
    CalledTool,
    /// The model wrote nothing.
    #[error("the reply has no text")]
    Blank,
    /// The model refused.
    #[error("the model refused")]
    Refused,
    /// The reply is about something else than the text; only under the default instructions.
    #[error("the reply has hardly any word of the text")]
    Unrelated,
    /// The reply has a number that the text does not have; only under the default instructions.
    #[error("the reply has a number that the text does not have")]
    InventedNumber,
    /// The reply repeats the request, or itself without end.
    #[error("the reply repeats the request, or itself")]
    Echo,
    /// The reply of several summaries lacks this one.
    #[error("the reply has no summary of the message in the form that was asked for")]
    NotAsAsked,
    /// The reply repeats content that is excluded from summaries.
    #[error("the reply repeats what is excluded from summaries")]
    RepeatsExcluded,
    /// The reply was too long, even when asked again.
    #[error("a reply of {tokens} tokens, of which no sentence fits into {most}")]
    TooLong {
        /// Tokens of the reply.
        tokens: u32,
        /// Most tokens allowed.
        most: u32,
    },
    /// The window holds the instructions and hardly any text.
    #[error("a window of {window} tokens leaves no room for a text to summarize")]
    SmallWindow {
        /// The window.
        window: u32,
    },
}

impl ModelSummarizer {
    /// The default instructions.
    pub const DEFAULT_PROMPT: &str = words::INSTRUCTIONS;

    /// Summaries by `model`, under the default instructions and without limits.
    #[must_use]
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        let (limits, process) = (SpendLimits::default(), Arc::default());
        Self { model, system_prompt: Self::DEFAULT_PROMPT.into(), limits, together: 1, process, compaction: None }
    }

    memory_core::setters! {
        into system_prompt: Arc<str>,
        limits: SpendLimits,
        /// Sets the most messages whose SUMMARYs one request asks for, at most 20; 1 by default, whose replies are plain
        /// text. The replies of several are JSON, which small models may get wrong: a second request repairs what a
        /// reply lacks, and the rest falls back.
        together: usize,
    }

    /// The summary of a job that needs no model.
    fn offline(job: &SummaryJob<'_>) -> Option<WrittenSummary> {
        let is_blank = job.sources.iter().all(|source| source.text.trim().is_empty());
        (job.max_tokens < FEWEST || is_blank).then(|| Spans.write(job).written_by(Spans.identity()))
    }

    /// The text of a summary.
    async fn write(&self, job: &SummaryJob<'_>) -> Result<String, ModelSummaryError> {
        let mut room = self.room(job)?;
        let mut rest = blocks(job.sources);
        let mut notes: VecDeque<Block> = VecDeque::new();
        let mut parts = usize::MAX;
        loop {
            let chunk = take_chunk(&mut rest, room, job.counter);
            let is_all = rest.is_empty() && notes.is_empty();
            let (task, most) = match is_all {
                true => (Task::Summary(job), job.max_tokens),
                // Notes are shorter than their part, so that each round is shorter than the one before.
                false => (Task::Notes, most_notes(job).min(room / 4)),
            };
            match self.asked(job, &task, &chunk, most).await {
                Ok(text) if is_all => return Ok(text),
                Ok(text) => notes.push_back(Block::notes_on(&chunk, text)),
                Err(ModelSummaryError::Chat(ChatError::ContextOverflow { window, prompt_tokens })) => {
                    // The provider's own count says by how much the text is too long.
                    let fitting = prompt_tokens.and_then(|tokens| {
                        u32::try_from(u64::from(room) * u64::from(window) / u64::from(tokens).max(1)).ok()
                    });
                    (room, parts) = (fitting.map_or(room / 2, |fitting| fitting.min(room / 2)), usize::MAX);
                    if room < SMALLEST_PART {
                        return Err(ModelSummaryError::SmallWindow { window });
                    }
                    chunk.into_iter().rev().for_each(|block| rest.push_front(block));
                }
                Err(error) => return Err(error),
            }
            if rest.is_empty() {
                if notes.len() >= parts {
                    // Notes as long as their text would never end.
                    return Err(ModelSummaryError::SmallWindow { window: self.model.context_window() });
                }
                parts = notes.len();
                rest = std::mem::take(&mut notes);
            }
        }
    }

    /// Tokens of text that one request may hold.
    fn room(&self, job: &SummaryJob<'_>) -> Result<u32, ModelSummaryError> {
        let window = self.model.context_window();
        let frame = words::request(&Task::Summary(job), &[], job.max_tokens);
        let asking = job.counter.count(&self.system_prompt).saturating_add(job.counter.count(&frame));
        let taken = asking.saturating_add(most_reply(most_notes(job)));
        let room = (window / 100 * FILLED).saturating_sub(taken);
        if room < SMALLEST_PART { Err(ModelSummaryError::SmallWindow { window }) } else { Ok(room) }
    }

    /// Text of the model about a part, in at most `most` tokens. A reply that is too long is cut after a sentence if
    /// that keeps most of it; otherwise the model is asked once for a shorter one.
    async fn asked(
        &self,
        job: &SummaryJob<'_>,
        task: &Task<'_>,
        chunk: &[Block],
        most: u32,
    ) -> Result<String, ModelSummaryError> {
        let asked = words::request(task, chunk, most);
        let mut messages = vec![Message::user(&asked)];
        let first = self.reply(job, messages.clone(), most).await?;
        let first = self.read(&first, &asked, chunk, job)?;
        if let Some(text) = answer::fitting(&first, most, most / 2, job.counter) {
            return Ok(text);
        }
        messages.push(Message::assistant(&first));
        messages.push(Message::user(words::shorter(most)));
        let second = self.reply(job, messages, most).await?;
        let second = self.read(&second, &asked, chunk, job)?;
        let fitting = |text: &str| answer::fitting(text, most, 1, job.counter);
        let tokens = job.counter.count(&second);
        fitting(&second).or_else(|| fitting(&first)).ok_or(ModelSummaryError::TooLong { tokens, most })
    }

    /// The text of a reply. Instructions of the program's own may ask for another language, or for counts.
    fn read(
        &self,
        reply: &Message,
        asked: &str,
        chunk: &[Block],
        job: &SummaryJob<'_>,
    ) -> Result<String, ModelSummaryError> {
        let text = answer::read(reply, chunk, job.excluded)?;
        let told = [&*self.system_prompt, words::task(asked)];
        if grounded::is_endless(&text) || told.iter().any(|told| grounded::repeats_a_sentence(&text, told)) {
            return Err(ModelSummaryError::Echo);
        }
        if *self.system_prompt == *Self::DEFAULT_PROMPT {
            if grounded::is_unrelated(&text, chunk) {
                return Err(ModelSummaryError::Unrelated);
            }
            if grounded::invents_a_number(&text, chunk) {
                return Err(ModelSummaryError::InventedNumber);
            }
        }
        Ok(text)
    }

    /// One reply, within the limits.
    async fn reply(
        &self,
        job: &SummaryJob<'_>,
        messages: Vec<Message>,
        most: u32,
    ) -> Result<Message, ModelSummaryError> {
        let count = |text: &str| u64::from(job.counter.count(text));
        let asking = messages.iter().map(|message| count(&message.text())).sum::<u64>() + count(&self.system_prompt);
        let most_reply = most_reply(most);
        let estimate = asking + u64::from(most_reply);
        let compaction = self.compaction.clone().unwrap_or_default();
        Spent::take(&self.limits, &compaction, &self.process, estimate)?;
        let request = ChatRequest::new(messages).system(self.system_prompt.to_string()).max_reply_tokens(most_reply);
        let replied = self.model.reply(&request).await;
        let actual = match &replied {
            Ok(ChatReply { message, usage, .. }) => {
                let replied = usage.reply_tokens.map_or_else(|| count(&message.text()), u64::from);
                usage.prompt_tokens.map_or(asking, u64::from) + replied
            }
            Err(_) => 0,
        };
        [&*compaction, &*self.process].into_iter().for_each(|account| account.correct(estimate, actual));
        Ok(replied?.message)
    }
}

/// The most tokens of the notes on a part of a text.
fn most_notes(job: &SummaryJob<'_>) -> u32 {
    job.max_tokens.max(NOTES)
}

/// Tokens that a reply may have. A reply that ends by itself beyond the limit can be cut after a sentence; one that the
/// provider cuts off cannot.
fn most_reply(most: u32) -> u32 {
    most.saturating_mul(2).saturating_add(64)
}

impl Summarizer for ModelSummarizer {
    fn identity(&self) -> WrittenBy {
        let prompt = [words::VERSION.as_bytes(), self.system_prompt.as_bytes()];
        let mut hash = Hash::of_parts(prompt).to_string();
        hash.truncate(8);
        WrittenBy::new(format!("model:{}", self.model.name()), hash)
    }

    fn for_compaction(&self) -> Option<Arc<dyn Summarizer>> {
        Some(Arc::new(Self { compaction: Some(Arc::default()), ..self.clone() }))
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        Box::pin(async move {
            if let Some(offline) = Self::offline(&job) {
                return Ok(offline);
            }
            self.one(&job).await.map_err(|error| SummarizeError::new(self.identity(), error))
        })
    }

    fn most_at_once(&self) -> usize {
        self.together.clamp(1, many::MOST)
    }

    fn summarize_many<'a>(
        &'a self,
        jobs: &'a [SummaryJob<'a>],
    ) -> BoxFuture<'a, Vec<Result<WrittenSummary, SummarizeError>>> {
        Box::pin(async move {
            let written = self.write_many(jobs).await;
            let error = |error| SummarizeError::new(self.identity(), error);
            written.into_iter().map(|written| written.map_err(error)).collect()
        })
    }
}
