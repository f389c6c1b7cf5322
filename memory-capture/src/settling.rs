//! Appending to one conversation, and the work after it: summaries, embeddings, figures.

use std::{
    mem,
    time::{Duration, Instant},
};

use memory::{
    ConversationId, ConversationStats, Message, Timestamp,
    parts::{Conversation, Parts},
    port::Progress,
};

use crate::{
    Error, ImportNotice, SummaryCounts, appender::of_erased, erased::ErasedElsewhere, notice::RefusedMessages,
};

/// Messages that are appended as one batch.
pub(crate) const BATCH: usize = 512;
/// Bytes of messages after which a batch is appended, even if they are few.
pub(crate) const BATCH_BYTES: usize = 4 << 20;

/// Stage of an import, whose progress is counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Messages are read and checked; their total is unknown.
    Reading,
    /// Messages are appended.
    Appending,
    /// Summaries are written.
    Compacting,
    /// Messages are embedded.
    Embedding,
}

/// Progress of an import by its stages. Any [`Progress`] implements it, and is then used in each stage.
pub trait Stages: Sync {
    /// Begins a stage; the result is dropped at the stage's end.
    fn begin(&self, stage: Stage) -> Box<dyn Progress + '_>;
}

impl<P: Progress> Stages for P {
    fn begin(&self, _stage: Stage) -> Box<dyn Progress + '_> {
        Box::new(SharedProgress(self))
    }
}

/// Progress of a stage that reports to the progress of all stages.
struct SharedProgress<'a, P>(&'a P);

impl<P: Progress> Progress for SharedProgress<'_, P> {
    fn report(&self, done: u64, total: u64) {
        self.0.report(done, total);
    }
}

/// Steps after everything was appended; later calls do the omitted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Afterwards {
    /// True if summaries are written.
    pub summarize: bool,
    /// True if messages are embedded.
    pub embed: bool,
}

impl Default for Afterwards {
    fn default() -> Self {
        Self { summarize: true, embed: true }
    }
}

impl Afterwards {
    memory::setters! { const summarize: bool, const embed: bool }
}

/// Report of importing one conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportedConversation {
    /// Id of the conversation in the store.
    pub id: ConversationId,
    /// Number of messages that were read.
    pub read: usize,
    /// Number of messages that were not there before.
    pub new: usize,
    /// Number of messages that the memory's redaction refused.
    pub refused: usize,
    /// True if this import archived the conversation, in which no person spoke.
    pub is_archived: bool,
    /// Summaries of the other program.
    pub summaries: SummaryCounts,
    /// Figures of the whole conversation.
    pub stats: ConversationStats,
    /// Time of appending.
    pub append: Duration,
    /// Time of writing summaries.
    pub compact: Duration,
    /// Time of embedding.
    pub index: Duration,
    /// Notices of the import.
    pub notices: Vec<ImportNotice>,
}

/// Messages that were appended to a conversation.
pub(crate) struct Appending {
    pub(crate) read: usize,
    pub(crate) new: usize,
    pub(crate) refused: usize,
    pub(crate) append: Duration,
}

/// Compacts and indexes a conversation to which everything was appended.
pub(crate) async fn settle(
    conversation: &Conversation,
    Appending { read, new, refused, append }: Appending,
    mut notices: Vec<ImportNotice>,
    afterwards: Afterwards,
    stages: &dyn Stages,
) -> Result<ImportedConversation, Error> {
    if new == 0 && conversation.overview().await.is_err_and(|error| error.is_not_found()) {
        // All of it was erased from another conversation, so that there is nothing to begin this one with.
        let (id, none) = (conversation.id().clone(), Duration::ZERO);
        let (summaries, stats) = (SummaryCounts::default(), ConversationStats::default());
        return Ok(ImportedConversation {
            id,
            read,
            new,
            refused,
            is_archived: false,
            summaries,
            stats,
            append,
            compact: none,
            index: none,
            notices,
        });
    }
    let mut started = Instant::now();
    let mut lap = || mem::replace(&mut started, Instant::now()).elapsed();
    if afterwards.summarize {
        let progress = stages.begin(Stage::Compacting);
        // The messages are stored; summaries can be written later, by the next prompt at the latest.
        match conversation.compact_with(&*progress).await {
            Ok(report) if report.is_left_to_another => {
                let why = "background work on the store is being done elsewhere".to_owned();
                notices.push(ImportNotice::NotCompacted { why });
            }
            Ok(_) => {}
            Err(error) => notices.push(ImportNotice::NotCompacted { why: error.to_string() }),
        }
    }
    let compact = lap();
    if afterwards.embed {
        let progress = stages.begin(Stage::Embedding);
        let indexed = conversation.index_with(&*progress).await?;
        notices.extend(indexed.notices.into_iter().map(ImportNotice::Memory));
    }
    let index = lap();
    let stats = conversation.stats().await?;
    let summaries = SummaryCounts::default();
    Ok(ImportedConversation {
        id: conversation.id().clone(),
        read,
        new,
        refused,
        is_archived: false,
        summaries,
        stats,
        append,
        compact,
        index,
        notices,
    })
}

/// Times of messages: one without a time gets that of the message before it, and before the first known time the
/// unknown one, since no time is invented.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times(Timestamp);

impl Times {
    /// Time of the next message, which states `at`.
    pub fn next(&mut self, at: Option<Timestamp>) -> Timestamp {
        self.0 = at.unwrap_or(self.0);
        self.0
    }
}

/// Appender of the caller's own messages to one conversation, in batches. Messages that [`finish`](Self::finish) did
/// not flush are not appended.
#[allow(missing_debug_implementations, reason = "progress has no text")]
pub struct ConversationAppender<'a> {
    parts: Parts,
    erased_elsewhere: ErasedElsewhere,
    conversation: Conversation,
    batch: Vec<(Message, Timestamp)>,
    /// Bytes of the batch.
    bytes: usize,
    times: Times,
    total: usize,
    done: usize,
    new: usize,
    erased: usize,
    refused: RefusedMessages,
    started: Instant,
    stages: &'a dyn Stages,
    /// Progress; `None` once everything was appended.
    progress: Option<Box<dyn Progress + 'a>>,
}

impl<'a> ConversationAppender<'a> {
    pub(crate) fn new(parts: &Parts, id: ConversationId, total: usize, stages: &'a dyn Stages) -> Self {
        Self {
            parts: parts.clone(),
            erased_elsewhere: ErasedElsewhere::default(),
            conversation: parts.memory.conversation(id),
            batch: Vec::new(),
            bytes: 0,
            times: Times::default(),
            total,
            done: 0,
            new: 0,
            erased: 0,
            refused: RefusedMessages::default(),
            started: Instant::now(),
            stages,
            progress: Some(stages.begin(Stage::Appending)),
        }
    }

    /// Takes the next message, read at `place` and said `at`; `bytes` bound the messages that wait in memory. One that
    /// the memory's redaction refuses is counted, and left out.
    ///
    /// # Errors
    /// [`Error::CutShort`] if a batch cannot be appended.
    pub async fn take(
        &mut self,
        message: Message,
        place: &str,
        at: Option<Timestamp>,
        bytes: usize,
    ) -> Result<(), Error> {
        let at = self.times.next(at);
        let message = match self.conversation.redacted(message).await {
            Ok(message) => message,
            Err(memory::Error::Refused { class }) => {
                self.done += 1;
                self.refused.add(place.to_owned(), class);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.batch.push((message, at));
        self.bytes += bytes;
        if self.batch.len() >= BATCH || self.bytes >= BATCH_BYTES {
            return self.flush().await;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Error> {
        let mut batch = mem::take(&mut self.batch);
        self.bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let size = batch.len();
        let gone = self.erased_elsewhere.take_from(&*self.parts.store, self.conversation.id(), &mut batch).await?;
        self.erased += gone;
        if batch.is_empty() {
            self.done += size;
            return Ok(());
        }
        // Batches before this one are on disk.
        let appended = self.conversation.append_batch(batch).await.map_err(|source| Error::CutShort {
            conversation: self.conversation.id().clone(),
            done: self.done,
            total: self.total,
            source,
        })?;
        self.done += size;
        self.new += appended.iter().filter(|appended| appended.is_new).count();
        self.erased += appended.iter().filter(|appended| appended.is_erased).count();
        if let Some(progress) = &self.progress {
            progress.report(self.done as u64, self.total as u64);
        }
        Ok(())
    }

    /// Appends the rest; then compacts and indexes as `afterwards` says.
    ///
    /// # Errors
    /// [`Error::CutShort`], and if the store or the embedding model fails. A failed summary is a notice.
    pub async fn finish(mut self, afterwards: Afterwards) -> Result<ImportedConversation, Error> {
        self.flush().await?;
        drop(self.progress.take());
        let Self { conversation, total: read, new, erased, refused, started, stages, .. } = self;
        let messages = read - new - erased - refused.count;
        let there = ImportNotice::ThereBefore { conversation: conversation.id().clone(), messages, read, new };
        let mut notices = if messages > 0 { vec![there] } else { Vec::new() };
        notices.extend(of_erased(conversation.id(), erased));
        notices.extend(refused.notice(conversation.id()));
        let append = started.elapsed();
        settle(&conversation, Appending { read, new, refused: refused.count, append }, notices, afterwards, stages)
            .await
    }
}
