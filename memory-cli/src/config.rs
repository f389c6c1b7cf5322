//! What a runtime is put together from.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use directories::ProjectDirs;
use memory_store::{Method, TokenBits};

/// The environment variable that names the store.
pub(crate) const STORE_VARIABLE: &str = "MEMORY_STORE";

/// What a runtime is put together from.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The store's directory.
    pub store: PathBuf,
    /// Whether it is written to.
    pub access: Access,
    /// How the past is searched.
    pub recall: Recall,
    /// How vectors are compared: by scans, by graphs, or by whichever is the faster.
    pub vectors: Method,
    /// How exactly the vectors of tokens are kept, by which the best candidates are compared; `None` to keep none.
    pub tokens: Option<TokenBits>,
    /// The summarizer's name in the registry.
    pub summarizer: String,
    /// The importance scorer's name in the registry.
    pub scorer: String,
    /// Configurations of strategies as JSON text, by name.
    pub configurations: BTreeMap<String, String>,
    /// Directories with strategy plugins.
    pub plugins: Vec<PathBuf>,
    /// The directory with runtime and models; the user's own by default.
    pub models: Option<PathBuf>,
    /// The embedding model, as [`ModelSource`](memory_embed::ModelSource) reads it, or one over a network (`bedrock:…`,
    /// `openai:…`); by default the store's own, and for a new store the best that is there.
    pub model: Option<String>,
    /// The AWS region of a model of Bedrock; the environment's by default.
    pub region: Option<String>,
    /// Whether the key of a model over a network may go over plain http to another machine, where others can read it.
    pub plain_http: bool,
    /// The cross-encoder that reads question and candidates together: its name in the model store, or its directory;
    /// none by default. [`DEFAULT_RERANKER`](crate::DEFAULT_RERANKER) is the one that is meant.
    pub reranker: Option<String>,
    /// The least score on the cross-encoder's scale of a message that it leaves among the hits; all by default.
    pub min_score: Option<f32>,
    /// Bytes of vectors that are kept of texts that were embedded before; none at 0.
    pub embedding_cache_bytes: u64,
    /// How long to wait for another process that is writing.
    pub lock_timeout: Duration,
}

/// Whether a store is written to. Other processes may read and write it at the same time in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Written to, and made if it is not there.
    Write,
    /// Written to; it must be there.
    Existing,
    /// Written to where that is possible, else read: on a medium that takes no writes, and while another process is
    /// stuck in the middle of writing. It must be there.
    Update,
    /// Read; nothing on disk is changed, and nobody is waited for. It must be there.
    Read,
}

/// How the past is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// By words and, where the model is there, by meaning.
    Hybrid,
    /// By words; no model is looked for.
    Words,
}

impl Config {
    /// The defaults over a store.
    #[must_use]
    pub fn new(store: impl Into<PathBuf>, access: Access) -> Self {
        Self {
            store: store.into(),
            access,
            recall: Recall::Hybrid,
            vectors: Method::Fastest,
            tokens: Some(TokenBits::default()),
            summarizer: "spans".to_owned(),
            scorer: "rules".to_owned(),
            configurations: BTreeMap::new(),
            plugins: Vec::new(),
            models: None,
            model: None,
            region: None,
            plain_http: false,
            reranker: None,
            min_score: None,
            embedding_cache_bytes: 256 << 20,
            lock_timeout: Duration::from_secs(10),
        }
    }

    /// The same without looking for a model, for what needs none.
    #[must_use]
    pub fn without_model(mut self) -> Self {
        self.recall = Recall::Words;
        self
    }

    /// Where this user's store is when nothing says otherwise.
    #[must_use]
    pub fn default_store() -> Option<PathBuf> {
        ProjectDirs::from("", "", "memory").map(|dirs| dirs.data_dir().join("store"))
    }
}
