//! The one function that wires the libraries together, and the wired parts.

use std::{io, sync::Arc};

use memory_core::{
    ConversationId, ModelId, NodeId,
    plan::{ManagerNameError, strategy_named},
    port::{
        Clock as _, ConversationState, Detector, Embedder, OwnedStore, PastStore, Reranker, Retriever, Store,
        StoreError, TokenIndex, VectorError, VectorIndex,
    },
};
use memory_embed::{ModelError, TiktokenCounter};
use memory_hooks::{BuildError, MemoryBuilder, SystemClock};
use memory_plugins::{ChooseError, PluginOptions, Registry};
use memory_redact::Rules;
use memory_search::{ArchiveLimits, HybridRetriever, RerankOptions};
use memory_store::{
    AutoIndex, AutoOptions, BlockFiles, ExactIndex, LogOptions, LogStore, QuantizedTokens, must_open_again,
};

pub use crate::derived::derived;
// Libraries that stand only on the facade use the engine's own handles, and the types of their calls.
use crate::{
    Access, Config, Recall,
    background::BackupError,
    chat_models::{self, ChatModelError},
    embedding::{self, RecordError},
    erasing,
    remote_model::RemoteModelError,
    reranking,
    retention::{self, Policies},
    zone::{UnknownZone, ZonedClock},
};
pub use memory_core::Hash;
pub use memory_hooks::{Adopted, Conversation, ForeignSummary, Memory, Misfit};

/// The wired parts, for programs that need more than [`Memory`](crate::Memory) offers: commands and benches. Their
/// futures block on the disk where they are polled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parts {
    /// The log, with the conversations of all owners.
    pub log: Arc<LogStore>,
    /// Conversations that the configuration may see: its owner's, or all.
    pub store: Arc<dyn Store>,
    /// Retriever of these conversations.
    pub retriever: Arc<dyn Retriever>,
    /// The engine.
    pub memory: Memory,
    /// Vectors of messages, if there is an embedding model.
    pub vectors: Option<Arc<dyn VectorIndex>>,
    /// Vectors of messages' tokens, if the model makes them and they are kept.
    pub tokens: Option<Arc<dyn TokenIndex>>,
    pub(crate) retention: Arc<Policies>,
    limits: ArchiveLimits,
}

impl Parts {
    /// Limits of what recall finds in a conversation, by the configuration and the store's
    /// [policies](crate::retention::policies).
    #[must_use]
    pub fn archive_limits(&self, state: &ConversationState) -> ArchiveLimits {
        self.limits.and(self.retention.limits(state, self.memory.clock().now()))
    }

    /// Writes and syncs embeddings that are not on disk yet.
    ///
    /// # Errors
    /// If a file cannot be written; the vectors stay in memory.
    pub async fn flush(&self) -> Result<(), VectorError> {
        if let Some(vectors) = &self.vectors {
            vectors.flush().await?;
        }
        match &self.tokens {
            Some(tokens) => tokens.flush().await,
            None => Ok(()),
        }
    }
}

/// Reasons why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model is present but cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The remote model cannot be used.
    #[error(transparent)]
    RemoteModel(#[from] RemoteModelError),
    /// The store's vectors are of another model than the requested one.
    #[error(
        "the store's vectors are by {recorded}, not by {asked}: run `memory model migrate {name}` to embed everything again"
    )]
    OtherModel {
        /// The model of the store.
        recorded: ModelId,
        /// Requested model.
        asked: ModelId,
        /// Name of the requested model.
        name: String,
    },
    /// The store's record of its embedding model cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The configuration names a chat model that cannot be used.
    #[error(transparent)]
    ChatModel(#[from] ChatModelError),
    /// A strategy cannot be created: no such name, a configuration that it does not accept, or a plugin that refuses to
    /// start.
    #[error(transparent)]
    Strategy(#[from] ChooseError),
    /// The manager cannot be made: an unknown name, or unknown settings.
    #[error(transparent)]
    Manager(#[from] ManagerNameError),
    /// The time zone is unknown.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    /// The store cannot be backed up to the directory of the configuration.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Both a summarizer of the program's own and a model were given.
    #[error(
        "a summarizer of the program's own has its own model and prompt: set either Builder::summarizer or \
         Builder::model_summaries"
    )]
    TwoSummarizers,
    /// A model is to write or judge, and none is set.
    #[error("no model is set: call Builder::chat_model, or name one for summaries alone")]
    NoChatModel,
    /// The parts do not fit together.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// No thread could be started for the calls.
    #[error("no threads to work on")]
    Threads(#[source] io::Error),
}

/// Opens the parts: the log, the model if it is present, retrieval, strategies, conversations.
///
/// A missing model is not an error: recall is by words then, and a notice states it.
///
/// # Errors
/// [`OpenError`]; nothing stays open then.
pub fn open(config: &Config) -> Result<Parts, OpenError> {
    // Configurations are checked before a store is created.
    check_configurations(config)?;
    let store = Arc::new(open_log(config)?);
    let embedder = match config.recall {
        Recall::Words => None,
        Recall::Hybrid => Some(embedding::of_store(config, Some(&*store), store.may_write())?),
    };
    assemble(config, store, embedder)
}

/// Opens the parts over one conversation as it was when it ended with `last`, read-only. Their prompts are those of
/// that time, but with the present summaries and model.
///
/// # Errors
/// [`OpenError`], also if the conversation or the message does not exist.
pub async fn open_past(config: &Config, conversation: &ConversationId, last: NodeId) -> Result<Parts, OpenError> {
    let config = config.clone().access(Access::Read);
    let log = Arc::new(open_log(&config)?);
    let past = PastStore::new(seen(&config, &log), conversation.clone(), last).await?;
    let embedder = match config.recall {
        Recall::Words => None,
        Recall::Hybrid => Some(embedding::of_store(&config, Some(&*log), log.may_write())?),
    };
    // The words on disk are those of the whole conversation, so none are used.
    wire(&config, log, Seen { store: Arc::new(past), words: None }, embedder, None, MemoryBuilder::default())
}

/// Wires the parts over `store` with that embedding model.
///
/// # Errors
/// [`OpenError`]
pub fn assemble(
    config: &Config,
    store: Arc<LogStore>,
    embedder: Option<Arc<dyn Embedder>>,
) -> Result<Parts, OpenError> {
    assemble_with(config, store, embedder, None, MemoryBuilder::default())
}

/// Wires the parts; parts in `own` replace those of the configuration.
pub(crate) fn assemble_with(
    config: &Config,
    store: Arc<LogStore>,
    embedder: Option<Arc<dyn Embedder>>,
    reranker: Option<Arc<dyn Reranker>>,
    own: MemoryBuilder,
) -> Result<Parts, OpenError> {
    let words = (!store.is_in_memory()).then(|| Arc::new(BlockFiles::beside(&store)));
    let seen = Seen { store: seen(config, &store), words };
    let may_write = store.may_write();
    let parts = wire(config, store, seen, embedder, reranker, own)?;
    // The next opening of the store completes an interrupted erasure.
    if may_write && let Err(error) = pollster::block_on(erasing::resume(&parts, config)) {
        tracing::warn!(%error, "an erasure that was interrupted is not completed yet");
    }
    if let Err(error) = pollster::block_on(retention::policies(&parts, config)) {
        tracing::warn!(%error, "recall does without the retention policies");
    }
    Ok(parts)
}

/// Limits of recall by the configuration and by the policies at the time of a search.
fn limits_of(config: &Config, policies: &Arc<Policies>) -> impl Fn(&ConversationState) -> ArchiveLimits + use<> {
    let (fixed, policies) = (config.archive_limits(), Arc::clone(policies));
    move |state| fixed.and(policies.limits(state, SystemClock.now()))
}

/// The least score of the semantic manager, a logit on the cross-encoder's scale.
const SEMANTIC_MIN_SCORE: f32 = -2.0;

/// Visible part of a log.
struct Seen {
    store: Arc<dyn Store>,
    /// Words of the whole log, as far as they are on disk.
    words: Option<Arc<BlockFiles>>,
}

fn wire(
    config: &Config,
    store: Arc<LogStore>,
    Seen { store: seen, words }: Seen,
    embedder: Option<Arc<dyn Embedder>>,
    reranker: Option<Arc<dyn Reranker>>,
    own: MemoryBuilder,
) -> Result<Parts, OpenError> {
    let on_disk = !store.is_in_memory();
    let embedder = embedder.map(|embedder| match on_disk {
        true => embedding::cached(config, &store, embedder),
        false => embedder,
    });
    let vectors = embedder.as_ref().map(|embedder| {
        let options = AutoOptions::default().method(config.vectors);
        let (model, dimensions) = (embedder.model().clone(), embedder.dimensions());
        let index = match on_disk {
            true => ExactIndex::beside(&store, model, dimensions),
            false => ExactIndex::in_memory(model, dimensions),
        };
        Arc::new(AutoIndex::over(index.hold_at_most(config.held_bytes), options)) as Arc<dyn VectorIndex>
    });
    check_configurations(config)?;
    let detector = own.own_detector().unwrap_or_else(|| detector(config, &store));
    let registry = registry(config, embedder.clone());
    let tokens = embedder.as_deref().and_then(|embedder| {
        let index = QuantizedTokens::beside(
            &store,
            embedder.model().clone(),
            embedder.with_tokens()?.token_dimensions(),
            config.tokens.filter(|_| on_disk)?,
        );
        Some(Arc::new(index.hold_at_most(config.held_bytes)) as Arc<dyn TokenIndex>)
    });
    let retention = Arc::new(Policies::default());
    let mut retriever = HybridRetriever::new(seen.clone(), embedder, vectors.clone())
        .detector(detector.clone())
        .hold_words_at_most(config.held_bytes)
        .archive_limits_of(limits_of(config, &retention));
    if let Some(words) = words {
        retriever = retriever.word_cache(words);
    }
    if let Some(tokens) = &tokens {
        retriever = retriever.token_index(Arc::clone(tokens));
    }
    let reranker = match (config.recall, reranker) {
        (Recall::Words, _) => None,
        (Recall::Hybrid, Some(own)) => Some(own),
        (Recall::Hybrid, None) => reranking::load(config)?,
    };
    if let Some(model) = reranker {
        let options = RerankOptions::default();
        let least = config.min_score.or(config.is_semantic().then_some(SEMANTIC_MIN_SCORE));
        let options = least.map_or(options, |least| options.min_score(least));
        retriever = retriever.reranker(model, options);
    }
    let retriever: Arc<dyn Retriever> = Arc::new(retriever);
    // Fallbacks have their default configuration: a configuration belongs to the strategy that was chosen.
    let fallbacks = Registry::with_builtins();
    let by_model = if own.has_summarizer() { None } else { chat_models::summarizer(config)? };
    let prompts_wait = by_model.is_none();
    let summarizer = match by_model {
        Some(summarizer) => summarizer,
        None => registry.summarizer(&config.summarizer)?,
    };
    let memory = Memory::builder()
        .store(seen.clone())
        .token_counter(Arc::new(TiktokenCounter::cl100k()))
        .retriever(retriever.clone())
        .detector(detector)
        .redaction(config.redaction.clone())
        .summarizer(summarizer)
        .prompts_wait(prompts_wait)
        .fallback_summarizer(fallbacks.summarizer(Registry::DEFAULT_SUMMARIZER)?)
        .scorer(registry.scorer(&config.scorer)?)
        .fallback_scorer(fallbacks.scorer(Registry::DEFAULT_SCORER)?)
        .strategy(strategy_named(&config.manager, &config.manager_settings)?);
    let memory = match &config.time_zone {
        Some(name) => memory.clock(Arc::new(ZonedClock::in_zone(name)?)),
        None => memory,
    };
    let memory = own.or(chat_models::with_judge(memory, config)?).build()?;
    let limits = config.archive_limits();
    Ok(Parts { log: store, store: seen, retriever, memory, vectors, tokens, retention, limits })
}

/// The detector of keys and personal data, whose placeholders are the store's own.
fn detector(config: &Config, store: &LogStore) -> Arc<dyn Detector> {
    const PURPOSE: &str = "memory 2026-11-29 placeholders of redacted values";
    let secret = match store.is_in_memory() {
        true => embedding::new_key().map(Some),
        false => embedding::secret(&config.store, PURPOSE, store.may_write()),
    };
    match secret {
        Ok(Some(key)) => Arc::new(Rules::with_key(key)),
        Ok(None) => Arc::new(Rules::default()),
        Err(error) => {
            tracing::warn!(%error, "the store has no key: placeholders have no numbers");
            Arc::new(Rules::default())
        }
    }
}

/// Refuses a configuration of a strategy that is not used.
fn check_configurations(config: &Config) -> Result<(), ChooseError> {
    let is_used = |name: &&String| **name == config.summarizer || **name == config.scorer;
    let Some(name) = config.configurations.keys().find(|name| !is_used(name)) else { return Ok(()) };
    let (name, summarizer, scorer) = (name.clone(), config.summarizer.clone(), config.scorer.clone());
    Err(ChooseError::NotChosen { name, summarizer, scorer })
}

/// The part of the log that the configured owner sees; all of it without an owner.
fn seen(config: &Config, log: &Arc<LogStore>) -> Arc<dyn Store> {
    match &config.owner {
        Some(owner) => Arc::new(OwnedStore::new(log.clone(), owner.clone())),
        None => log.clone(),
    }
}

/// Most tries to open a store that is encrypted or decrypted meanwhile.
const MOST_TRIES: usize = 5;

/// Opens only the log, without the other parts.
///
/// # Errors
/// If the log cannot be opened with this access.
pub fn open_log(config: &Config) -> Result<LogStore, StoreError> {
    let mut tries = 0;
    loop {
        let was_encrypted = LogStore::is_encrypted_at(&config.store);
        match open_log_once(config, was_encrypted) {
            // A store that was encrypted or decrypted meanwhile needs a key now, or none.
            Err(error @ StoreError::Key { .. })
                if tries < MOST_TRIES
                    && (must_open_again(&error) || LogStore::is_encrypted_at(&config.store) != was_encrypted) =>
            {
                tries += 1;
            }
            opened => return opened,
        }
    }
}

fn open_log_once(config: &Config, is_encrypted: bool) -> Result<LogStore, StoreError> {
    let store = &config.store;
    let options = LogOptions::default().lock_timeout(config.lock_timeout);
    let encrypts = config.encrypt && config.access == Access::Write;
    let options = if encrypts { options.encrypt() } else { options };
    // A command is not run, and no passphrase is stretched, for a store that needs no key.
    let key = match &config.key {
        Some(key) if encrypts || is_encrypted => Some(key.read(store)?),
        _ => None,
    };
    let open = |options| LogStore::open_encrypted(store, options, key.as_ref());
    match config.access {
        Access::Write => open(options),
        Access::Existing => open(options.must_exist()),
        Access::Update => match open(options.must_exist()) {
            Err(error) if takes_no_writes(&error) => {
                tracing::warn!("{error}: going on without writing to it");
                LogStore::open_read_only_encrypted(store, key.as_ref())
            }
            opened => opened,
        },
        Access::Read => LogStore::open_read_only_encrypted(store, key.as_ref()),
        Access::Memory => LogStore::in_memory(options),
    }
}

fn takes_no_writes(error: &StoreError) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    match error {
        StoreError::Locked { .. } => true,
        StoreError::Io { source, .. } => matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem),
        _ => false,
    }
}

/// The built-in strategies and the loadable plugins. A plugin that cannot be loaded is skipped: its strategy's name is
/// then unknown, which matters only if it is asked for.
fn registry(config: &Config, embedder: Option<Arc<dyn Embedder>>) -> Registry {
    let mut options = PluginOptions::default();
    options.configurations.clone_from(&config.configurations);
    options.embedder = embedder;
    let mut registry = Registry::with_options(options);
    for directory in &config.plugins {
        for loaded in registry.load_dir(directory) {
            match loaded {
                Ok(plugin) => tracing::debug!(name = plugin.name, version = plugin.version, "plugin loaded"),
                Err(error) => tracing::warn!(%error, "plugin skipped"),
            }
        }
    }
    registry
}
