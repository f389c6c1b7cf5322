//! Configuration: the place of the store, and the ways to read it.

use std::{collections::BTreeMap, fmt, num::NonZeroU32, path::PathBuf, time::Duration};

use directories::ProjectDirs;
use memory_core::OwnerId;
use memory_hooks::Redaction;
use memory_search::ArchiveLimits;
use memory_store::{Method, TokenBits};

use crate::encryption::KeySource;

/// Default hours between two backups: one backup a day.
const DAILY: NonZeroU32 = NonZeroU32::MIN.saturating_add(23);

/// Configuration of a memory: the place of its store, and the ways to read it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The store's directory.
    pub store: PathBuf,
    /// Access to the store.
    pub access: Access,
    /// Owner whose conversations are seen and begun; `None` to see all, and to begin ones without an owner.
    pub owner: Option<OwnerId>,
    /// Method of recall.
    pub recall: Recall,
    /// Method of comparing vectors: by scans, by graphs, or by the faster of the two.
    pub vectors: Method,
    /// Bits of the token vectors that are kept for late interaction; `None` to keep no token vectors.
    pub tokens: Option<TokenBits>,
    /// Name of the manager, which decides on summaries and views: one of [`MANAGERS`](memory_core::plan::MANAGERS).
    pub manager: String,
    /// The manager's settings as a JSON object, whose members are the fields of its type; empty for the defaults.
    pub manager_settings: String,
    /// The summarizer's name in the registry.
    pub summarizer: String,
    /// The importance scorer's name in the registry.
    pub scorer: String,
    /// Configurations of strategies as JSON text, by name.
    pub configurations: BTreeMap<String, String>,
    /// Directories with strategy plugins.
    pub plugins: Vec<PathBuf>,
    /// The directory of the runtime and the models; the user's own by default.
    pub models: Option<PathBuf>,
    /// The embedding model, as [`ModelSource`](memory_embed::ModelSource) parses it, or a remote one (`bedrock:…`,
    /// `openai:…`). By default the store's own, and for a new store the best one that is present.
    pub model: Option<String>,
    /// Chat models: who writes summaries, and the limits of what is spent. None by default, and nothing is asked.
    pub chat: ChatSettings,
    /// The AWS region of a Bedrock model; the environment's by default.
    pub region: Option<String>,
    /// True if the key of a remote model may be sent over plain http to another machine, where others can read it.
    pub plain_http: bool,
    /// The cross-encoder that reads question and candidates together: its name in the model store, or its directory;
    /// `None` by default. [`DEFAULT_RERANKER`](crate::models::DEFAULT_RERANKER) is the recommended one.
    pub reranker: Option<String>,
    /// The least score, on the cross-encoder's scale, of a message among the hits; all messages by default.
    pub min_score: Option<f32>,
    /// The most messages of a conversation that recall finds; no limit by default. The oldest are evicted from it
    /// first; the log keeps them all.
    pub max_num_archived_messages: Option<u64>,
    /// The most bytes of a conversation's messages, as they are hashed, that recall finds; no limit by default.
    pub max_memory_archived_messages: Option<u64>,
    /// The most bytes of cached embeddings; 0 turns the cache off.
    pub embedding_cache_bytes: u64,
    /// The most bytes of words that a process holds in memory, and as many of vectors and of token vectors, except for
    /// those in use or not on disk yet. Mapped files do not count.
    pub held_bytes: usize,
    /// Treatment of keys and personal data in messages that are appended; all are kept by default. Private keys and
    /// keys of services stay out of summaries and indexes in any case.
    pub redaction: Redaction,
    /// The user's time zone, for messages that state no UTC offset: a name of the tz database (`Europe/Berlin`), an
    /// offset (`+02:00`) or `local`; UTC by default. The offset is recorded with each message as it is appended.
    pub time_zone: Option<String>,
    /// Directory of backups, which are made while a memory is open and works in the background; none by default. A
    /// backup holds the whole store, so a memory with an `owner` may not have one.
    pub backup_directory: Option<PathBuf>,
    /// Hours from one backup to the next, at least 1. The backup itself holds the time of the last one.
    pub backup_interval_hours: NonZeroU32,
    /// True if doors offer tools to a model, to search the memory by itself. Without them the model sees only its
    /// prompts.
    pub enable_mcp_tools: bool,
    /// Time limit of waiting for another process that is writing.
    pub lock_timeout: Duration,
    /// Source of the key of an encrypted store; none by default. Any other store does not ask for it.
    pub key: Option<KeySource>,
    /// True if a new store is encrypted, with `key`. An existing store that is not encrypted is then an error.
    pub encrypt: bool,
}

/// Access to a store. Other processes may always read and write it at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Access for writing; the store is created if it is missing.
    Write,
    /// Access for writing; the store must exist.
    Existing,
    /// Access for writing if possible, otherwise for reading: on a read-only medium, and while another process is stuck
    /// in the middle of writing. The store must exist.
    Update,
    /// Access for reading; changes nothing on disk, and waits for no other process. The store must exist.
    Read,
    /// A new store in memory: no file holds anything of it, and it ends with the memory. [`Config::store`] is ignored;
    /// backups, cached embeddings and token vectors are off.
    Memory,
}

/// Method of recall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// Recall by words and, if the model is present, by meaning.
    Hybrid,
    /// Recall by words; no model is loaded.
    Words,
}

/// Summarizer instead of which a chat model writes; with another one, the user has chosen who writes.
const OFFLINE: &str = "spans";

/// Name that stands for no chat model.
const NO_MODEL: &str = "none";

/// Chat models of a configuration.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatSettings {
    /// The model: `openai:NAME`, `anthropic:NAME` or `bedrock:NAME`, with `?window=TOKENS` where the window is not the
    /// provider's; `none` for none. It writes summaries, unless [`Config::summarizer`] is another than the default.
    pub model: Option<String>,
    /// A model for summaries instead; `none` leaves them to the summarizer.
    pub summary_model: Option<String>,
    /// Instructions for summaries instead of [the default ones](memory_hooks::ModelSummarizer::DEFAULT_PROMPT).
    pub summary_prompt: Option<String>,
    /// True if `model` judges, while a prompt waits, which summaries matter for its question; the turns under them are
    /// shown verbatim. Prompts ask for it by [`PromptOptions::smart_context`](crate::PromptOptions::smart_context).
    pub smart_context: bool,
    /// Address of the service; that of the provider's environment variable by default, or else the provider's own.
    pub base_url: Option<String>,
    /// Environment variable with the key; the provider's by default.
    pub key_variable: Option<String>,
    /// The most requests of one day in UTC, of all processes with this store.
    pub requests_per_day: Option<u64>,
    /// The most tokens of one day in UTC, of requests and replies together.
    pub tokens_per_day: Option<u64>,
    /// The most requests of this process.
    pub requests_per_run: Option<u64>,
    /// The most tokens of this process, of requests and replies together.
    pub tokens_per_run: Option<u64>,
}

impl ChatSettings {
    memory_core::setters! {
        some into model: String,
        some into summary_model: String,
        some into summary_prompt: String,
        const smart_context: bool,
        some into base_url: String,
        some into key_variable: String,
        const some requests_per_day: u64,
        const some tokens_per_day: u64,
        const some requests_per_run: u64,
        const some tokens_per_run: u64,
    }

    /// The name of the chat model; `None` if none is named.
    pub(crate) fn named(&self) -> Option<&str> {
        self.model.as_deref().filter(|name| *name != NO_MODEL)
    }
}

impl fmt::Debug for ChatSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may contain a password.
        f.debug_struct("ChatSettings")
            .field("model", &self.model)
            .field("summary_model", &self.summary_model)
            .field("smart_context", &self.smart_context)
            .field("base_url", &self.base_url.as_deref().map(memory_embed::redacted))
            .field("key_variable", &self.key_variable)
            .field("requests_per_day", &self.requests_per_day)
            .field("tokens_per_day", &self.tokens_per_day)
            .field("requests_per_run", &self.requests_per_run)
            .field("tokens_per_run", &self.tokens_per_run)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// The manager of a configuration that names no other.
    pub const DEFAULT_MANAGER: &str = "hierarchical";

    /// The default configuration of a store.
    #[must_use]
    pub fn new(store: impl Into<PathBuf>, access: Access) -> Self {
        Self {
            store: store.into(),
            access,
            owner: None,
            recall: Recall::Hybrid,
            vectors: Method::Fastest,
            tokens: Some(TokenBits::default()),
            manager: Self::DEFAULT_MANAGER.to_owned(),
            manager_settings: String::new(),
            summarizer: OFFLINE.to_owned(),
            scorer: "rules".to_owned(),
            configurations: BTreeMap::new(),
            plugins: Vec::new(),
            models: None,
            model: None,
            chat: ChatSettings::default(),
            region: None,
            plain_http: false,
            reranker: None,
            min_score: None,
            max_num_archived_messages: None,
            max_memory_archived_messages: None,
            embedding_cache_bytes: 256 << 20,
            held_bytes: 64 << 20,
            redaction: Redaction::default(),
            time_zone: None,
            backup_directory: None,
            backup_interval_hours: DAILY,
            enable_mcp_tools: true,
            lock_timeout: Duration::from_secs(10),
            key: None,
            encrypt: false,
        }
    }

    memory_core::setters! {
        const access: Access,
        into owner: Option<OwnerId>,
        const recall: Recall,
        const vectors: Method,
        const tokens: Option<TokenBits>,
        into manager: String,
        into manager_settings: String,
        into summarizer: String,
        into scorer: String,
        configurations: BTreeMap<String, String>,
        plugins: Vec<PathBuf>,
        some into models: PathBuf,
        some into model: String,
        chat: ChatSettings,
        some into region: String,
        const plain_http: bool,
        some into reranker: String,
        const some min_score: f32,
        const some max_num_archived_messages: u64,
        const some max_memory_archived_messages: u64,
        const embedding_cache_bytes: u64,
        const held_bytes: usize,
        redaction: Redaction,
        some into time_zone: String,
        some into backup_directory: PathBuf,
        const backup_interval_hours: NonZeroU32,
        const enable_mcp_tools: bool,
        const lock_timeout: Duration,
        some key: KeySource,
        const encrypt: bool,
    }

    /// Limits of the messages of each conversation that recall finds.
    #[must_use]
    pub fn archive_limits(&self) -> ArchiveLimits {
        ArchiveLimits::default().messages(self.max_num_archived_messages).bytes(self.max_memory_archived_messages)
    }

    /// True if a chat model is to write summaries.
    #[must_use]
    pub fn asks_chat_model(&self) -> bool {
        self.summary_model().is_some()
    }

    /// The name of the chat model that writes summaries; `None` if none is named, or another summarizer is.
    pub(crate) fn summary_model(&self) -> Option<&str> {
        let ChatSettings { model, summary_model, .. } = &self.chat;
        let named = summary_model.as_deref().or(model.as_deref()).filter(|name| *name != NO_MODEL);
        named.filter(|_| self.summarizer == OFFLINE)
    }

    /// The same configuration for a new store in memory, of which nothing reaches a file.
    #[must_use]
    pub fn in_memory(mut self) -> Self {
        self.access = Access::Memory;
        self.tokens = None;
        self.backup_directory = None;
        self
    }

    /// True if the store is in memory alone.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.access == Access::Memory
    }

    /// True if the manager is the semantic one, which also recalls exact messages for each message of the user.
    pub(crate) fn is_semantic(&self) -> bool {
        self.manager == "semantic-summarizing"
    }

    /// The same configuration without an embedding model: recall is by words.
    #[must_use]
    pub fn without_model(mut self) -> Self {
        self.recall = Recall::Words;
        self
    }

    /// The default directory of this user's store.
    #[must_use]
    pub fn default_store() -> Option<PathBuf> {
        ProjectDirs::from("", "", "memory").map(|dirs| dirs.data_dir().join("store"))
    }
}
