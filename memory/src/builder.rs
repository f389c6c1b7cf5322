//! Opening a memory in another way than by default.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use memory_core::{
    ChatModel, Clock, ContextStrategy, ConversationManager, Embedder, ImportanceScorer, Reranker, Retriever, Store,
    Summarizer, TokenCounter,
    plan::{
        Thresholds,
        list::{PerTurn, ProactiveCompression},
    },
};
use memory_hooks::{HookRegistry, MemoryBuilder, RecallHook, RecallHookOptions, SpendLimits};

use crate::{
    Access, Config, Memory, OpenError, Recall,
    background::{BackupPlan, Failures},
    chat::{ModelSummaries, TIMEOUT, timed},
    embedding,
    memory::Opened,
    parts::{assemble_with, open_log},
};

/// Opens a memory with settings, and with parts of the program's own in place of those of the binary.
///
/// ```no_run
/// use memory::{Access, Builder, Config};
///
/// // No model, no threads of the background: for a short program.
/// let config = Config::new("trip.memory", Access::Write).without_model();
/// let memory = Builder::of(config).background(false).open()?;
/// # Ok::<(), memory::OpenError>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    config: Config,
    embedder: Option<Arc<dyn Embedder>>,
    summarizer: Option<Arc<dyn Summarizer>>,
    chat_model: Option<Arc<dyn ChatModel>>,
    chat_timeout: Duration,
    model_summaries: Option<ModelSummaries>,
    judge: Option<SpendLimits>,
    scorer: Option<Arc<dyn ImportanceScorer>>,
    token_counter: Option<Arc<dyn TokenCounter>>,
    clock: Option<Arc<dyn Clock>>,
    thresholds: Option<Thresholds>,
    strategy: Option<Arc<dyn ContextStrategy>>,
    manager: Option<MakeManager>,
    derived: Vec<MakeDerived>,
    reranker: Option<Arc<dyn Reranker>>,
    hooks: HookRegistry,
    proactive: ProactiveCompression,
    per_turn: PerTurn,
    recall_hook: Option<RecallHookOptions>,
    background: bool,
}

/// Makes a manager of the conversations in a store.
struct MakeManager(Box<MakesManager>);

type MakesManager = dyn FnOnce(Arc<dyn Store>) -> Arc<dyn ConversationManager> + Send + Sync;

impl fmt::Debug for MakeManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeManager")
    }
}

/// Makes a manager that is built on another.
struct MakeDerived(Box<MakesDerived>);

type MakesDerived = dyn FnOnce(Arc<dyn ConversationManager>) -> Arc<dyn ConversationManager> + Send + Sync;

impl fmt::Debug for MakeDerived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeDerived")
    }
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
            embedder: None,
            summarizer: None,
            chat_model: None,
            chat_timeout: TIMEOUT,
            model_summaries: None,
            judge: None,
            scorer: None,
            token_counter: None,
            clock: None,
            thresholds: None,
            strategy: None,
            manager: None,
            derived: Vec::new(),
            reranker: None,
            hooks: HookRegistry::new(),
            proactive: ProactiveCompression::OFF,
            per_turn: PerTurn::Off,
            recall_hook: None,
            background: true,
        }
    }

    /// Sets an embedding model of the program's own. The store records its [id](Embedder::model), and is opened by no
    /// other model from then on; the `memory` binary recalls by words from it.
    #[must_use]
    pub fn embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Sets the agent's model, for what of a memory a model can do. Without [`Self::model_summaries`] it is not asked
    /// for anything.
    #[must_use]
    pub fn chat_model(mut self, model: Arc<dyn ChatModel>) -> Self {
        self.chat_model = Some(model);
        self
    }

    /// Sets how long a model may take for one reply; a minute by default. A slower one counts as failed.
    #[must_use]
    pub fn chat_timeout(mut self, timeout: Duration) -> Self {
        self.chat_timeout = timeout;
        self
    }

    /// Has summaries written by a model: that of [`Self::chat_model`], or one for this alone. Where it fails, is too
    /// slow or has reached a limit, the built-in summarizer writes the summary, under its own name, and
    /// [`FellBack`](crate::FellBack) reports it.
    ///
    /// A summarizer of the program's own ([`Self::summarizer`]) has its own model and prompt: both together are an
    /// error.
    #[must_use]
    pub fn model_summaries(mut self, summaries: ModelSummaries) -> Self {
        self.model_summaries = Some(summaries);
        self
    }

    /// Lets the model of [`Self::chat_model`] judge which summaries matter for a question, in the prompts that ask for
    /// it ([`PromptOptions::smart_context`](crate::PromptOptions::smart_context)) and within limits, of which those of
    /// a compaction do not count.
    #[must_use]
    pub fn judge(mut self, limits: SpendLimits) -> Self {
        self.judge = Some(limits);
        self
    }

    /// Sets a cross-encoder of the program's own, which reads question and candidates together, in place of the one
    /// that the configuration names. It is not used where recall is by words.
    #[must_use]
    pub fn reranker(mut self, reranker: Arc<dyn Reranker>) -> Self {
        self.reranker = Some(reranker);
        self
    }

    /// Sets a summarizer of the program's own. When it fails, the built-in one writes the summary.
    #[must_use]
    pub fn summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// Sets a scorer of messages of the program's own. When it fails, the built-in one scores.
    #[must_use]
    pub fn scorer(mut self, scorer: Arc<dyn ImportanceScorer>) -> Self {
        self.scorer = Some(scorer);
        self
    }

    /// Sets the counter of tokens; that of `cl100k_base` by default. A store should be counted by one counter only.
    #[must_use]
    pub fn token_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.token_counter = Some(counter);
        self
    }

    /// Sets the clock that dates messages; the system's by default.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the manager by its type, such as [`TieredView`](memory_core::plan::TieredView), in place of the one that
    /// the configuration names.
    #[must_use]
    pub fn strategy(mut self, strategy: Arc<dyn ContextStrategy>) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Sets when compaction starts and stops, in place of what the manager's settings say. [`open`](Self::open) fails
    /// under a manager that does not go by thresholds: `none`, `sliding-window`, `summarizing`, `semantic-summarizing`,
    /// `tiered`, and one of the program's own.
    #[must_use]
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = Some(thresholds);
        self
    }

    /// Sets a manager of conversations of the program's own, in place of the one that writes summaries. `make` is given
    /// the conversations that this memory sees, once they are open. The summarizer and the scorer belong to the
    /// manager that is replaced.
    #[must_use]
    pub fn manager(
        mut self,
        make: impl FnOnce(Arc<dyn Store>) -> Arc<dyn ConversationManager> + Send + Sync + 'static,
    ) -> Self {
        self.manager = Some(MakeManager(Box::new(make)));
        self
    }

    /// Builds the manager on the one that would be there otherwise, by name or by type, which `make` is given: as a
    /// [`DerivedManager`](memory_core::DerivedManager), which passes on whatever it does not do itself and keeps the
    /// hooks of what it is built on. Called again, it builds on the manager that is derived so far.
    #[must_use]
    pub fn derived(
        mut self,
        make: impl FnOnce(Arc<dyn ConversationManager>) -> Arc<dyn ConversationManager> + Send + Sync + 'static,
    ) -> Self {
        self.derived.push(MakeDerived(Box::new(make)));
        self
    }

    /// Sets from which share of a model's window on a conversation is reduced before the model is called, by
    /// [`Invocation::before_model_call`](crate::Invocation::before_model_call); off by default.
    #[must_use]
    pub fn proactive_compression(mut self, proactive: ProactiveCompression) -> Self {
        self.proactive = proactive;
        self
    }

    /// Sets before which calls of a model what is due for a conversation is done; before none by default.
    #[must_use]
    pub fn per_turn(mut self, per_turn: PerTurn) -> Self {
        self.per_turn = per_turn;
        self
    }

    /// Sets the hooks, which run on the threads of the memory. Only
    /// [`Conversation::add_message`](crate::Conversation::add_message) passes [`MessageAdded`](crate::MessageAdded); a
    /// hook's change is in the outgoing copy that it returns, and in no later prompt, since the log keeps what was
    /// said.
    #[must_use]
    pub fn hooks(mut self, hooks: HookRegistry) -> Self {
        self.hooks = hooks;
        self
    }

    /// Adds what was said before to a user's outgoing message ([`RecallHook`]), after all other hooks: for a program
    /// that sends whole conversations to its model, and no prompts of this memory. It is off by default, and on under
    /// the manager `semantic-summarizing`.
    #[must_use]
    pub fn recall_hook(mut self, options: RecallHookOptions) -> Self {
        self.recall_hook = Some(options);
        self
    }

    /// Sets whether messages are compacted and indexed in the background, as they are by default. Without it, a prompt
    /// writes the summaries that are due, a question embeds up to 64 new messages, and
    /// [`catch_up`](Memory::catch_up) does the rest.
    #[must_use]
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// Opens the memory. It reads files and may load a model: some tenths of a second, on this thread.
    ///
    /// # Errors
    /// [`OpenError`]; nothing stays open then. A missing model is not an error.
    pub fn open(mut self) -> Result<Memory, OpenError> {
        // Before a store is made.
        self.summarizer = self.author()?;
        if self.judge.is_some() && self.chat_model.is_none() {
            return Err(OpenError::NoChatModel);
        }
        let backups = BackupPlan::of(&self.config, self.clock.clone())?;
        let store = Arc::new(open_log(&self.config)?);
        let may_write = store.may_write();
        let embedder = match (self.config.recall, self.embedder.take()) {
            (Recall::Words, _) => None,
            (Recall::Hybrid, Some(own)) => {
                embedding::own(&self.config, &*own, may_write)?;
                Some(own)
            }
            (Recall::Hybrid, None) => Some(embedding::of_store(&self.config, may_write)?),
        };
        let failures = Arc::new(Failures::default());
        failures.listen(&mut self.hooks);
        let (config, background) = (self.config.clone(), self.background && may_write);
        let reranker = self.reranker.take();
        let parts = assemble_with(&config, store, embedder, reranker, |memory, store, retriever| {
            self.into_memory(memory, store, retriever)
        })?;
        Memory::start(Opened { parts, failures, background, backups, config })
    }

    /// The summarizer of the program's own, or a model.
    fn author(&mut self) -> Result<Option<Arc<dyn Summarizer>>, OpenError> {
        let (own, summaries) = (self.summarizer.take(), self.model_summaries.take());
        let Some(summaries) = summaries else { return Ok(own) };
        if own.is_some() {
            return Err(OpenError::TwoSummarizers);
        }
        let model = self.chat_model.clone();
        Ok(Some(Arc::new(summaries.summarizer(model, self.chat_timeout).ok_or(OpenError::NoChatModel)?)))
    }

    /// Replaces parts of the memory by the program's own.
    fn into_memory(
        mut self,
        memory: MemoryBuilder,
        store: &Arc<dyn Store>,
        retriever: &Arc<dyn Retriever>,
    ) -> MemoryBuilder {
        let semantic = self.config.is_semantic().then(RecallHookOptions::default);
        if let Some(options) = self.recall_hook.or(semantic) {
            self.hooks.provide(Arc::new(RecallHook::new(Arc::clone(store), Arc::clone(retriever), options)));
        }
        let memory = memory.hooks(self.hooks).proactive_compression(self.proactive).per_turn(self.per_turn);
        let judge = self.judge.zip(self.chat_model);
        let memory = judge
            .into_iter()
            .fold(memory, |memory, (limits, model)| memory.judge(timed(model, self.chat_timeout), limits));
        let manager = self.manager.map(|MakeManager(make)| make(Arc::clone(store)));
        let memory = manager.into_iter().fold(memory, MemoryBuilder::manager);
        let memory = self.derived.into_iter().fold(memory, |memory, MakeDerived(make)| memory.derived(make));
        let memory = self.summarizer.into_iter().fold(memory, MemoryBuilder::summarizer);
        let memory = self.scorer.into_iter().fold(memory, MemoryBuilder::scorer);
        let memory = self.token_counter.into_iter().fold(memory, MemoryBuilder::token_counter);
        let memory = self.clock.into_iter().fold(memory, MemoryBuilder::clock);
        let memory = self.strategy.into_iter().fold(memory, MemoryBuilder::strategy);
        self.thresholds.into_iter().fold(memory, MemoryBuilder::thresholds)
    }
}
