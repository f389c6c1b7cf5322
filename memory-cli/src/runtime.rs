//! The one function that wires the crates together.

use std::sync::Arc;

use memory_core::{BoxFuture, EmbedError, Embedder, ModelId, Retriever, StoreError, VectorIndex};
use memory_embed::{ALL_MINILM_L6_V2, ModelError, ModelStore, OnnxEmbedder, OnnxOptions, TiktokenCounter};
use memory_hooks::{BuildError, Memory};
use memory_plugins::{Registry, UnknownStrategy};
use memory_search::HybridRetriever;
use memory_store::{ExactIndex, LogOptions, LogStore};

use crate::{
    Access, Config, Recall,
    remote_model::{RemoteModelError, remote_embedder},
};

/// Everything that a command or a bench needs, put together.
#[derive(Debug)]
pub struct Runtime {
    /// The log.
    pub store: Arc<LogStore>,
    /// What searches it.
    pub retriever: Arc<dyn Retriever>,
    /// The conversations.
    pub memory: Memory,
}

/// Why a runtime cannot be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model is there and cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model elsewhere cannot be used.
    #[error(transparent)]
    RemoteModel(#[from] RemoteModelError),
    /// No strategy has that name.
    #[error(transparent)]
    Strategy(#[from] UnknownStrategy),
    /// The parts do not make a memory.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Puts a runtime together: the log, the model where it is there, retrieval, strategies, conversations.
///
/// A missing model is no error: recall is by words then, and says so.
///
/// # Errors
/// [`OpenError`]; nothing stays open then.
pub fn open(config: &Config) -> Result<Runtime, OpenError> {
    let store = Arc::new(open_log(config)?);
    let (embedder, index) = match config.recall {
        Recall::Words => (None, None),
        Recall::Hybrid => {
            let embedder = embedder(config)?;
            let vectors = ExactIndex::beside(&store, embedder.model().clone(), embedder.dimensions());
            (Some(embedder), Some(Arc::new(vectors) as Arc<dyn VectorIndex>))
        }
    };
    let retriever: Arc<dyn Retriever> = Arc::new(HybridRetriever::new(store.clone(), embedder, index));
    let registry = registry(config);
    let memory = Memory::builder()
        .store(store.clone())
        .token_counter(Arc::new(TiktokenCounter::cl100k()))
        .retriever(retriever.clone())
        .summarizer(registry.summarizer(&config.summarizer)?)
        .scorer(registry.scorer("rules")?)
        .build()?;
    Ok(Runtime { store, retriever, memory })
}

fn open_log(config: &Config) -> Result<LogStore, StoreError> {
    let store = &config.store;
    let options = LogOptions::default().with_lock_timeout(config.lock_timeout);
    match config.access {
        Access::Write => LogStore::open_with(store, options),
        // Opening for writing would make a store where there is none.
        Access::Existing if store.join("FORMAT").exists() => LogStore::open_with(store, options),
        Access::Update if store.join("FORMAT").exists() => match LogStore::open_with(store, options) {
            Err(error) if takes_no_writes(&error) => {
                tracing::warn!("{error}: going on without writing to it");
                LogStore::open_read_only(store)
            }
            opened => opened,
        },
        Access::Existing | Access::Update | Access::Read => LogStore::open_read_only(store),
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

fn embedder(config: &Config) -> Result<Arc<dyn Embedder>, OpenError> {
    if let Some(name) = &config.model {
        return Ok(remote_embedder(name, config.region.as_deref())?);
    }
    let model = &ALL_MINILM_L6_V2;
    let located = ModelStore::discover(config.models.as_deref()).and_then(|models| models.locate(model));
    match located {
        Ok(files) => Ok(Arc::new(OnnxEmbedder::load(&files, &OnnxOptions::default())?)),
        Err(missing @ (ModelError::Missing { .. } | ModelError::NoCacheDirectory { .. })) => {
            let id = ModelId::new(model.name);
            Ok(Arc::new(AbsentModel { model: id, dimensions: model.dimensions, why: missing.into() }))
        }
        Err(other) => Err(other.into()),
    }
}

/// The built-in strategies and the plugins that can be loaded. A file that is no plugin is passed over: it
/// matters only if its strategy is asked for, and then the name is unknown.
fn registry(config: &Config) -> Registry {
    let mut registry = Registry::with_builtins();
    for directory in &config.plugins {
        for loaded in registry.load_dir(directory) {
            match loaded {
                Ok(plugin) => tracing::debug!(name = plugin.name, version = plugin.version, "plugin loaded"),
                Err(error) => tracing::warn!(%error, "plugin passed over"),
            }
        }
    }
    registry
}

/// Stands in for a model that is not there: the vectors that are cached keep their place, and every question
/// is answered by words with a notice that says how to get the model.
#[derive(Debug)]
struct AbsentModel {
    model: ModelId,
    dimensions: usize,
    why: Missing,
}

/// What is missing and how to get it.
#[derive(Clone, Debug)]
struct Missing {
    what: String,
    how: String,
}

impl From<ModelError> for Missing {
    fn from(error: ModelError) -> Self {
        match EmbedError::from(error) {
            EmbedError::Unavailable { what, how } => Self { what, how },
            other => Self { what: other.to_string(), how: "run `memory model fetch`".to_owned() },
        }
    }
}

impl AbsentModel {
    fn unavailable(&self) -> EmbedError {
        EmbedError::Unavailable { what: self.why.what.clone(), how: self.why.how.clone() }
    }
}

impl Embedder for AbsentModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed_documents<'a>(&'a self, _texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async { Err(self.unavailable()) })
    }

    fn embed_query<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async { Err(self.unavailable()) })
    }
}
