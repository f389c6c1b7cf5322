//! One conversation of a memory.

use std::future::Future;

use memory_core::{
    Appended, ConversationId, ConversationState, ManagerState, Mark, Message, Node, NodeId, NodeRange, Period,
    Retrieved, Scope, SummaryId, Timestamp,
};
use memory_hooks::{
    Added, AsOf, Conversation as Inner, ConversationStats, DerivedState, DetailedNodes, LevelPage, LevelsRequest,
    OverTime, Prompt, PromptOptions, Reminder, RepairedSummary, Resummarize, ResummarizeReport, SummariesRequest,
    SummaryPage, Title,
};
use memory_search::{FindRequest, Found};

use crate::{Error, Memory};

/// A handle on a conversation. Cheap to clone; the conversation begins with its first message.
///
/// Its calls run on the threads of the [`Memory`], which it keeps open.
#[derive(Clone, Debug)]
pub struct Conversation {
    memory: Memory,
    inner: Inner,
}

impl Conversation {
    pub(crate) fn new(memory: Memory, inner: Inner) -> Self {
        Self { memory, inner }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        self.inner.id()
    }

    /// The memory that it belongs to.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Runs a call on a thread of the memory.
    pub(crate) async fn call<T, F>(&self, call: impl FnOnce(Inner) -> F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        self.memory.run(call(self.inner.clone())).await
    }

    /// Appends a message with the current time. Returns once it is on disk. If the future is dropped after it was
    /// polled, the message is appended nevertheless, once.
    ///
    /// A user's message that asks to be excluded from summaries is marked so.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn append(&self, message: Message) -> Result<Appended, Error> {
        let appends = self.memory.on_append();
        self.call(|inner| async move {
            let appended = inner.append(message).await?;
            appends(inner.id().clone());
            Ok(appended)
        })
        .await
    }

    /// Appends messages with the times at which they were said, all or none.
    ///
    /// # Errors
    /// When the store fails; then nothing is appended.
    pub async fn append_batch(&self, batch: Vec<(Message, Timestamp)>) -> Result<Vec<Appended>, Error> {
        let appends = self.memory.on_append();
        self.call(|inner| async move {
            let appended = inner.append_batch(batch).await?;
            appends(inner.id().clone());
            Ok(appended)
        })
        .await
    }

    /// Appends a message and calls the hooks. Returns the outgoing copy for the model.
    ///
    /// # Errors
    /// When the store or a hook fails. After a failure of a hook the message is appended nonetheless.
    pub async fn add_message(&self, message: Message) -> Result<Added, Error> {
        let appends = self.memory.on_append();
        self.call(|inner| async move {
            let added = inner.add_message(message).await;
            appends(inner.id().clone());
            Ok(added?)
        })
        .await
    }

    /// The same for a program that keeps its model's list by itself: hooks add nothing of the messages that are
    /// `visible` there verbatim.
    ///
    /// # Errors
    /// As [`Self::add_message`].
    pub async fn add_message_beside(&self, message: Message, visible: Vec<NodeRange>) -> Result<Added, Error> {
        let appends = self.memory.on_append();
        self.call(|inner| async move {
            let added = inner.add_message_beside(message, visible).await;
            appends(inner.id().clone());
            Ok(added?)
        })
        .await
    }

    /// Assembles what a model is shown for a question, within 4,000 tokens; see [`Self::prompt_with`].
    ///
    /// # Errors
    /// As [`Self::prompt_with`].
    pub async fn prompt(&self, question: &str) -> Result<Prompt, Error> {
        self.prompt_with(question, &PromptOptions::default()).await
    }

    /// Assembles what a model is shown for a question: every message represented exactly once, and the exact words that
    /// answer the question, within the budget of `options`. It is recorded, unless the options disable it, and
    /// [`Self::as_of`] shows it again.
    ///
    /// # Errors
    /// [`MemoryError::Plan`](memory_hooks::MemoryError::Plan) with the tokens needed when no view fits the budget;
    /// otherwise when a part fails.
    pub async fn prompt_with(&self, question: &str, options: &PromptOptions) -> Result<Prompt, Error> {
        let (question, options, words_only) = (question.to_owned(), options.clone(), self.memory.words_only());
        self.call(|inner| async move {
            let mut prompt = inner.prompt(&question, &options).await?;
            words_only.once(&mut prompt.notices);
            Ok(prompt)
        })
        .await
    }

    /// The prompt for the next call of an agent's model, after its last message was appended: what was shown at the
    /// turn before, byte for byte, and what was said since, with what is recalled for the last message of the user
    /// before it. A provider reads its cache; see [`memory_hooks::Conversation::turn`].
    ///
    /// # Errors
    /// As [`Self::prompt_with`].
    pub async fn turn(&self, options: &PromptOptions) -> Result<Prompt, Error> {
        let (options, words_only) = (options.clone(), self.memory.words_only());
        self.call(|inner| async move {
            let mut prompt = inner.turn(&options).await?;
            words_only.once(&mut prompt.notices);
            Ok(prompt)
        })
        .await
    }

    /// The prompt for a question that is asked aside of a running agent. It changes no later [`turn`](Self::turn).
    ///
    /// # Errors
    /// As [`Self::prompt_with`].
    pub async fn aside(&self, question: &str, options: &PromptOptions) -> Result<Prompt, Error> {
        let (question, options, words_only) = (question.to_owned(), options.clone(), self.memory.words_only());
        self.call(|inner| async move {
            let mut prompt = inner.aside(&question, &options).await?;
            words_only.once(&mut prompt.notices);
            Ok(prompt)
        })
        .await
    }

    /// A smaller prompt for the same question, after the window of the model overflowed with `overflowed`; call it
    /// again with the prompt that still did not fit.
    ///
    /// # Errors
    /// [`MemoryError::Plan`](memory_hooks::MemoryError::Plan) with the tokens needed when nothing smaller exists;
    /// otherwise when a part fails.
    pub async fn reduce(&self, overflowed: &Prompt, options: &PromptOptions) -> Result<Prompt, Error> {
        let (overflowed, options, words_only) = (overflowed.clone(), options.clone(), self.memory.words_only());
        self.call(|inner| async move {
            let mut prompt = inner.reduce(&overflowed, &options).await?;
            words_only.once(&mut prompt.notices);
            Ok(prompt)
        })
        .await
    }

    /// The last prompt that a model was shown at that point, byte for byte.
    ///
    /// # Errors
    /// When nothing was shown by then, or it cannot be shown again exactly.
    pub async fn as_of(&self, as_of: AsOf) -> Result<Prompt, Error> {
        self.call(|inner| async move { Ok(inner.as_of(as_of).await?) }).await
    }

    /// The messages that answer a question best.
    ///
    /// # Errors
    /// When the retriever fails.
    pub async fn search(&self, question: &str, limit: usize) -> Result<Retrieved, Error> {
        let (question, words_only) = (question.to_owned(), self.memory.words_only());
        self.call(|inner| async move {
            let mut found = inner.search(&question, limit).await?;
            words_only.once(&mut found.notices);
            Ok(found)
        })
        .await
    }

    /// The matches of a regular expression, at most `limit`, as [`Memory::find`] finds them.
    ///
    /// # Errors
    /// When the pattern is not valid, or the store fails.
    pub async fn find(&self, pattern: &str, limit: usize) -> Result<Found, Error> {
        let (pattern, store) = (pattern.to_owned(), self.memory.parts().store.clone());
        self.call(|inner| async move {
            let request = FindRequest::new(&pattern, Scope::one(inner.id())).limit(limit);
            Ok(memory_search::find(&*store, &request).await?)
        })
        .await
    }

    /// A message, exactly as it was said.
    ///
    /// # Errors
    /// When the node does not exist, or the store fails.
    pub async fn expand(&self, node: NodeId) -> Result<Node, Error> {
        self.call(|inner| async move { Ok(inner.expand(node).await?) }).await
    }

    /// The messages of a run that exist, exactly as they were said.
    ///
    /// # Errors
    /// When one of them cannot be read, or there is no such conversation.
    pub async fn messages(&self, range: NodeRange) -> Result<Vec<Node>, Error> {
        let store = self.memory.parts().memory.store().clone();
        self.call(|inner| async move { Ok(store.nodes(inner.id(), range).await?) }).await
    }

    /// Pins a message, which then stays verbatim in every view that it fits, or unpins it.
    ///
    /// # Errors
    /// When the node does not exist, or the store fails.
    pub async fn pin(&self, node: NodeId, pinned: bool) -> Result<(), Error> {
        self.call(|inner| async move { Ok(inner.pin(node, pinned).await?) }).await
    }

    /// The title that somebody set, or else one that is derived from the first message.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn title(&self) -> Result<Option<Title>, Error> {
        self.call(|inner| async move { Ok(inner.title().await?) }).await
    }

    /// Sets its title; an empty one takes back what was set.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn set_title(&self, title: &str) -> Result<(), Error> {
        let title = title.to_owned();
        self.call(|inner| async move { Ok(inner.set_title(&title).await?) }).await
    }

    /// Its tags, sorted.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn tags(&self) -> Result<Vec<String>, Error> {
        self.call(|inner| async move { Ok(inner.tags().await?) }).await
    }

    /// Sets its tags, all of them. Marks stay.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn set_tags(&self, tags: &[String]) -> Result<(), Error> {
        let tags = tags.to_vec();
        self.call(|inner| async move { Ok(inner.set_tags(&tags).await?) }).await
    }

    /// True if the conversation has a mark.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn is_marked(&self, mark: Mark) -> Result<bool, Error> {
        self.call(move |inner| async move { Ok(inner.is_marked(mark).await?) }).await
    }

    /// Marks it as important or as archived, or takes the mark back.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn mark(&self, mark: Mark, is_set: bool) -> Result<(), Error> {
        self.call(move |inner| async move { Ok(inner.mark(mark, is_set).await?) }).await
    }

    /// Its state, as it follows from the log: goal, decisions, open questions, subjects.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn state(&self) -> Result<DerivedState, Error> {
        self.call(|inner| async move { Ok(inner.state().await?) }).await
    }

    /// Where it stood, in at most `budget` tokens, for when it is resumed.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn reminder(&self, budget: u32) -> Result<Reminder, Error> {
        self.call(move |inner| async move { Ok(inner.reminder(budget).await?) }).await
    }

    /// The messages of a run with what follows from the rest of the conversation: levels, links, results of calls.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn details(&self, range: NodeRange) -> Result<DetailedNodes, Error> {
        self.call(move |inner| async move { Ok(inner.details(range).await?) }).await
    }

    /// A page of a level of the conversation, or of the top of its tree: summaries, and messages that have none.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn levels(&self, request: LevelsRequest) -> Result<LevelPage, Error> {
        self.call(move |inner| async move { Ok(inner.levels(request).await?) }).await
    }

    /// Its messages, tokens, times and tags, as they are now.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn overview(&self) -> Result<ConversationState, Error> {
        let store = self.memory.parts().store.clone();
        self.call(|inner| async move { Ok(store.conversation(inner.id()).await?) }).await
    }

    /// Begins the conversation `child`, which continues this one after `node` and has the messages up to there.
    ///
    /// # Errors
    /// When the conversation or node does not exist, when the name is taken, or when the store fails.
    pub async fn fork(&self, node: NodeId, child: ConversationId) -> Result<Self, Error> {
        let appends = self.memory.on_append();
        let inner = self
            .call(|inner| async move {
                let forked = inner.fork(node, child).await?;
                appends(forked.id().clone());
                Ok(forked)
            })
            .await?;
        Ok(Self::new(self.memory.clone(), inner))
    }

    /// State of the manager that the log does not hold, for a session that keeps it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn manager_state(&self) -> Result<ManagerState, Error> {
        self.call(|inner| async move { Ok(inner.manager_state().await?) }).await
    }

    /// Gives the manager a state that [`manager_state`](Self::manager_state) gave. Returns messages to put before those
    /// of the session; none for the default manager, whose summaries are in the log.
    ///
    /// # Errors
    /// [`MemoryError::Manager`](memory_hooks::MemoryError::Manager) for the state of another manager; then nothing
    /// changed.
    pub async fn restore_manager(&self, state: &ManagerState) -> Result<Vec<Message>, Error> {
        let state = state.clone();
        self.call(|inner| async move { Ok(inner.restore_manager(&state).await?) }).await
    }

    /// Keeps the state of the manager that the log does not hold, if there is any and it has changed, for
    /// [`initialize`](Self::initialize) to restore, also in another process.
    /// [`Invocation::end`](crate::Invocation::end) calls it. Returns whether it was written.
    ///
    /// # Errors
    /// [`MemoryError::Manager`](memory_hooks::MemoryError::Manager) where the state of another manager is kept;
    /// otherwise when the store fails.
    pub async fn keep_manager_state(&self) -> Result<bool, Error> {
        self.call(|inner| async move { Ok(inner.keep_manager_state().await?) }).await
    }

    /// The state of a manager that is kept of the conversation.
    ///
    /// # Errors
    /// When it cannot be read, or the store fails.
    pub async fn kept_manager_state(&self) -> Result<Option<ManagerState>, Error> {
        self.call(|inner| async move { Ok(inner.kept_manager_state().await?) }).await
    }

    /// Forgets the kept state, so that another manager may keep its own. The log still has it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_manager_state(&self) -> Result<(), Error> {
        self.call(|inner| async move { Ok(inner.forget_manager_state().await?) }).await
    }

    /// Writes existing summaries again from the same messages, with the current summarizer.
    ///
    /// # Errors
    /// When other background work on the store is under way, when a strategy and its fallback fail, or the store does.
    pub async fn resummarize(&self, what: Resummarize) -> Result<ResummarizeReport, Error> {
        self.call(|inner| async move { Ok(inner.resummarize(what, &()).await?) }).await
    }

    /// Puts other words in the place of a summary, as a person wants them; `by` is the person's name, which may be
    /// empty. The old ones stay in the log.
    ///
    /// # Errors
    /// [`MemoryError::Repair`](memory_hooks::MemoryError::Repair) when there is no such summary, or the text does not
    /// fit its place; otherwise as [`Self::resummarize`].
    pub async fn rewrite_summary(&self, summary: SummaryId, text: &str, by: &str) -> Result<RepairedSummary, Error> {
        let (text, by) = (text.to_owned(), by.to_owned());
        self.call(move |inner| async move { Ok(inner.rewrite_summary(summary, &text, &by).await?) }).await
    }

    /// Dissolves a META or an ARCHIVE, whose parts are then shown in its place until it is rewritten.
    ///
    /// # Errors
    /// [`MemoryError::Repair`](memory_hooks::MemoryError::Repair) when there is no such summary, or it has no parts, or
    /// they are shown already; otherwise as [`Self::resummarize`].
    pub async fn dissolve_summary(&self, summary: SummaryId, by: &str) -> Result<RepairedSummary, Error> {
        let by = by.to_owned();
        self.call(move |inner| async move { Ok(inner.dissolve_summary(summary, &by).await?) }).await
    }

    /// A page of the summaries that were recorded, those that were replaced as well where that is asked for.
    ///
    /// # Errors
    /// When the conversation does not exist, or the store fails.
    pub async fn summaries(&self, request: SummariesRequest) -> Result<SummaryPage, Error> {
        self.call(move |inner| async move { Ok(inner.summaries(request).await?) }).await
    }

    /// Sources of a summary: other summaries, or at most `limit` messages.
    ///
    /// # Errors
    /// When there is no such summary, or the store fails.
    pub async fn levels_below(&self, summary: SummaryId, limit: usize) -> Result<LevelPage, Error> {
        self.call(move |inner| async move { Ok(inner.levels_below(summary, limit).await?) }).await
    }

    /// Figures about the conversation.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stats(&self) -> Result<ConversationStats, Error> {
        self.call(|inner| async move { Ok(inner.stats().await?) }).await
    }

    /// The figures of the conversation by days, weeks or months; by those that fit its length without `period`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn over_time(&self, period: Option<Period>) -> Result<OverTime, Error> {
        self.call(move |inner| async move { Ok(inner.over_time(period).await?) }).await
    }
}
