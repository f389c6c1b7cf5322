//! The memory of an agent, put together from ports.

use std::sync::Arc;

use memory_core::{
    BoxFuture, Clock, ContextStrategy, ConversationId, FirstWords, ImportanceScorer, Retriever, Store, Summarizer,
    Timestamp, TokenCounter,
    plan::{HierarchicalView, Thresholds, ViewPolicy},
};
use memory_strategies::Spans;

use crate::{
    BuildError, Conversation, HookRegistry, SystemClock,
    counts::Counts,
    debts::{self, Debts},
    followed::Followed,
    manager::{failing::Said, turns::Turns},
    uses::Uses,
};

/// All conversations of an agent. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(crate) parts: Arc<Parts>,
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) retriever: Option<Arc<dyn Retriever>>,
    pub(crate) summarizer: Arc<dyn Summarizer>,
    pub(crate) fallback_summarizer: Arc<dyn Summarizer>,
    pub(crate) scorer: Option<Arc<dyn ImportanceScorer>>,
    pub(crate) fallback_scorer: Option<Arc<dyn ImportanceScorer>>,
    pub(crate) strategy: Arc<dyn ContextStrategy>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) thresholds: Thresholds,
    pub(crate) policy: ViewPolicy,
    pub(crate) hooks: HookRegistry,
    pub(crate) followed: Followed,
    pub(crate) counts: Counts,
    pub(crate) debts: Arc<Debts>,
    pub(crate) uses: Uses,
    pub(crate) compacting: Turns,
    pub(crate) said: Said,
}

impl Parts {
    /// Tokens of a text, remembered.
    pub(crate) fn count(&self, text: &str) -> u32 {
        self.counts.count(text, self.counter.as_ref())
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.debts.close();
    }
}

impl Memory {
    /// Begins to put a memory together.
    #[must_use]
    pub fn builder() -> MemoryBuilder {
        MemoryBuilder::default()
    }

    /// A conversation, which begins with its first message.
    #[must_use]
    pub fn conversation(&self, id: ConversationId) -> Conversation {
        Conversation::new(Arc::clone(&self.parts), id)
    }

    /// A conversation under a new name (UUIDv7).
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn new_conversation(&self) -> Result<Conversation, getrandom::Error> {
        let mut random = [0; 10];
        getrandom::fill(&mut random)?;
        Ok(self.conversation(ConversationId::generate(self.now(), random)))
    }

    /// Compacts whatever is due, until nothing of this memory is left: to be driven by a task of whatever runtime
    /// there is, or by a thread of its own. While it is, no reply waits for a summary: [`Conversation::context`] shows the
    /// history as it stands, and what was written meanwhile at the next turn. Only a view that fits no budget
    /// otherwise is still compacted at once.
    ///
    /// It begins with what was left undone before, by whichever process: what is due follows from the log. Dropping it
    /// leaves every tree as it was or as it was to become.
    #[must_use]
    pub fn background(&self) -> BoxFuture<'static, ()> {
        debts::work_off(&self.parts)
    }

    /// The store behind it.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// What counts tokens.
    #[must_use]
    pub fn token_counter(&self) -> &Arc<dyn TokenCounter> {
        &self.parts.counter
    }

    fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }
}

/// Puts a [`Memory`] together. Store and token counter have no default.
#[derive(Debug, Default)]
pub struct MemoryBuilder {
    store: Option<Arc<dyn Store>>,
    counter: Option<Arc<dyn TokenCounter>>,
    retriever: Option<Arc<dyn Retriever>>,
    summarizer: Option<Arc<dyn Summarizer>>,
    fallback_summarizer: Option<Arc<dyn Summarizer>>,
    scorer: Option<Arc<dyn ImportanceScorer>>,
    fallback_scorer: Option<Arc<dyn ImportanceScorer>>,
    strategy: Option<Arc<dyn ContextStrategy>>,
    clock: Option<Arc<dyn Clock>>,
    thresholds: Thresholds,
    policy: ViewPolicy,
    hooks: HookRegistry,
}

impl MemoryBuilder {
    /// Where conversations are kept.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// What counts tokens: for budgets, and at appending.
    #[must_use]
    pub fn token_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// What recalls exact words. Without it a context is the history alone.
    #[must_use]
    pub fn retriever(mut self, retriever: Arc<dyn Retriever>) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// What writes summaries; [`Spans`] by default.
    #[must_use]
    pub fn summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// What writes a summary at which [`Self::summarizer`] fails, under its own name; [`FirstWords`] by default.
    ///
    /// Whatever fails is asked again for the next summary. After three failures in a row it is asked no more while that
    /// compaction lasts.
    #[must_use]
    pub fn fallback_summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.fallback_summarizer = Some(summarizer);
        self
    }

    /// What weighs messages when they are summarized; without it all weigh the same.
    #[must_use]
    pub fn scorer(mut self, scorer: Arc<dyn ImportanceScorer>) -> Self {
        self.scorer = Some(scorer);
        self
    }

    /// What weighs messages at which [`Self::scorer`] fails; without it they keep the weight that they have.
    #[must_use]
    pub fn fallback_scorer(mut self, scorer: Arc<dyn ImportanceScorer>) -> Self {
        self.fallback_scorer = Some(scorer);
        self
    }

    /// What chooses the view; [`HierarchicalView`] by default.
    #[must_use]
    pub fn strategy(mut self, strategy: Arc<dyn ContextStrategy>) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// What tells the time; [`SystemClock`] by default.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// When compaction starts and stops.
    #[must_use]
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }

    /// What views weigh.
    #[must_use]
    pub fn view_policy(mut self, policy: ViewPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Who takes part.
    #[must_use]
    pub fn hooks(mut self, hooks: HookRegistry) -> Self {
        self.hooks = hooks;
        self
    }

    /// Puts it together.
    ///
    /// # Errors
    /// When the store or the token counter is missing, or the thresholds contradict each other.
    pub fn build(self) -> Result<Memory, BuildError> {
        self.thresholds.check()?;
        let parts = Parts {
            store: self.store.ok_or(BuildError::Missing("store"))?,
            counter: self.counter.ok_or(BuildError::Missing("token_counter"))?,
            retriever: self.retriever,
            summarizer: self.summarizer.unwrap_or_else(|| Arc::new(Spans)),
            fallback_summarizer: self.fallback_summarizer.unwrap_or_else(|| Arc::new(FirstWords)),
            scorer: self.scorer,
            fallback_scorer: self.fallback_scorer,
            strategy: self.strategy.unwrap_or_else(|| Arc::new(HierarchicalView { thresholds: self.thresholds })),
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            thresholds: self.thresholds,
            policy: self.policy,
            hooks: self.hooks,
            followed: Followed::default(),
            counts: Counts::default(),
            debts: Arc::default(),
            uses: Uses::default(),
            compacting: Turns::default(),
            said: Said::default(),
        };
        Ok(Memory { parts: Arc::new(parts) })
    }
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
        let thresholds = Thresholds { recent_node_limit: 30, ..Thresholds::default() };
        let builder = Memory::builder().store(Arc::new(MemoryStore::default())).token_counter(Arc::new(WordCounter));
        assert!(matches!(builder.thresholds(thresholds).build(), Err(BuildError::Thresholds(_))));
    }
}
