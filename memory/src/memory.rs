//! A memory: all conversations of a store, with the threads that serve them.

use std::{
    future::Future,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use memory_core::{
    ConversationId, ConversationState, HeldInMemory, InvalidConversationId, Lease, Query, RetrieveError, Retrieved,
    Store, StoreError,
};
use memory_hooks::{ListOptions, Listing};
use memory_search::{FindRequest, Found};

use crate::{
    BackgroundFailure, Builder, Config, Conversation, Documents, Error, OpenError, Usage,
    background::{Background, BackupPlan, Failures},
    parts::{Parts, derived},
    pool::{Pool, is_ours},
    words_only::WordsOnly,
};

/// How long dropping the last handle waits for calls and background work to come to their end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long [`Memory::catch_up`] waits before it looks again whether others are done.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Opens the memory in the directory `store`, which is created if it is missing, as the `memory` binary does: with the
/// embedding model that the store records, or the best one on this machine for a new store.
///
/// Opening reads files and may load a model: some tenths of a second, on this thread. Without a model recall is by
/// words, and the first answer states so. [`Builder`] opens it in other ways.
///
/// # Errors
/// [`OpenError`]; nothing stays open then.
pub fn open(store: impl Into<PathBuf>) -> Result<Memory, OpenError> {
    Builder::new(store).open()
}

/// All conversations of a store. Cheap to clone; clones share everything.
///
/// Its calls work under any async executor, since they run on threads of the memory's own and the caller only waits. A
/// call runs to its end even if its future is dropped after it was polled.
///
/// Summaries are written and messages are embedded in the background, unless [`Builder::background`] turns it off or
/// the store takes no writes. Only one process at a time does so for a store. Embeddings are on
/// disk a few seconds later at most.
///
/// Dropping the last handle, a memory or a conversation, stops the background, waits up to five seconds for calls
/// that are still running, and writes to disk what was embedded. It may be dropped in async code.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Inner>);

/// State that handles share.
#[derive(Debug)]
struct Inner {
    parts: Parts,
    pool: Pool,
    /// `None` if it is turned off, and while this is being dropped.
    background: Option<Background>,
    failures: Arc<Failures>,
    words_only: Arc<WordsOnly>,
    config: Config,
}

/// Parts that a builder opened.
pub(crate) struct Opened {
    pub(crate) parts: Parts,
    pub(crate) failures: Arc<Failures>,
    pub(crate) background: bool,
    /// Backups to make while it is open.
    pub(crate) backups: Option<BackupPlan>,
    pub(crate) config: Config,
}

impl Memory {
    /// Starts the threads of a memory.
    pub(crate) fn start(opened: Opened) -> Result<Self, OpenError> {
        let Opened { parts, failures, background, backups, config } = opened;
        let pool = Pool::start().map_err(OpenError::Threads)?;
        let background = background.then(|| Background::start(&pool, &parts, &failures, backups));
        let words_only = Arc::default();
        Ok(Self(Arc::new(Inner { parts, pool, background, failures, words_only, config })))
    }

    /// The conversation of that name, which begins with its first message.
    ///
    /// # Errors
    /// When no conversation can have that name.
    pub fn conversation(&self, name: &str) -> Result<Conversation, InvalidConversationId> {
        Ok(Conversation::new(self.clone(), self.0.parts.memory.conversation(ConversationId::new(name)?)))
    }

    /// A conversation under a new name (UUIDv7).
    ///
    /// # Errors
    /// When the system provides no randomness.
    pub fn new_conversation(&self) -> Result<Conversation, getrandom::Error> {
        Ok(Conversation::new(self.clone(), self.0.parts.memory.new_conversation()?))
    }

    /// The documents in the conversation `name`, which begins with the first change.
    ///
    /// # Errors
    /// When no conversation can have that name.
    pub fn documents(&self, name: &str) -> Result<Documents, InvalidConversationId> {
        Documents::new(self.clone(), self.0.parts.memory.documents(ConversationId::new(name)?))
    }

    /// The configuration that it was opened with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// True if the store takes writes.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.0.parts.log.may_write()
    }

    /// How many tokens `text` has, by the counter that budgets are counted with.
    #[must_use]
    pub fn count_tokens(&self, text: &str) -> u32 {
        self.0.parts.memory.token_counter().count(text)
    }

    /// The states of all conversations, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn conversations(&self) -> Result<Vec<ConversationState>, Error> {
        let store = Arc::clone(&self.0.parts.store);
        self.run(async move { Ok(store.conversations().await?) }).await
    }

    /// The conversations with their titles, the last one spoken in first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, options: ListOptions) -> Result<Listing, Error> {
        let memory = self.0.parts.memory.clone();
        self.run(async move { Ok(memory.list(&options).await?) }).await
    }

    /// The existing conversation that `name` means: `last`, an id, the beginning of one, or a title.
    ///
    /// # Errors
    /// [`MemoryError::Ambiguous`](memory_hooks::MemoryError::Ambiguous) with the candidates where several are meant; an
    /// error that [is not found](Error::is_not_found) where none is; or when the store fails.
    pub async fn resume(&self, name: &str) -> Result<Conversation, Error> {
        let (memory, name) = (self.0.parts.memory.clone(), name.to_owned());
        let found = self.run(async move { Ok(memory.conversation(memory.resolve(&name).await?)) }).await?;
        Ok(Conversation::new(self.clone(), found))
    }

    /// The messages that answer a question best, in the conversations and under the filter of `query`.
    ///
    /// # Errors
    /// When the retriever fails.
    pub async fn search(&self, query: Query) -> Result<Retrieved, Error> {
        let (memory, words_only) = (self.0.parts.memory.clone(), Arc::clone(&self.0.words_only));
        self.run(async move {
            let mut found = memory.search(&query).await?;
            words_only.once(&mut found.notices);
            Ok(found)
        })
        .await
    }

    /// The matches of a regular expression in the conversations of `request`, as [`memory_search::find`] finds them.
    ///
    /// # Errors
    /// When the pattern is not valid, a range is given for several conversations, or the store fails.
    pub async fn find(&self, request: FindRequest) -> Result<Found, Error> {
        let store = Arc::clone(&self.0.parts.store);
        self.run(async move { Ok(memory_search::find(&*store, &request).await?) }).await
    }

    /// Does now what is otherwise done in the background: writes the summaries that are due in every conversation,
    /// indexes every message, and writes all of it to disk.
    ///
    /// # Errors
    /// When the store, a strategy or the model fails; when another process does background work for longer than
    /// [`Config::lock_timeout`](crate::Config::lock_timeout) ([`StoreError::Locked`]).
    pub async fn catch_up(&self) -> Result<(), Error> {
        let (parts, lock_timeout) = (self.0.parts.clone(), self.0.config.lock_timeout);
        self.run(catch_up(parts, lock_timeout)).await
    }

    /// Writes to disk what was embedded and is not there yet.
    ///
    /// # Errors
    /// When a file cannot be written; the vectors stay in memory.
    pub async fn flush(&self) -> Result<(), Error> {
        let parts = self.0.parts.clone();
        self.run(async move { Ok(parts.flush().await.map_err(RetrieveError::from)?) }).await
    }

    /// Words, vectors and token vectors that this process holds in memory, each with its limit
    /// ([`Config::held_bytes`](crate::Config::held_bytes)).
    #[must_use]
    pub fn held(&self) -> Vec<HeldInMemory> {
        self.0.parts.retriever.held()
    }

    /// Bytes that the store takes on disk and in memory; `None` where an owner sees only a part of it, who learns
    /// nothing of the others, not even how much they have.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn usage(&self) -> Result<Option<Usage>, Error> {
        let (parts, config) = (self.0.parts.clone(), self.0.config.clone());
        self.run(async move {
            if config.owner.is_some() {
                return Ok(None);
            }
            let derived = derived(&config, &parts.log);
            Ok(Some(Usage::of(&parts.log, &derived, config.held_bytes).await?))
        })
        .await
    }

    /// Background work that failed and has not succeeded since, most often none. It is tried again by itself; each
    /// failure is also logged.
    #[must_use]
    pub fn failures(&self) -> Vec<BackgroundFailure> {
        self.0.failures.all()
    }

    /// The parts that this memory is made of, for what it has no method for. Their futures block on the disk where they
    /// are polled: give them to [`Self::run`].
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.0.parts
    }

    /// Runs `work` on a thread of this memory, to its end, and gives what it returns.
    ///
    /// # Errors
    /// Errors of `work`, and [`Error::Interrupted`].
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.pool.call(work).await?
    }

    pub(crate) fn words_only(&self) -> Arc<WordsOnly> {
        Arc::clone(&self.0.words_only)
    }

    /// Reports that a conversation grew by other means than the calls of this memory, such as through its
    /// [`parts`](Self::parts), so that the background summarizes and indexes it.
    pub fn report_growth(&self, conversation: ConversationId) {
        self.on_append()(conversation);
    }

    /// Gives a function by which a call reports that it appended to a conversation.
    pub(crate) fn on_append(&self) -> impl FnOnce(ConversationId) + Send + 'static {
        let due = self.0.background.as_ref().map(Background::due);
        move |conversation| {
            if let Some(due) = due {
                // Where the background is being stopped, the next process does it.
                drop(due.send(conversation));
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Stops it.
        self.background = None;
        // A call that drops the last handle would wait for itself.
        if !is_ours() && !self.pool.wait(Instant::now() + PATIENCE) {
            tracing::warn!("a memory was closed while it was in use: what was running goes on without it");
        }
        if let Err(error) = pollster::block_on(self.parts.flush()) {
            tracing::warn!(%error, "what was embedded last is not kept, and is embedded again");
        }
    }
}

/// Compacts and indexes all conversations, and flushes.
async fn catch_up(parts: Parts, lock_timeout: Duration) -> Result<(), Error> {
    let _lease = lease(&*parts.store, Instant::now() + lock_timeout).await?;
    for state in parts.store.conversations().await?.into_iter().filter(|state| !state.is_companion()) {
        let conversation = parts.memory.conversation(state.id);
        conversation.index(&()).await?;
        // Since this process has the lease, another task of it is at work.
        while conversation.compact(&()).await?.is_left_to_another {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
    Ok(parts.flush().await.map_err(RetrieveError::from)?)
}

/// The lease for background work, which is waited for until `deadline`.
async fn lease(store: &dyn Store, deadline: Instant) -> Result<Lease, StoreError> {
    loop {
        match store.lease().await {
            Err(StoreError::Locked { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
            answered => return answered,
        }
    }
}
