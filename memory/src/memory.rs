//! A memory: all conversations of a store, with the threads that serve them.

use std::{
    ops::Deref,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use memory_core::{
    ConversationId, ErasureId, InvalidConversationId,
    port::{BoxFuture, CachedInMemory, Embedder, Lease, RetrieveError, Spawner, Store, StoreError},
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{
    BackgroundFailure, Builder, Config, Conversation, Documents, Error, OpenError, Usage,
    background::{Background, BackupPlan, Failures},
    erasing::{self, EraseError, EraseOptions, EraseRequest, ErasurePlan, Receipt, ReceiptCheck},
    parts::{Parts, derived},
    pool::{Pool, is_ours},
    retention::{self, OwnedPolicy, RetentionError, RetentionPolicy, RetentionReport},
};

/// Time that dropping the last handle waits for calls and background work to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between looks of [`Memory::catch_up`] at work that others do.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Opens the memory in the directory `store`, which is created if it is missing, as the `memory` binary does: with the
/// embedding model that the store records, or the best one on this machine for a new store.
///
/// Opening reads files and may load a model: some tenths of a second, on this thread. Without a model recall is by
/// words, and the first answer states so. [`Builder`] offers other ways to open.
///
/// # Errors
/// [`OpenError`]; nothing stays open then.
pub fn open(store: impl Into<PathBuf>) -> Result<Memory, OpenError> {
    Builder::new(store).open()
}

/// All conversations of a store. Cheap to clone; clones share everything. Further methods are those of the
/// [engine](memory_hooks::Memory).
///
/// Calls work under any async executor, since they run on threads of the memory's own and the caller only waits. A call
/// runs to its end even if its future is dropped after it was polled. The same is true of the conversations, documents
/// and invocations of a memory.
///
/// Summaries are written and messages are embedded in the background, unless [`Builder::background`] turns it off or
/// the store takes no writes. Only one process at a time does so for a store. Embeddings are on disk a few seconds
/// later at most.
///
/// Dropping the last handle, a memory or a conversation, stops the background, waits up to five seconds for running
/// calls, and writes new embeddings to disk. The drop may happen in async code.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The engine, with the threads of `shared`.
    engine: memory_hooks::Memory,
    shared: Arc<Shared>,
}

/// Shared state of the handles, such as the threads of their calls.
#[derive(Debug)]
struct Shared {
    parts: Parts,
    embedder: Option<Arc<dyn Embedder>>,
    pool: Pool,
    /// The background; `None` if it is turned off, and while this is being dropped.
    background: Option<Background>,
    failures: Arc<Failures>,
    config: Config,
}

/// Parts that a builder opened.
pub(crate) struct Opened {
    pub(crate) parts: Parts,
    /// The embedding model, for a store in memory.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) failures: Arc<Failures>,
    /// Conversations that grow, for the background; `None` without background.
    pub(crate) grown: Option<UnboundedReceiver<ConversationId>>,
    /// Backups to make while the memory is open.
    pub(crate) backups: Option<BackupPlan>,
    pub(crate) config: Config,
}

impl Deref for Memory {
    type Target = memory_hooks::Memory;

    fn deref(&self) -> &memory_hooks::Memory {
        &self.engine
    }
}

impl Memory {
    /// Starts the threads of a memory.
    pub(crate) fn start(opened: Opened) -> Result<Self, OpenError> {
        let Opened { parts, embedder, failures, grown, backups, config } = opened;
        let pool = Pool::start().map_err(OpenError::Threads)?;
        let background = grown.map(|grown| Background::start(&pool, &parts, grown, &failures, backups, &config));
        let engine = parts.memory.clone();
        let shared = Arc::new(Shared { parts, embedder, pool, background, failures, config });
        Ok(Self { engine: engine.on_threads(Arc::<Shared>::clone(&shared)), shared })
    }

    /// The conversation of that name, which begins with its first message.
    ///
    /// # Errors
    /// If no conversation can have that name.
    pub fn conversation(&self, name: &str) -> Result<Conversation, InvalidConversationId> {
        Ok(self.engine.conversation(ConversationId::new(name)?))
    }

    /// The documents in the conversation `name`, which begins with the first change if it is not there.
    ///
    /// # Errors
    /// If no conversation can have that name.
    pub fn documents(&self, name: &str) -> Result<Documents, InvalidConversationId> {
        Ok(self.engine.documents(ConversationId::new(name)?))
    }

    /// A memory that lives in this process alone: nothing of its conversations reaches a file, and all of it ends with
    /// the last handle. It has the configuration and the embedding model of this one, and none of its conversations,
    /// hooks or other parts of the program's own; [`Builder`] opens one with those
    /// ([`Config::in_memory`](crate::Config::in_memory)). The system may still write memory to its swap.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn ephemeral(&self) -> Result<Self, OpenError> {
        let config = self.shared.config.clone().in_memory();
        let builder = Builder::of(config);
        match self.shared.embedder.clone() {
            Some(embedder) => builder.embedder(embedder).open(),
            None => builder.open(),
        }
    }

    /// The configuration that the memory was opened with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// True if the store takes writes.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.shared.parts.log.may_write()
    }

    /// Does all background work at once: writes the due summaries of every conversation, indexes every message, and
    /// writes all of it to disk.
    ///
    /// # Errors
    /// If the store, a strategy or the model fails; if another process does background work for longer than
    /// [`Config::lock_timeout`](crate::Config::lock_timeout) ([`StoreError::Locked`]).
    pub async fn catch_up(&self) -> Result<(), Error> {
        let (parts, lock_timeout) = (self.shared.parts.clone(), self.shared.config.lock_timeout);
        self.run(catch_up(parts, lock_timeout)).await
    }

    /// Writes embeddings to disk that are not there yet.
    ///
    /// # Errors
    /// If a file cannot be written; the vectors stay in memory.
    pub async fn flush(&self) -> Result<(), Error> {
        let parts = self.shared.parts.clone();
        self.run(async move { Ok(parts.flush().await.map_err(RetrieveError::from)?) }).await
    }

    /// Words, vectors and token vectors that this process holds in memory, each with its limit
    /// ([`Config::held_bytes`](crate::Config::held_bytes)).
    #[must_use]
    pub fn held(&self) -> Vec<CachedInMemory> {
        self.shared.parts.retriever.held()
    }

    /// Bytes that the store takes on disk and in memory; `None` for a memory with an owner, who must learn nothing of
    /// the others, not even how much they have.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn usage(&self) -> Result<Option<Usage>, Error> {
        let (parts, config) = (self.shared.parts.clone(), self.shared.config.clone());
        self.run(async move {
            if config.owner.is_some() {
                return Ok(None);
            }
            let derived = derived(&config, &parts.log);
            Ok(Some(Usage::of(&parts.log, &derived, config.held_bytes).await?))
        })
        .await
    }

    /// The plan for `request`, to be looked at before [`erase`](Self::erase). Nothing is written.
    ///
    /// # Errors
    /// If a conversation does not exist, or the store fails.
    pub async fn plan_erasure(&self, request: EraseRequest) -> Result<ErasurePlan, EraseError> {
        let parts = self.shared.parts.clone();
        self.run(async move { Ok(erasing::plan(&parts, &request).await) }).await?
    }

    /// Erases what the plan lists, for good, and returns the receipt. From the moment that it is recorded, nothing reads
    /// it, in any process; then its bytes go from every file of the store and from the backups that the options name, and
    /// all files are searched for them. An erasure that is interrupted is completed when the store is opened next.
    ///
    /// # Errors
    /// [`EraseError`]; where that says so, the erasure is in effect and only its bytes are left.
    pub async fn erase(&self, plan: ErasurePlan, options: EraseOptions) -> Result<Receipt, EraseError> {
        let (parts, config) = (self.shared.parts.clone(), self.shared.config.clone());
        self.run(async move { Ok(erasing::erase(&parts, &config, plan, options).await) }).await?
    }

    /// The receipts of all erasures, the last one first.
    ///
    /// # Errors
    /// If the store fails, or a receipt was changed.
    pub async fn receipts(&self) -> Result<Vec<Receipt>, EraseError> {
        let (parts, config) = (self.shared.parts.clone(), self.shared.config.clone());
        self.run(async move { Ok(erasing::receipts(&parts, &config).await) }).await?
    }

    /// Checks a receipt against the store. Reads all of the log.
    ///
    /// # Errors
    /// [`EraseError::NoReceipt`], and if the store fails.
    pub async fn check_receipt(&self, id: ErasureId) -> Result<ReceiptCheck, EraseError> {
        let (parts, config) = (self.shared.parts.clone(), self.shared.config.clone());
        self.run(async move { Ok(erasing::check_receipt(&parts, &config, id).await) }).await?
    }

    /// The retention policies in force.
    ///
    /// # Errors
    /// If the store fails, or the text of policies is damaged.
    pub async fn retention(&self) -> Result<Vec<OwnedPolicy>, RetentionError> {
        let (parts, config) = (self.shared.parts.clone(), self.shared.config.clone());
        self.run(async move { Ok(retention::policies(&parts, &config).await) }).await.map_err(EraseError::from)?
    }

    /// Sets the retention policy of its scope, in the place of an earlier one; without limits it ends there. Limits
    /// hold at once; what a policy erases goes with [`apply_retention`](Self::apply_retention), which a memory that is
    /// open does once a day.
    ///
    /// # Errors
    /// [`RetentionError`]
    pub async fn set_retention(&self, policy: RetentionPolicy) -> Result<Vec<OwnedPolicy>, RetentionError> {
        let (parts, config) = (self.shared.parts.clone(), self.shared.config.clone());
        let set = async move { Ok(retention::set_policy(&parts, &config, policy).await) };
        self.run(set).await.map_err(EraseError::from)?
    }

    /// Applies the retention policies: what is over a limit of one that erases is erased, with a receipt. With `dry_run`
    /// nothing is written.
    ///
    /// # Errors
    /// [`RetentionError`]
    pub async fn apply_retention(&self, dry_run: bool) -> Result<RetentionReport, RetentionError> {
        let (parts, config) = (self.shared.parts.clone(), self.shared.config.clone());
        self.run(async move { Ok(retention::run(&parts, &config, dry_run).await) }).await.map_err(EraseError::from)?
    }

    /// Background work that failed and has not succeeded since, most often none. Retries need no call; each failure is
    /// also logged.
    #[must_use]
    pub fn failures(&self) -> Vec<BackgroundFailure> {
        self.shared.failures.all()
    }

    /// The parts of this memory, for work that it has no method for. Their futures block on the disk where they are
    /// polled: pass them to [`run`](memory_hooks::Memory::run).
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.shared.parts
    }
}

impl Spawner for Shared {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        self.pool.spawn(work);
    }

    fn is_current(&self) -> bool {
        is_ours()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Dropping the background stops it.
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
    for state in parts.store.conversations().await?.into_iter().filter(|state| !state.is_of_notes()) {
        let conversation = parts.memory.conversation(state.id);
        conversation.index().await?;
        // The lease is this process's, so another task of it is at work.
        while conversation.compact().await?.is_left_to_another {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
    Ok(parts.flush().await.map_err(RetrieveError::from)?)
}

/// The lease for background work, awaited until `deadline`.
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
