//! The memory of an agent, built from ports.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use memory_core::{
    BoxFuture, ChatModel, Clock, ContextStrategy, ConversationId, ConversationManager, FirstWords, HookRegistry,
    ImportanceScorer, Query, Retrieved, Retriever, Store, Summarizer, Timestamp, TokenCounter, WrittenBy,
    plan::{
        HierarchicalView, Thresholds, ViewPolicy,
        list::{PerTurn, ProactiveCompression},
    },
};
use memory_strategies::Spans;

use crate::{
    BuildError, Conversation, MemoryError, SpendLimits, SystemClock,
    calls::Calls,
    compaction_queue::worker,
    counts::Counts,
    judge::Judge,
    manager::{failing::Said, tree::TreeManager, turns::Turns},
    parts::Parts,
    ports::Ports,
    snapshot_cache::SnapshotCache,
    uses::Uses,
    windows::Windows,
};

/// All conversations of an agent. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) parts: Arc<Parts>,
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
        Conversation::new(Arc::clone(&self.parts), id)
    }

    /// A conversation under a new name (UUIDv7).
    ///
    /// # Errors
    /// When the system provides no randomness.
    pub fn new_conversation(&self) -> Result<Conversation, getrandom::Error> {
        let mut random = [0; 10];
        getrandom::fill(&mut random)?;
        Ok(self.conversation(ConversationId::generate(self.now(), random)))
    }

    /// Compacts conversations that are due, until every handle of this memory is dropped. Drive it by a task of any
    /// runtime, or by a separate thread. While it runs, no reply waits for a summary: [`Conversation::prompt`] shows
    /// the history as it stands, and summaries written meanwhile at the next turn. Only a view that fits no budget
    /// otherwise is still compacted at once.
    ///
    /// The future begins with what earlier processes left undone, since what is due follows from the log. Dropping it
    /// leaves every tree either as it was before the current step or as it is after it.
    #[must_use]
    pub fn background(&self) -> BoxFuture<'static, ()> {
        worker::work_off(&self.parts)
    }

    /// The messages that answer a question best, of any conversations. Each hit counts as a use of its message, which
    /// scorers are given.
    ///
    /// # Errors
    /// When the retriever fails.
    pub async fn search(&self, query: &Query) -> Result<Retrieved, MemoryError> {
        self.parts.search(query).await
    }

    /// Has the background look at a conversation, as it does after an append by this memory: for one that another
    /// process appended to. Without a running background it does nothing.
    pub fn enqueue(&self, conversation: &ConversationId) {
        self.parts.queue.enqueue(conversation);
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// The manager of its conversations.
    #[must_use]
    pub fn manager(&self) -> &Arc<dyn ConversationManager> {
        &self.parts.manager
    }

    /// The token counter.
    #[must_use]
    pub fn token_counter(&self) -> &Arc<dyn TokenCounter> {
        &self.parts.counter
    }

    fn now(&self) -> Timestamp {
        self.parts.clock.now()
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

/// Builds a [`Memory`]. Store and token counter have no default.
#[derive(Debug, Default)]
pub struct MemoryBuilder {
    store: Option<Arc<dyn Store>>,
    counter: Option<Arc<dyn TokenCounter>>,
    retriever: Option<Arc<dyn Retriever>>,
    judge: Option<Judge>,
    summarizer: Option<Arc<dyn Summarizer>>,
    fallback_summarizer: Option<Arc<dyn Summarizer>>,
    scorer: Option<Arc<dyn ImportanceScorer>>,
    fallback_scorer: Option<Arc<dyn ImportanceScorer>>,
    manager: Option<Arc<dyn ConversationManager>>,
    derived: Vec<MakeDerived>,
    strategy: Option<Arc<dyn ContextStrategy>>,
    clock: Option<Arc<dyn Clock>>,
    thresholds: Option<Thresholds>,
    policy: ViewPolicy,
    hooks: HookRegistry,
    proactive: ProactiveCompression,
    per_turn: PerTurn,
}

impl MemoryBuilder {
    /// Sets the store of conversations.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the token counter, which is used for budgets and at appending.
    #[must_use]
    pub fn token_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// Sets the retriever, which recalls exact words. Without it a prompt is the history alone.
    #[must_use]
    pub fn retriever(mut self, retriever: Arc<dyn Retriever>) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// Sets the model that judges, within limits, which summaries matter for a question, in the prompts that ask for it
    /// ([`PromptOptions::smart_context`](crate::PromptOptions::smart_context)).
    #[must_use]
    pub fn judge(mut self, model: Arc<dyn ChatModel>, limits: SpendLimits) -> Self {
        self.judge = Some(Judge::new(model, limits));
        self
    }

    /// Sets the summarizer; [`Spans`] by default.
    #[must_use]
    pub fn summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// Sets the fallback that writes a summary, under its own name, when [`Self::summarizer`] fails; [`FirstWords`] by
    /// default.
    ///
    /// The summarizer is tried again for the next summary. After three failures in a row it is not called again in that
    /// compaction.
    #[must_use]
    pub fn fallback_summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.fallback_summarizer = Some(summarizer);
        self
    }

    /// Sets the scorer of messages that are being summarized. Without it all have the same importance.
    #[must_use]
    pub fn scorer(mut self, scorer: Arc<dyn ImportanceScorer>) -> Self {
        self.scorer = Some(scorer);
        self
    }

    /// Sets the fallback for when [`Self::scorer`] fails. Without it messages keep their importance.
    #[must_use]
    pub fn fallback_scorer(mut self, scorer: Arc<dyn ImportanceScorer>) -> Self {
        self.fallback_scorer = Some(scorer);
        self
    }

    /// Sets a manager of the program's own; by default conversations are kept by the summary tree, as
    /// [`Self::strategy`] decides, with the summarizer and the scorer. A manager of the program's own was given what it
    /// needs when it was made. Its hooks come after those that [`Self::hooks`] set.
    #[must_use]
    pub fn manager(mut self, manager: Arc<dyn ConversationManager>) -> Self {
        self.manager = Some(manager);
        self
    }

    /// Builds the manager on the one that would be there otherwise, which `make` is given: as a
    /// [`DerivedManager`](memory_core::DerivedManager), which passes on whatever it does not do itself. Called again,
    /// it builds on the manager that is derived so far.
    #[must_use]
    pub fn derived(
        mut self,
        make: impl FnOnce(Arc<dyn ConversationManager>) -> Arc<dyn ConversationManager> + Send + Sync + 'static,
    ) -> Self {
        self.derived.push(MakeDerived(Box::new(make)));
        self
    }

    /// Sets the strategy, which decides which summaries are written and what a view shows, by its type, such as
    /// [`TieredView`](memory_core::plan::TieredView); [`HierarchicalView`] by default.
    /// [`manager_named`](memory_core::plan::manager_named) gives one by name.
    #[must_use]
    pub fn strategy(mut self, strategy: Arc<dyn ContextStrategy>) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Sets the clock; [`SystemClock`] by default.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets when compaction starts and stops, in place of what the strategy has. Building fails where it
    /// [takes no thresholds](ContextStrategy::with_thresholds), and under a manager of the program's own.
    #[must_use]
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = Some(thresholds);
        self
    }

    /// Sets the policy of views.
    #[must_use]
    pub fn view_policy(mut self, policy: ViewPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets from which share of a model's window on a conversation is reduced before the model is called; off by
    /// default. See [`Invocation::before_model_call`](crate::Invocation::before_model_call).
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

    /// Sets the hooks.
    #[must_use]
    pub fn hooks(mut self, hooks: HookRegistry) -> Self {
        self.hooks = hooks;
        self
    }

    /// Builds the memory.
    ///
    /// # Errors
    /// When the store or the token counter is missing, the thresholds contradict each other, or the manager takes none.
    pub fn build(self) -> Result<Memory, BuildError> {
        let strategy = self.strategy.unwrap_or_else(|| Arc::new(HierarchicalView::default()));
        let strategy = match self.thresholds {
            None => strategy,
            Some(thresholds) => {
                let own = self.manager.as_ref().map(|manager| manager.identity());
                under(strategy.as_ref(), thresholds, own)?
            }
        };
        let ports = Arc::new(Ports {
            store: self.store.ok_or(BuildError::Missing("store"))?,
            counter: self.counter.ok_or(BuildError::Missing("token_counter"))?,
            retriever: self.retriever,
            judge: self.judge,
            summarizer: self.summarizer.unwrap_or_else(|| Arc::new(Spans)),
            fallback_summarizer: self.fallback_summarizer.unwrap_or_else(|| Arc::new(FirstWords)),
            scorer: self.scorer,
            fallback_scorer: self.fallback_scorer,
            strategy,
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            policy: self.policy,
            registered: OnceLock::new(),
            proactive: self.proactive,
            per_turn: self.per_turn,
            calls: Calls::default(),
            snapshots: SnapshotCache::default(),
            counts: Counts::default(),
            uses: Uses::default(),
            compacting: Turns::default(),
            said: Said::default(),
        });
        let base = self.manager.unwrap_or_else(|| Arc::new(TreeManager::new(Arc::clone(&ports))));
        let manager = self.derived.into_iter().fold(base, |base, MakeDerived(make)| make(base));
        let mut hooks = self.hooks;
        Arc::clone(&manager).register(&mut hooks);
        // These ports are new: nothing else has set them.
        let _ = ports.registered.set(hooks);
        let parts = Parts { ports, manager, queue: Arc::default(), windows: Windows::default() };
        Ok(Memory { parts: Arc::new(parts) })
    }
}

/// The strategy with compaction by these thresholds, unless a manager of the program's `own` takes its place.
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
