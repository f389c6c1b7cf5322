//! The memory of an agent, built from ports.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use memory_core::{
    ConversationId, WrittenBy,
    plan::{
        HierarchicalView, Thresholds, ViewPolicy,
        list::{PerTurn, ProactiveCompression},
    },
    port::{
        BoxFuture, ChatModel, Clock, ContextStrategy, ConversationManager, ConversationState, Conversations, Detector,
        Hit, HookRegistry, ImportanceScorer, Query, Retrieved, Retriever, Store, Summarizer, TokenCounter,
    },
    text::FirstWords,
};
use memory_search::{FindRequest, Found};
use memory_strategies::Spans;

use crate::{
    BuildError, Conversation, MemoryError, RecallHook, RecallHookOptions, Redaction, SpendLimits, SystemClock,
    calls::Calls,
    compaction_queue::worker,
    counts::Counts,
    judge::Judge,
    ledger::LedgerNotes,
    manager::{failing::ReportedFailures, locks::CompactionLocks, tree::TreeManager},
    parts::{Function, Growth, Parts},
    ports::Ports,
    snapshot_cache::SnapshotCache,
    threads::Threads,
    uses::Uses,
    windows::Windows,
};

/// All conversations of an agent. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) parts: Arc<Parts>,
    pub(crate) threads: Threads,
}

impl Memory {
    /// Creates a builder.
    #[must_use]
    pub fn builder() -> MemoryBuilder {
        MemoryBuilder::default()
    }

    /// A handle on a conversation, which begins with its first message.
    #[must_use]
    pub fn conversation(&self, id: ConversationId) -> Conversation {
        Conversation { parts: Arc::clone(&self.parts), id, threads: self.threads.clone() }
    }

    /// A conversation under a new name (UUIDv7).
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn new_conversation(&self) -> Result<Conversation, getrandom::Error> {
        let mut random = [0; 10];
        getrandom::fill(&mut random)?;
        Ok(self.conversation(ConversationId::generate(self.parts.clock.now(), random)))
    }

    /// Compacts due conversations until every handle of this memory is dropped. Drive it by a task of any runtime, or
    /// by a separate thread. While it runs, no reply waits for a summary: [`Conversation::prompt`] shows the history as
    /// it stands, and summaries written meanwhile at the next turn. Only a view that fits no budget otherwise is still
    /// compacted at once.
    ///
    /// The future begins with work that earlier processes left undone, which follows from the log. Dropping it leaves
    /// every tree either as before the current step or as after it.
    #[must_use]
    pub fn background(&self) -> BoxFuture<'static, ()> {
        worker::work_off(&self.parts)
    }

    /// The messages of any conversations that answer a question best. Each hit counts as a use of its message, for
    /// scorers. Conversations of notes are searched only if the scope names them, by their present
    /// [documents](crate::Documents::search).
    ///
    /// # Errors
    /// If the retriever fails.
    pub async fn search(&self, query: Query) -> Result<Retrieved, MemoryError> {
        self.call(|this| async move {
            let named = match &query.scope.conversations {
                Conversations::All => Vec::new(),
                Conversations::Only(_) => query.scope.states(&*this.parts.store).await?,
            };
            let (of_notes, said): (Vec<_>, Vec<_>) = named.into_iter().partition(ConversationState::is_of_notes);
            if of_notes.is_empty() {
                return this.parts.search(&query).await;
            }
            let mut found = Retrieved::default();
            if !said.is_empty() {
                let mut query = query.clone();
                query.scope.conversations = Conversations::Only(said.into_iter().map(|state| state.id).collect());
                found = this.parts.search(&query).await?;
            }
            for state in of_notes {
                found.hits.extend(this.documents(state.id).search(query.clone()).await?.hits);
            }
            let relevance = |hit: &Hit| hit.relevance.unwrap_or_default();
            found.hits.sort_by(|a, b| relevance(b).total_cmp(&relevance(a)));
            found.hits.truncate(query.limit);
            Ok(found)
        })
        .await
    }

    /// The matches of a regular expression in the conversations of `request`, as [`memory_search::find`] finds them.
    ///
    /// # Errors
    /// [`MemoryError::Find`] if the pattern is not valid, or a range is given for several conversations; otherwise if
    /// the store fails.
    pub async fn find(&self, request: FindRequest) -> Result<Found, MemoryError> {
        self.call(|this| async move { Ok(memory_search::find(&*this.parts.store, &request).await?) }).await
    }

    /// The states of all conversations, by name.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn conversations(&self) -> Result<Vec<ConversationState>, MemoryError> {
        self.call(|this| async move { Ok(this.parts.store.conversations().await?) }).await
    }

    /// Number of tokens of `text`, by the counter that budgets are counted with.
    #[must_use]
    pub fn count_tokens(&self, text: &str) -> u32 {
        self.parts.counter.count(text)
    }

    /// Reports growth by other means than this memory's calls, such as another process or direct use of the store. The
    /// background then summarizes the conversation, and the [listener](MemoryBuilder::on_growth) is called.
    pub fn report_growth(&self, conversation: &ConversationId) {
        self.parts.grew(conversation);
    }

    /// Queues a grown conversation for the background. The [listener](MemoryBuilder::on_growth) is not called.
    pub fn enqueue(&self, conversation: &ConversationId) {
        self.parts.queue.enqueue(conversation);
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// The manager of the conversations.
    #[must_use]
    pub fn manager(&self) -> &Arc<dyn ConversationManager> {
        &self.parts.manager
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.clock
    }

    /// The token counter.
    #[must_use]
    pub fn token_counter(&self) -> &Arc<dyn TokenCounter> {
        &self.parts.counter
    }
}

type Manager = Arc<dyn ConversationManager>;
type MakeManager = Function<dyn FnOnce(Arc<dyn Store>) -> Manager + Send + Sync>;
type MakeDerived = Function<dyn FnOnce(Manager) -> Manager + Send + Sync>;

/// Builds a [`Memory`]. Store and token counter have no default.
#[derive(Debug, Default)]
pub struct MemoryBuilder {
    store: Option<Arc<dyn Store>>,
    token_counter: Option<Arc<dyn TokenCounter>>,
    retriever: Option<Arc<dyn Retriever>>,
    judge: Option<Judge>,
    summarizer: Option<Arc<dyn Summarizer>>,
    fallback_summarizer: Option<Arc<dyn Summarizer>>,
    scorer: Option<Arc<dyn ImportanceScorer>>,
    fallback_scorer: Option<Arc<dyn ImportanceScorer>>,
    manager: Option<MakeManager>,
    derived: Vec<MakeDerived>,
    strategy: Option<Arc<dyn ContextStrategy>>,
    clock: Option<Arc<dyn Clock>>,
    detector: Option<Arc<dyn Detector>>,
    redaction: Redaction,
    thresholds: Option<Thresholds>,
    view_policy: ViewPolicy,
    hooks: HookRegistry,
    proactive_compression: ProactiveCompression,
    per_turn: PerTurn,
    prompts_wait: Option<bool>,
    recall_hook: Option<RecallHookOptions>,
    growth: Option<Growth>,
}

impl MemoryBuilder {
    memory_core::setters! {
        /// Sets the store of conversations.
        some store: Arc<dyn Store>,
        /// Sets the token counter, which is used for budgets and at appending.
        some token_counter: Arc<dyn TokenCounter>,
        /// Sets the retriever, which recalls exact words. Without one a prompt is only the history.
        some retriever: Arc<dyn Retriever>,
        /// Sets the summarizer; [`Spans`] by default.
        some summarizer: Arc<dyn Summarizer>,
        /// Sets the fallback that writes a summary, under its own name, when [`Self::summarizer`] fails; [`FirstWords`]
        /// by default.
        ///
        /// The summarizer is tried again for the next summary. After three failures in a row it is not called again in
        /// that compaction.
        some fallback_summarizer: Arc<dyn Summarizer>,
        /// Sets the scorer of messages that are being summarized. Without one all have the same importance.
        some scorer: Arc<dyn ImportanceScorer>,
        /// Sets the fallback for a failing [`Self::scorer`]. Without one messages keep their importance.
        some fallback_scorer: Arc<dyn ImportanceScorer>,
        /// Sets the strategy, which decides on the summaries and the contents of a view, by its type, such as
        /// [`TieredView`](memory_core::plan::TieredView); [`HierarchicalView`] by default.
        /// [`strategy_named`](memory_core::plan::strategy_named) gives one by name.
        some strategy: Arc<dyn ContextStrategy>,
        /// Sets the clock; [`SystemClock`] by default.
        some clock: Arc<dyn Clock>,
        /// Sets the detector of keys and personal data. Private keys and keys of services stay out of summaries, titles
        /// and state. Without one nothing is looked for.
        some detector: Arc<dyn Detector>,
        /// Sets the treatment of what the detector finds in a message that is appended; everything is kept by default.
        redaction: Redaction,
        /// Sets when compaction starts and stops, instead of the strategy's thresholds. Building fails if the strategy
        /// [takes no thresholds](ContextStrategy::with_thresholds), and under a manager of the program's own.
        some thresholds: Thresholds,
        /// Sets the policy of views.
        view_policy: ViewPolicy,
        /// Sets the share of a model's window from which on a conversation is reduced before the model is called; off
        /// by default. See [`Invocation::before_model_call`](crate::Invocation::before_model_call).
        proactive_compression: ProactiveCompression,
        /// Sets the calls of a model before which due compaction is performed; none by default.
        per_turn: PerTurn,
        /// Sets the hooks, which run on the threads of the memory. Only [`Conversation::add_message`] passes
        /// [`MessageAdded`](crate::MessageAdded); a hook's change is in the outgoing copy that it returns, and in no
        /// later prompt, since the log keeps the original message.
        hooks: HookRegistry,
        /// Sets whether prompts wait for the summarizer; `true` by default. Otherwise due summaries are left to the
        /// background ([`Memory::background`](crate::Memory::background)), and the
        /// [fallback](Self::fallback_summarizer) writes, for only one view, those without which a prompt does not fit.
        some prompts_wait: bool,
        /// Adds recalled words to a user's outgoing message ([`RecallHook`]), after all hooks but those of the manager:
        /// for a program that sends whole conversations to its model, and no prompts of this memory. Off by default;
        /// needs a retriever.
        some recall_hook: RecallHookOptions,
    }

    /// Sets the model that judges, within limits, which summaries matter for a question, in the prompts that ask for it
    /// ([`PromptOptions::smart_context`](crate::PromptOptions::smart_context)).
    #[must_use]
    pub fn judge(mut self, model: Arc<dyn ChatModel>, limits: SpendLimits) -> Self {
        self.judge = Some(Judge::new(model, limits));
        self
    }

    /// Sets a manager of the program's own. By default the summary tree keeps conversations small, by
    /// [`Self::strategy`] with its summarizer and scorer. `make` is given the conversations that the memory sees. The
    /// manager's hooks come after those of [`Self::hooks`].
    #[must_use]
    pub fn manager(
        mut self,
        make: impl FnOnce(Arc<dyn Store>) -> Arc<dyn ConversationManager> + Send + Sync + 'static,
    ) -> Self {
        self.manager = Some(Function(Box::new(make)));
        self
    }

    /// Builds the manager on the one that would be there otherwise, which `make` is given: usually a
    /// [`ExtendedManager`](memory_core::port::ExtendedManager), which passes on whatever it does not do itself and
    /// keeps the hooks below it. Called again, it builds on the manager that is derived so far.
    #[must_use]
    pub fn derived(
        mut self,
        make: impl FnOnce(Arc<dyn ConversationManager>) -> Arc<dyn ConversationManager> + Send + Sync + 'static,
    ) -> Self {
        self.derived.push(Function(Box::new(make)));
        self
    }

    /// The hooks that are set so far, to add to them.
    #[must_use]
    pub fn hooks_mut(&mut self) -> &mut HookRegistry {
        &mut self.hooks
    }

    /// True if a summarizer was set.
    #[must_use]
    pub fn has_summarizer(&self) -> bool {
        self.summarizer.is_some()
    }

    /// The detector, if one was set.
    #[must_use]
    pub fn own_detector(&self) -> Option<Arc<dyn Detector>> {
        self.detector.clone()
    }

    /// Sets a listener that is called for each conversation that grows: by an append, by a fork, and by a
    /// [report](Memory::report_growth). The listener runs within the call, and must not wait.
    #[must_use]
    pub fn on_growth(mut self, listener: impl Fn(&ConversationId) + Send + Sync + 'static) -> Self {
        self.growth = Some(Function(Box::new(listener)));
        self
    }

    /// The builder with the parts of `defaults` that are not set here: ports, strategies and thresholds.
    #[must_use]
    pub fn or(self, defaults: Self) -> Self {
        Self {
            store: self.store.or(defaults.store),
            token_counter: self.token_counter.or(defaults.token_counter),
            retriever: self.retriever.or(defaults.retriever),
            judge: self.judge.or(defaults.judge),
            summarizer: self.summarizer.or(defaults.summarizer),
            fallback_summarizer: self.fallback_summarizer.or(defaults.fallback_summarizer),
            scorer: self.scorer.or(defaults.scorer),
            fallback_scorer: self.fallback_scorer.or(defaults.fallback_scorer),
            manager: self.manager.or(defaults.manager),
            strategy: self.strategy.or(defaults.strategy),
            clock: self.clock.or(defaults.clock),
            detector: self.detector.or(defaults.detector),
            redaction: self.redaction.or(defaults.redaction),
            thresholds: self.thresholds.or(defaults.thresholds),
            prompts_wait: self.prompts_wait.or(defaults.prompts_wait),
            recall_hook: self.recall_hook.or(defaults.recall_hook),
            ..self
        }
    }

    /// Builds the memory.
    ///
    /// # Errors
    /// If the store or the token counter is missing, the thresholds contradict each other, or the manager takes none.
    pub fn build(self) -> Result<Memory, BuildError> {
        let store = self.store.ok_or(BuildError::Missing("store"))?;
        let counter = self.token_counter.ok_or(BuildError::Missing("token_counter"))?;
        let mut hooks = self.hooks;
        if let Some(options) = self.recall_hook {
            let retriever = self.retriever.clone().ok_or(BuildError::Missing("retriever"))?;
            hooks.provide(Arc::new(RecallHook::new(Arc::clone(&store), retriever, options)));
        }
        let own = self.manager.map(|Function(make)| make(Arc::clone(&store)));
        let strategy = self.strategy.unwrap_or_else(|| Arc::new(HierarchicalView::default()));
        let strategy = match self.thresholds {
            None => strategy,
            Some(thresholds) => under(strategy.as_ref(), thresholds, own.as_ref().map(|own| own.identity()))?,
        };
        let ports = Arc::new(Ports {
            store,
            counter,
            retriever: self.retriever,
            judge: self.judge,
            summarizer: self.summarizer.unwrap_or_else(|| Arc::new(Spans)),
            fallback_summarizer: self.fallback_summarizer.unwrap_or_else(|| Arc::new(FirstWords)),
            prompts_wait: self.prompts_wait.unwrap_or(true),
            scorer: self.scorer,
            fallback_scorer: self.fallback_scorer,
            strategy,
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            detector: self.detector,
            redaction: self.redaction,
            policy: self.view_policy,
            registered: OnceLock::new(),
            proactive: self.proactive_compression,
            per_turn: self.per_turn,
            calls: Calls::default(),
            snapshots: SnapshotCache::default(),
            ledger_notes: LedgerNotes::default(),
            counts: Counts::default(),
            uses: Uses::default(),
            compacting: CompactionLocks::default(),
            said: ReportedFailures::default(),
        });
        let base = own.unwrap_or_else(|| Arc::new(TreeManager::new(Arc::clone(&ports))));
        let manager = self.derived.into_iter().fold(base, |base, Function(make)| make(base));
        Arc::clone(&manager).register(&mut hooks);
        // These ports are new: nothing else has set them.
        let _ = ports.registered.set(hooks);
        let parts = Parts {
            ports,
            manager,
            queue: Arc::default(),
            windows: Windows::default(),
            growth: self.growth,
            words_only: AtomicBool::default(),
        };
        Ok(Memory { parts: Arc::new(parts), threads: Threads::default() })
    }
}

/// `strategy` with these thresholds; an error under a manager of the program's `own`, which takes none.
fn under(
    strategy: &dyn ContextStrategy,
    thresholds: Thresholds,
    own: Option<WrittenBy>,
) -> Result<Arc<dyn ContextStrategy>, BuildError> {
    thresholds.check()?;
    let manager = own.clone().unwrap_or_else(|| strategy.identity()).strategy;
    let with = if own.is_some() { None } else { strategy.with_thresholds(thresholds) };
    with.ok_or(BuildError::NoThresholds { manager })
}

#[cfg(test)]
mod tests {
    use memory_core::testing::{MemoryStore, WordCounter};

    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let check = |builder: MemoryBuilder, missing| {
            assert_eq!(builder.build().unwrap_err(), BuildError::Missing(missing));
        };
        check(Memory::builder(), "store");
        check(Memory::builder().store(Arc::new(MemoryStore::default())), "token_counter");
        let thresholds = Thresholds::default().recent_node_limit(30);
        let builder = Memory::builder().store(Arc::new(MemoryStore::default())).token_counter(Arc::new(WordCounter));
        assert!(matches!(builder.thresholds(thresholds).build(), Err(BuildError::Thresholds(_))));
    }
}
