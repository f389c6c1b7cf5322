//! One conversation: append, compact, show, recall.

use std::sync::Arc;

use memory_core::{
    ConversationId, Message, Node, NodeDraft, NodeId, NodeRange, Role, SummaryId, Timestamp, WrittenBy,
    plan::PlanError,
    port::{
        Appended, CompactionReport, ConversationState, Event, IndexReport, Lease, ManagerState, Progress, Query,
        Retrieved, Scope,
    },
};
use memory_search::{FindRequest, Found};

use crate::{
    ConversationStats, Memory, MemoryError, MessageAdded, Prompt, PromptOptions, RepairedSummary, Resummarize,
    ResummarizeReport,
    kept_out::asks_to_be_kept_out,
    manager::{
        repairing::{self, Repair},
        rewriting,
    },
    parts::Parts,
    prompt::{self, Request, visible},
    snapshot_cache::Snapshot,
    threads::Threads,
    zone,
};

/// A handle on a conversation. Cheap to clone; the conversation begins with its first message.
#[derive(Clone, Debug)]
pub struct Conversation {
    pub(crate) parts: Arc<Parts>,
    pub(crate) id: ConversationId,
    pub(crate) threads: Threads,
}

/// A message that was appended and passed to the hooks.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Added {
    /// Position of the message.
    pub appended: Appended,
    /// The outgoing copy for the model, with the hooks' additions.
    pub outgoing: Message,
    /// Earlier messages whose words the hooks added to the outgoing copy, in order; empty if no memory was used.
    pub recalled: Vec<NodeRange>,
}

impl Conversation {
    /// Id of the conversation.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// The memory that the conversation belongs to.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory { parts: Arc::clone(&self.parts), threads: self.threads.clone() }
    }

    /// Forks this conversation after `node` into `child`, which has the messages up to there as its shared prefix; see
    /// [`Store::fork`](memory_core::port::Store::fork).
    ///
    /// # Errors
    /// If the conversation or node does not exist, the name is taken, or the store fails.
    pub async fn fork(&self, node: NodeId, child: ConversationId) -> Result<Self, MemoryError> {
        let forked = Self { id: child.clone(), ..self.clone() };
        let work = move |this: Self| async move {
            this.parts.store.fork(&this.id, node, &child).await?;
            this.parts.grew(&child);
            Ok(())
        };
        self.call(work).await.map(|()| forked)
    }

    /// Appends a message with the current time. Returns once the message is on disk.
    ///
    /// A user's message that asks to be excluded from summaries is marked as such.
    ///
    /// # Errors
    /// If the store fails, or the memory's [redaction](crate::MemoryBuilder::redaction) refuses the message.
    pub async fn append(&self, message: Message) -> Result<Appended, MemoryError> {
        let at = self.parts.clock.now();
        let appended = self.append_batch(vec![(message, at)]).await?;
        appended.into_iter().next().ok_or_else(|| unreachable_append(&self.id))
    }

    /// Appends messages with the times at which they were said, all or none.
    ///
    /// # Errors
    /// If the store fails, or a message is refused; then nothing is appended.
    pub async fn append_batch(&self, batch: Vec<(Message, Timestamp)>) -> Result<Vec<Appended>, MemoryError> {
        self.call(move |this| async move {
            let mut redacted = Vec::with_capacity(batch.len());
            for (message, at) in batch {
                redacted.push((this.redact(message).await?, at));
            }
            let draft = |(mut message, at): (Message, Timestamp)| {
                let text = message.text();
                message.keep_out_of_summaries |= message.role == Role::User && asks_to_be_kept_out(&text);
                NodeDraft::new(message, at, this.parts.counter.count(&text))
            };
            let drafts: Vec<_> = redacted.into_iter().map(draft).collect();
            let appended = zone::append(&this.parts, &this.id, drafts).await?;
            this.parts.grew(&this.id);
            Ok(appended)
        })
        .await
    }

    /// Appends a message and calls the hooks. Returns the outgoing copy for the model. Hooks add nothing that
    /// [`turn`](Self::turn) showed the agent last.
    ///
    /// # Errors
    /// If the store or a hook fails. After a failure of a hook the message is still appended.
    pub async fn add_message(&self, message: Message) -> Result<Added, MemoryError> {
        let visible = self.parts.windows.get(&self.id).map(|window| visible(&window.shown)).unwrap_or_default();
        self.add_message_with_visible(message, visible).await
    }

    /// [`Self::add_message`] for a program that keeps its model's message list itself: hooks add nothing of the
    /// messages that are `visible` there verbatim.
    ///
    /// # Errors
    /// Same as [`Self::add_message`].
    pub async fn add_message_with_visible(
        &self,
        message: Message,
        visible: Vec<NodeRange>,
    ) -> Result<Added, MemoryError> {
        self.call(move |this| async move {
            let appended = this.append(message.clone()).await?;
            let (conversation, node) = (this.id.clone(), appended.node);
            let mut event = MessageAdded { conversation, node, outgoing: message, visible, recalled: Vec::new() };
            this.parts.hooks().dispatch(&mut event).await?;
            Ok(Added { appended, outgoing: event.outgoing, recalled: event.recalled })
        })
        .await
    }

    /// Performs the compaction that is due. [`Self::prompt`] does so itself, unless [`Memory::background`] runs.
    ///
    /// # Errors
    /// If a strategy or the store fails. Summaries recorded before stay; nothing else changes.
    ///
    /// [`Memory::background`]: crate::Memory::background
    pub async fn compact(&self) -> Result<CompactionReport, MemoryError> {
        self.call(|this| async move { this.compact_with(&()).await }).await
    }

    /// [`Self::compact`] with its progress. Runs where the future is polled, since the borrowed progress cannot move to
    /// a thread.
    ///
    /// # Errors
    /// Same as [`Self::compact`].
    pub async fn compact_with(&self, progress: &dyn Progress) -> Result<CompactionReport, MemoryError> {
        self.parts.manage(&self.id, progress).await
    }

    /// Rewrites existing summaries from the same messages with the current summarizer of this memory. The old ones stay
    /// in the log, superseded: recorded views show them, later views show the new ones. Summaries that a person wrote
    /// or dissolved stay unless [`Resummarize::also_by_person`] is set. A rewrite never runs automatically. Summaries
    /// that were recorded before a cancellation stay.
    ///
    /// # Errors
    /// If the conversation, node or summary does not exist; if other background work on the store is under way
    /// ([`StoreError::Locked`](memory_core::port::StoreError::Locked), [`MemoryError::AtWork`]); if a strategy and its
    /// fallback fail, or the store does.
    pub async fn resummarize(&self, what: Resummarize) -> Result<ResummarizeReport, MemoryError> {
        self.call(move |this| async move { this.resummarize_with(what, &()).await }).await
    }

    /// [`Self::resummarize`] with its progress. Runs where the future is polled, since the borrowed progress cannot
    /// move to a thread.
    ///
    /// # Errors
    /// Same as [`Self::resummarize`].
    pub async fn resummarize_with(
        &self,
        what: Resummarize,
        progress: &dyn Progress,
    ) -> Result<ResummarizeReport, MemoryError> {
        rewriting::resummarize(&self.parts, &self.id, what, progress).await
    }

    /// Replaces the words of a summary by a person's. `summary` is the number of any record of that place, `by` the
    /// person's name, which may be empty. Hidden characters and words of messages that are kept out of summaries are
    /// removed. The old record stays in the log: recorded views show it, later views show the new one.
    ///
    /// # Errors
    /// [`RepairError`](crate::RepairError) if the summary does not exist, the text is blank or longer than a summary of
    /// these messages may be, or a message is kept out of summaries. Otherwise as [`Self::resummarize`].
    pub async fn rewrite_summary(
        &self,
        summary: SummaryId,
        text: &str,
        by: &str,
    ) -> Result<RepairedSummary, MemoryError> {
        let (text, by) = (text.to_owned(), by.to_owned());
        self.call(move |this| async move {
            let by = WrittenBy::person(&by);
            repairing::repair(&this.parts, &this.id, summary, Repair::Words(&text), by).await
        })
        .await
    }

    /// Dissolves a META or an ARCHIVE: views show its parts instead, until it is rewritten. Its words stay in the log
    /// and in recorded views.
    ///
    /// # Errors
    /// [`RepairError`](crate::RepairError) if the summary does not exist, has no parts, or is dissolved already.
    /// Otherwise as [`Self::resummarize`].
    pub async fn dissolve_summary(&self, summary: SummaryId, by: &str) -> Result<RepairedSummary, MemoryError> {
        let by = by.to_owned();
        self.call(move |this| async move {
            repairing::repair(&this.parts, &this.id, summary, Repair::Parts, WrittenBy::person(&by)).await
        })
        .await
    }

    /// State of the manager for the conversation, in addition to the log, for a session that stores it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn manager_state(&self) -> Result<ManagerState, MemoryError> {
        self.call(|this| async move { Ok(this.parts.manager.state(&this.id).await?) }).await
    }

    /// Restores a state that [`manager_state`](Self::manager_state) returned. Returns messages to put before those of
    /// the session; none for the hierarchical manager, whose summaries are in the log.
    ///
    /// # Errors
    /// [`MemoryError::Manager`] for the state of another manager; nothing changes then.
    pub async fn restore_manager(&self, state: &ManagerState) -> Result<Vec<Message>, MemoryError> {
        let state = state.clone();
        self.call(move |this| async move {
            let before = this.parts.manager.restore(&this.id, &state).await?;
            this.restored().await?;
            Ok(before)
        })
        .await
    }

    /// Brings the caches of recall up to the last message. Recall itself catches up on the few messages of a turn, but
    /// not on many or very long ones; its answers report the gap until this is called.
    ///
    /// # Errors
    /// If the retriever fails.
    pub async fn index(&self) -> Result<IndexReport, MemoryError> {
        self.call(|this| async move { this.index_with(&()).await }).await
    }

    /// [`Self::index`] with its progress. Runs where the future is polled, since the borrowed progress cannot move to a
    /// thread.
    ///
    /// # Errors
    /// Same as [`Self::index`].
    pub async fn index_with(&self, progress: &dyn Progress) -> Result<IndexReport, MemoryError> {
        match &self.parts.retriever {
            Some(retriever) => Ok(retriever.catch_up(&self.id, progress).await?),
            None => Ok(IndexReport::default()),
        }
    }

    /// Assembles the prompt for a question within 4,000 tokens; see [`Self::prompt_with`].
    ///
    /// # Errors
    /// Same as [`Self::prompt_with`].
    pub async fn prompt(&self, question: &str) -> Result<Prompt, MemoryError> {
        self.prompt_with(question, &PromptOptions::default()).await
    }

    /// Assembles the prompt for a question within the budget of `options`: every message represented exactly once, and
    /// the exact words that answer the question. The view is recorded, unless the options disable it or it equals the
    /// last one. [`Self::as_of`] shows it again.
    ///
    /// # Errors
    /// [`MemoryError::Plan`] with the tokens needed if no view fits the budget, [`MemoryError::QuestionTooLong`] if the
    /// question is the cause; otherwise if a port fails.
    pub async fn prompt_with(&self, question: &str, options: &PromptOptions) -> Result<Prompt, MemoryError> {
        let (question, options) = (self.parts.redacted_question(question.to_owned()), options.clone());
        self.call(move |this| async move {
            let instructions = this.instructions(&options);
            let most = options.budget;
            let options = options.without(instructions);
            let request = Request { question: &question, options: options.clone(), longest_result: None };
            let prompt = prompt::assemble(&this.parts, &this.id, request).await;
            let prompt =
                prompt.map_err(|error| this.blamed(&question, with_instructions(instructions, most, error)))?;
            Ok(this.recorded(&options, prompt).await)
        })
        .await
    }

    /// The prompt for the next call of an agent's model, after its last message was appended, without a separate
    /// question.
    ///
    /// The prompt repeats the previous turn's byte for byte, followed by the messages since, so that the provider reads
    /// its cache. Once for each message of the user, relevant messages that are not visible are recalled and placed
    /// before it, within [`PromptOptions::turn_share`], and stay there. If the prompt exceeds the budget, the history
    /// shrinks to [`PromptOptions::window_floor`], without earlier recalled messages. Another process continues with
    /// the last recorded window. Only this conversation is recalled from.
    ///
    /// # Errors
    /// [`MemoryError::Plan`] with the tokens needed if no view fits the budget; otherwise if a port fails.
    pub async fn turn(&self, options: &PromptOptions) -> Result<Prompt, MemoryError> {
        let options = options.clone();
        self.call(move |this| async move {
            let instructions = this.instructions(&options);
            let options = options.without(instructions);
            let prompt = prompt::turn(&this.parts, &this.id, &options).await;
            Ok(this
                .recorded(&options, prompt.map_err(|error| with_instructions(instructions, options.budget, error))?)
                .await)
        })
        .await
    }

    /// The prompt for a side question to a running agent: the text that [`turn`](Self::turn) shows, messages recalled
    /// for the question, and the question. Only its record affects later prompts.
    ///
    /// # Errors
    /// Same as [`turn`](Self::turn), and [`MemoryError::QuestionTooLong`].
    pub async fn aside(&self, question: &str, options: &PromptOptions) -> Result<Prompt, MemoryError> {
        let (question, options) = (self.parts.redacted_question(question.to_owned()), options.clone());
        self.call(move |this| async move {
            let instructions = this.instructions(&options);
            let options = options.without(instructions);
            let prompt = prompt::aside(&this.parts, &this.id, &question, &options).await;
            let blamed = |error| this.blamed(&question, with_instructions(instructions, options.budget, error));
            Ok(this.recorded(&options, prompt.map_err(blamed)?).await)
        })
        .await
    }

    /// [`MemoryError::QuestionTooLong`] if the question is over half of a text that does not fit; otherwise `error`.
    fn blamed(&self, question: &str, error: MemoryError) -> MemoryError {
        let MemoryError::Plan(PlanError::BudgetTooSmall { needed, budget }) = error else { return error };
        let question = self.parts.count(question);
        if question <= needed / 2 {
            return error;
        }
        MemoryError::QuestionTooLong { question, needed, budget }
    }

    /// A smaller prompt for the same question, after the window of the model overflowed with `overflowed`. The prompt
    /// has strictly fewer tokens than `overflowed`, and at most the budget of `options`, which may be the limit that
    /// the model reports. If the model reports no limit, call this again with each prompt that still did not fit: at
    /// most six steps are needed.
    ///
    /// First, oversized tool results are shortened to their heads and tails. Then the view is cut for half of the
    /// tokens, repeatedly, and summaries are written at once where needed. The last step is the coarsest view. The log
    /// keeps every message whole, tool calls stay with their results, and pinned messages stay while they fit.
    ///
    /// # Errors
    /// [`MemoryError::Plan`] with the tokens needed if nothing smaller exists; otherwise if a port fails.
    pub async fn reduce(&self, overflowed: &Prompt, options: &PromptOptions) -> Result<Prompt, MemoryError> {
        let (overflowed, options) = (overflowed.clone(), options.clone());
        self.call(move |this| async move {
            let instructions = this.instructions(&options);
            let most = options.budget;
            let options = options.without(instructions);
            let prompt = prompt::reduce(&this.parts, &this.id, &options, &overflowed).await;
            Ok(this.recorded(&options, prompt.map_err(|error| with_instructions(instructions, most, error))?).await)
        })
        .await
    }

    /// Tokens of the options' instructions.
    fn instructions(&self, options: &PromptOptions) -> u32 {
        options.instructions.as_deref().map_or(0, |instructions| self.parts.count(instructions))
    }

    async fn recorded(&self, options: &PromptOptions, mut prompt: Prompt) -> Prompt {
        prompt.instructions.clone_from(&options.instructions);
        self.parts.once(&mut prompt.notices);
        if options.record {
            prompt::record(&self.parts, &self.id, &mut prompt).await;
        }
        prompt
    }

    /// The messages that answer a question best.
    ///
    /// # Errors
    /// If the retriever fails.
    pub async fn search(&self, question: &str, limit: usize) -> Result<Retrieved, MemoryError> {
        let question = question.to_owned();
        self.call(move |this| async move {
            this.parts.search(&Query::new(&question, Scope::one(&this.id)).limit(limit)).await
        })
        .await
    }

    /// The matches of a regular expression, at most `limit`, as [`Memory::find`](crate::Memory::find) finds them.
    ///
    /// # Errors
    /// If the pattern is not valid, or the store fails.
    pub async fn find(&self, pattern: &str, limit: usize) -> Result<Found, MemoryError> {
        self.memory().find(FindRequest::new(pattern, Scope::one(&self.id)).limit(limit)).await
    }

    /// A message, verbatim.
    ///
    /// # Errors
    /// If the node does not exist, or the store fails.
    pub async fn expand(&self, node: NodeId) -> Result<Node, MemoryError> {
        self.call(move |this| async move {
            let found = this.parts.store.node(&this.id, node).await?;
            this.parts.uses.add(&this.id, [node]);
            Ok(found)
        })
        .await
    }

    /// The existing messages of a run, verbatim.
    ///
    /// # Errors
    /// If one of them cannot be read, or the conversation does not exist.
    pub async fn messages(&self, range: NodeRange) -> Result<Vec<Node>, MemoryError> {
        self.call(move |this| async move { Ok(this.parts.store.nodes(&this.id, range).await?) }).await
    }

    /// Messages, tokens, times and tags of the conversation, as they are now.
    ///
    /// # Errors
    /// If the conversation does not exist, or the store fails.
    pub async fn overview(&self) -> Result<ConversationState, MemoryError> {
        self.call(|this| async move { Ok(this.parts.store.conversation(&this.id).await?) }).await
    }

    /// The right to answer in this conversation, until it is dropped or its process ends. An agent takes it for a turn.
    ///
    /// # Errors
    /// [`StoreError::Locked`](memory_core::port::StoreError::Locked) with the name of the process that answers.
    pub async fn turn_lease(&self) -> Result<Lease, MemoryError> {
        self.call(|this| async move { Ok(this.parts.store.turn_lease(&this.id).await?) }).await
    }

    /// Pins a message, which then stays verbatim in every view that it fits, or unpins one.
    ///
    /// # Errors
    /// If the node does not exist, or the store fails.
    pub async fn pin(&self, node: NodeId, pinned: bool) -> Result<(), MemoryError> {
        self.call(move |this| async move {
            this.parts.store.record(&this.id, vec![Event::Pin { node, pinned }]).await?;
            Ok(())
        })
        .await
    }

    /// Figures about the conversation.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn stats(&self) -> Result<ConversationStats, MemoryError> {
        self.call(|this| async move {
            let state = this.parts.store.conversation(&this.id).await?;
            let snapshot = Snapshot::read(&this.parts, &this.id).await?;
            Ok(ConversationStats::of(&state, &snapshot.tree))
        })
        .await
    }
}

/// `error` with the tokens of the instructions added, for a budget of at most `most`.
fn with_instructions(instructions: u32, most: u32, error: MemoryError) -> MemoryError {
    match error {
        MemoryError::Plan(PlanError::BudgetTooSmall { needed, budget }) => {
            let [needed, budget] = [needed, budget].map(|tokens| tokens.saturating_add(instructions));
            PlanError::BudgetTooSmall { needed, budget: budget.min(most) }.into()
        }
        error => error,
    }
}

/// The error for a store that breaks its contract: one message was appended, and no result was returned.
fn unreachable_append(id: &ConversationId) -> MemoryError {
    let source = format!("an append of one message to `{id}` returned no result").into();
    MemoryError::Store(memory_core::port::StoreError::Backend { backend: "the store", source })
}
