//! The builder of a memory.

use std::{path::PathBuf, sync::Arc, time::Duration};

use memory_core::{
    plan::{
        Thresholds,
        list::{PerTurn, ProactiveCompression},
    },
    port::{
        ChatModel, Clock, ContextStrategy, ConversationManager, Detector, Embedder, ImportanceScorer, Reranker, Store,
        Summarizer, TokenCounter,
    },
};
use memory_hooks::{HookRegistry, MemoryBuilder, RecallHookOptions, SpendLimits};
use tokio::sync::mpsc;

use crate::{
    Access, Config, Memory, OpenError, Recall,
    background::{BackupPlan, Failures},
    chat::{ModelSummaries, TIMEOUT, timed},
    embedding,
    memory::Opened,
    parts::{assemble_with, open_log},
};

/// Opens a memory with settings, and with parts of the program's own instead of the binary's.
///
/// ```no_run
/// use memory::{Access, Builder, Config};
///
/// // No model, no threads of the background: for a short program.
/// let config = Config::new("trip.memory", Access::Write).without_model();
/// let memory = Builder::of(config).background(false).open()?;
/// # Ok::<(), memory::OpenError>(())
/// ```
///
/// By default the [`Config`] names the summarizer, the scorer and the manager, and tokens are counted by `cl100k_base`.
/// A store should be counted by one counter only. If a summarizer or a scorer of the program's own fails, the built-in
/// one takes its place. Hooks run on the threads of the memory.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    engine: MemoryBuilder,
    embedder: Option<Arc<dyn Embedder>>,
    chat_model: Option<Arc<dyn ChatModel>>,
    chat_timeout: Duration,
    model_summaries: Option<ModelSummaries>,
    judge: Option<SpendLimits>,
    reranker: Option<Arc<dyn Reranker>>,
    background: bool,
}

impl Builder {
    /// The memory in the directory `store`, which is created if it is missing.
    #[must_use]
    pub fn new(store: impl Into<PathBuf>) -> Self {
        Self::of(Config::new(store, Access::Write))
    }

    /// The memory that `config` describes.
    #[must_use]
    pub fn of(config: Config) -> Self {
        Self {
            config,
            engine: MemoryBuilder::default(),
            embedder: None,
            chat_model: None,
            chat_timeout: TIMEOUT,
            model_summaries: None,
            judge: None,
            reranker: None,
            background: true,
        }
    }

    /// Sets an embedding model of the program's own. The store records its [id](Embedder::model), and from then on
    /// refuses other models; the `memory` binary then recalls from it by words.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Sets the agent's model, for the tasks that a memory has for one. Without [`Self::model_summaries`] or
    /// [`Self::judge`] it is never called.
    #[must_use]
    pub fn chat_model(mut self, model: Arc<dyn ChatModel>) -> Self {
        self.chat_model = Some(model);
        self
    }

    /// Sets the time limit of one reply; a minute by default. A slower reply counts as failed.
    #[must_use]
    pub fn chat_timeout(mut self, timeout: Duration) -> Self {
        self.chat_timeout = timeout;
        self
    }

    /// Has a model write summaries: that of [`Self::chat_model`], or a separate one. If it fails, is too slow or has
    /// reached a limit, the built-in summarizer writes the summary, under its own name, and
    /// [`FellBack`](crate::hooks::FellBack) reports it.
    ///
    /// A summarizer of the program's own ([`Self::summarizer`]) has its own model and prompt: setting both is an error.
    #[must_use]
    pub fn model_summaries(mut self, summaries: ModelSummaries) -> Self {
        self.model_summaries = Some(summaries);
        self
    }

    /// Lets the model of [`Self::chat_model`] judge which summaries matter for a question, in the prompts that ask for
    /// it ([`PromptOptions::smart_context`](crate::PromptOptions::smart_context)) and within limits. Limits of a
    /// compaction do not count.
    #[must_use]
    pub fn judge(mut self, limits: SpendLimits) -> Self {
        self.judge = Some(limits);
        self
    }

    /// Sets a cross-encoder of the program's own, which reads question and candidates together, instead of the
    /// configured one. Recall by words does not use it.
    #[must_use]
    pub fn reranker(mut self, reranker: Arc<dyn Reranker>) -> Self {
        self.reranker = Some(reranker);
        self
    }

    /// Sets whether messages are compacted and indexed in the background; `true` by default. Otherwise a prompt writes
    /// the due summaries, a question embeds up to 64 new messages, and [`catch_up`](Memory::catch_up) does the rest.
    #[must_use]
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// Opens the memory. Reads files and may load a model: some tenths of a second, on this thread.
    ///
    /// # Errors
    /// [`OpenError`]; nothing stays open then. A missing model is not an error.
    pub fn open(mut self) -> Result<Memory, OpenError> {
        // Models are checked before a store is created.
        self.engine = self.with_models()?;
        let backups = BackupPlan::of(&self.config)?;
        let store = Arc::new(open_log(&self.config)?);
        let may_write = store.may_write();
        let embedder = match (self.config.recall, self.embedder) {
            (Recall::Words, _) => None,
            (Recall::Hybrid, Some(own)) => {
                embedding::own(&self.config, &*own, may_write)?;
                Some(own)
            }
            (Recall::Hybrid, None) => Some(embedding::of_store(&self.config, Some(&*store), may_write)?),
        };
        let failures = Arc::new(Failures::default());
        failures.listen(self.engine.hooks_mut());
        if self.config.is_semantic() {
            self.engine = self.engine.or(MemoryBuilder::default().recall_hook(RecallHookOptions::default()));
        }
        let mut grown = None;
        if self.background && may_write {
            let (report, reported) = mpsc::unbounded_channel();
            // If the background is stopping, the next process does the work.
            self.engine = self.engine.on_growth(move |conversation| drop(report.send(conversation.clone())));
            grown = Some(reported);
        }
        let parts = assemble_with(&self.config, store, embedder.clone(), self.reranker, self.engine)?;
        Memory::start(Opened { parts, embedder, failures, grown, backups, config: self.config })
    }

    /// The engine's builder with the tasks of chat models.
    fn with_models(&mut self) -> Result<MemoryBuilder, OpenError> {
        let mut engine = std::mem::take(&mut self.engine);
        if let Some(summaries) = self.model_summaries.take() {
            if engine.has_summarizer() {
                return Err(OpenError::TwoSummarizers);
            }
            let summarizer = summaries.summarizer(self.chat_model.clone(), self.chat_timeout);
            engine = engine.summarizer(Arc::new(summarizer.ok_or(OpenError::NoChatModel)?));
        }
        if let Some(limits) = self.judge {
            let model = self.chat_model.clone().ok_or(OpenError::NoChatModel)?;
            engine = engine.judge(timed(model, self.chat_timeout), limits);
        }
        Ok(engine)
    }
}

/// Setters of the engine's builder.
macro_rules! engine_setters {
    ($($name:ident($argument:ident: $type:ty);)*) => {
        impl Builder {
            $(
                #[doc = concat!("[`", stringify!($name), "`](MemoryBuilder::", stringify!($name), ") of the engine.")]
                #[must_use]
                pub fn $name(mut self, $argument: $type) -> Self {
                    self.engine = self.engine.$name($argument);
                    self
                }
            )*
        }
    };
}

engine_setters! {
    summarizer(summarizer: Arc<dyn Summarizer>);
    scorer(scorer: Arc<dyn ImportanceScorer>);
    token_counter(counter: Arc<dyn TokenCounter>);
    clock(clock: Arc<dyn Clock>);
    detector(detector: Arc<dyn Detector>);
    strategy(strategy: Arc<dyn ContextStrategy>);
    thresholds(thresholds: Thresholds);
    manager(make: impl FnOnce(Arc<dyn Store>) -> Arc<dyn ConversationManager> + Send + Sync + 'static);
    derived(make: impl FnOnce(Arc<dyn ConversationManager>) -> Arc<dyn ConversationManager> + Send + Sync + 'static);
    proactive_compression(proactive: ProactiveCompression);
    per_turn(per_turn: PerTurn);
    hooks(hooks: HookRegistry);
    recall_hook(options: RecallHookOptions);
}
