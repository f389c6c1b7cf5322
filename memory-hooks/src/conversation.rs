//! One conversation: appended to, compacted, shown, recalled from.

use std::sync::Arc;

use memory_core::{
    Appended, ConversationId, Event, IndexReport, Message, Node, NodeDraft, NodeId, Progress, Query, Retrieved, Role,
    Scope, Timestamp,
};

use crate::{
    CompactionReport, Context, ContextOptions, ConversationStats, MemoryError, MessageAdded, Resummarize,
    ResummarizeReport, Spending, asks_to_be_kept_out,
    context::{self, Request},
    followed::Snapshot,
    manager::{hierarchical, rewriting},
    memory::Parts,
};

/// A handle on a conversation. Cheap to clone; the conversation begins with its first message.
#[derive(Clone, Debug)]
pub struct Conversation {
    pub(crate) parts: Arc<Parts>,
    pub(crate) id: ConversationId,
}

/// A message that was appended and shown to the hooks.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Its place.
    pub appended: Appended,
    /// The copy that goes out to the model, with what hooks added.
    pub outgoing: Message,
}

impl Conversation {
    pub(crate) fn new(parts: Arc<Parts>, id: ConversationId) -> Self {
        Self { parts, id }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Begins the conversation `child`, which continues this one behind `node` and shares what was said until then, as
    /// [`Store::fork`](memory_core::Store::fork) says.
    ///
    /// # Errors
    /// When there is no such conversation or node, when the name is taken, or when the store fails.
    pub async fn fork(&self, node: NodeId, child: ConversationId) -> Result<Self, MemoryError> {
        self.parts.store.fork(&self.id, node, &child).await?;
        self.parts.debts.owe(&child);
        Ok(Self::new(Arc::clone(&self.parts), child))
    }

    /// Appends a message, said now. Returns once it is on disk.
    ///
    /// A user's message that asks to be kept out of summaries is marked so.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn append(&self, message: Message) -> Result<Appended, MemoryError> {
        let at = self.parts.clock.now();
        let appended = self.append_batch(vec![(message, at)]).await?;
        appended.into_iter().next().ok_or_else(|| unreachable_append(&self.id))
    }

    /// Appends messages with the times they were said at, all or none.
    ///
    /// # Errors
    /// When the store fails; nothing is appended then.
    pub async fn append_batch(&self, batch: Vec<(Message, Timestamp)>) -> Result<Vec<Appended>, MemoryError> {
        let draft = |(mut message, at): (Message, Timestamp)| {
            let text = message.text();
            message.keep_out_of_summaries |= message.role == Role::User && asks_to_be_kept_out(&text);
            NodeDraft::new(message, at, self.parts.counter.count(&text))
        };
        let drafts = batch.into_iter().map(draft).collect();
        let appended = self.parts.store.append(&self.id, drafts).await?;
        self.parts.debts.owe(&self.id);
        Ok(appended)
    }

    /// Appends a message and lets the hooks take part; gives the copy that goes out to the model.
    ///
    /// # Errors
    /// When the store fails, or a hook does: the message is appended then all the same.
    pub async fn add_message(&self, message: Message) -> Result<Added, MemoryError> {
        let appended = self.append(message.clone()).await?;
        let mut event = MessageAdded { conversation: self.id.clone(), node: appended.node, outgoing: message };
        self.parts.hooks.dispatch(&mut event).await?;
        Ok(Added { appended, outgoing: event.outgoing })
    }

    /// Does whatever compaction is due. [`Self::context`] does so by itself, unless [`Memory::background`] runs.
    ///
    /// # Errors
    /// When a strategy or the store fails; summaries recorded before stay, nothing else changes.
    ///
    /// [`Memory::background`]: crate::Memory::background
    pub async fn compact(&self, progress: &dyn Progress) -> Result<CompactionReport, MemoryError> {
        Ok(hierarchical::compact(&self.parts, &self.id, progress).await?.0)
    }

    /// Writes summaries anew that are there already, from the same messages as before, with the summarizer that this memory
    /// has now. Old ones stay in the log, superseded: views that were recorded show them, later ones show the new. Nothing
    /// does so by itself. What was recorded when it is cut off stays.
    ///
    /// # Errors
    /// When there is no such conversation, node or summary; when others do background work on the store
    /// ([`StoreError::Locked`](memory_core::StoreError::Locked), [`MemoryError::AtWork`]); when a strategy and its fallback
    /// fail, or the store does.
    pub async fn resummarize(
        &self,
        what: Resummarize,
        progress: &dyn Progress,
    ) -> Result<ResummarizeReport, MemoryError> {
        rewriting::resummarize(&self.parts, &self.id, what, progress).await
    }

    /// Brings what recall has cached up to the last message. Recall does so by itself for the few messages of a
    /// turn; after many or very long ones it does not, and its answers say so until this was called.
    ///
    /// # Errors
    /// When the retriever fails.
    pub async fn index(&self, progress: &dyn Progress) -> Result<IndexReport, MemoryError> {
        match &self.parts.retriever {
            Some(retriever) => Ok(retriever.catch_up(&self.id, progress).await?),
            None => Ok(IndexReport::default()),
        }
    }

    /// What a model is to be shown for a question: every message represented exactly once, and the exact
    /// words that bear on the question, within the budget. What is shown is recorded, unless the options say otherwise or
    /// it is what was shown last: [`Self::as_of`] shows it again.
    ///
    /// # Errors
    /// [`MemoryError::Plan`] with the tokens needed when no view fits the budget; else when a port fails.
    pub async fn context(&self, question: &str, options: &ContextOptions) -> Result<Context, MemoryError> {
        let request = Request { question, options: options.clone(), longest_result: None };
        let context = context::assemble(&self.parts, &self.id, request).await?;
        Ok(self.recorded(options, context).await)
    }

    /// A smaller context for the same question, after the window of the model overflowed with `overflowed`: strictly fewer
    /// tokens than that, and at most the budget of `options`, which may be what the model says it takes. A model that does
    /// not say so is answered within six steps: call it again with what still did not fit.
    ///
    /// Oversized tool results are shown by their heads and tails first; then the view is cut for half of the tokens, and
    /// again, with summaries written at once where it takes them; then it is as coarse as it gets. The log keeps everything
    /// whole, tool calls stay with their results, and pinned messages stay while they fit.
    ///
    /// # Errors
    /// [`MemoryError::Plan`] with the tokens needed when there is nothing smaller; else when a port fails.
    pub async fn reduce(&self, overflowed: &Context, options: &ContextOptions) -> Result<Context, MemoryError> {
        let context = context::reduce(&self.parts, &self.id, options, overflowed).await?;
        Ok(self.recorded(options, context).await)
    }

    async fn recorded(&self, options: &ContextOptions, mut context: Context) -> Context {
        if options.record {
            context::record(&self.parts, &self.id, &mut context).await;
        }
        context
    }

    /// The messages that answer a question best.
    ///
    /// # Errors
    /// When the retriever fails.
    pub async fn search(&self, question: &str, limit: usize) -> Result<Retrieved, MemoryError> {
        match &self.parts.retriever {
            Some(retriever) => {
                let query = Query { limit, ..Query::new(question, Scope::one(&self.id)) };
                let found = retriever.search(&query).await?;
                self.parts.uses.add(&self.id, found.hits.iter().map(|hit| hit.node));
                Ok(found)
            }
            None => Ok(Retrieved { notices: vec!["this memory has no retriever".to_owned()], ..Retrieved::default() }),
        }
    }

    /// A message, exactly as it was said.
    ///
    /// # Errors
    /// When there is no such node, or the store fails.
    pub async fn expand(&self, node: NodeId) -> Result<Node, MemoryError> {
        let found = self.parts.store.node(&self.id, node).await?;
        self.parts.uses.add(&self.id, [node]);
        Ok(found)
    }

    /// Keeps a message verbatim in every view that it fits, or no longer.
    ///
    /// # Errors
    /// When there is no such node, or the store fails.
    pub async fn pin(&self, node: NodeId, pinned: bool) -> Result<(), MemoryError> {
        self.parts.store.record(&self.id, vec![Event::Pin { node, pinned }]).await?;
        Ok(())
    }

    /// The conversation in figures.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stats(&self) -> Result<ConversationStats, MemoryError> {
        let state = self.parts.store.conversation(&self.id).await?;
        let snapshot = Snapshot::read(&self.parts, &self.id).await?;
        Ok(ConversationStats::of(&state, &snapshot.tree))
    }

    /// What prompts with these options add up to, how much of them a provider's cache spares, and what the same
    /// conversation would cost in other ways. Takes every turn again: about a fifth of a second for ten thousand messages.
    ///
    /// # Errors
    /// When the store fails, or no view fits the budget.
    pub async fn spending(&self, options: &ContextOptions) -> Result<Spending, MemoryError> {
        let snapshot = Snapshot::read(&self.parts, &self.id).await?;
        Ok(Spending::of(&self.parts, &snapshot.tree, options)?)
    }
}

/// A store that breaks its contract: one message went in, no answer came out.
fn unreachable_append(id: &ConversationId) -> MemoryError {
    let source = format!("an append of one message to `{id}` was answered with nothing").into();
    MemoryError::Store(memory_core::StoreError::Backend { backend: "the store", source })
}
