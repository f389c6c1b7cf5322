//! One invocation of an agent: the steps that its loop reports, and the memory's work at each.

use memory_core::{ContentBlock, Json, Message, port::CompactionReport};

use crate::{
    AfterInvocation, AfterModelCall, AfterToolCall, AgentInitialized, BeforeInvocation, BeforeModelCall,
    BeforeToolCall, Conversation, HookEvent, MemoryError, SessionRestored,
};

/// The work from a message of a user to the model's last answer. An agent's own loop creates one and reports each step
/// to it, so that hooks see the step and the memory keeps the conversation small.
///
/// Hooks before a step may change or stop it: their error is the step's. Hooks after it are all called; a failure of
/// one is reported ([`HookFailed`](crate::HookFailed)) and stops nothing.
#[derive(Clone, Debug)]
pub struct Invocation {
    conversation: Conversation,
    model_calls: u64,
    /// The number of the last call in this process; 0 before the first one.
    call: u64,
}

impl Conversation {
    /// Reports a new agent that works on the conversation, and a restored session if the conversation has messages.
    /// Restores the manager's [kept](Self::keep_manager_state) state, and returns the messages that the manager puts
    /// before those of the session; none for a manager by name.
    ///
    /// # Errors
    /// [`MemoryError::Manager`] if the state of another manager is kept: choose that manager, or
    /// [forget](Self::forget_manager_state) it. Otherwise if the store or a hook fails.
    pub async fn initialize(&self) -> Result<Vec<Message>, MemoryError> {
        self.call(|this| async move {
            let mut event = AgentInitialized { conversation: this.id.clone() };
            this.parts.hooks().dispatch(&mut event).await?;
            let before = this.restore_kept_state().await?;
            match this.restored().await {
                Err(error) if error.is_not_found() => Ok(before),
                restored => restored.map(|()| before),
            }
        })
        .await
    }

    /// Reports that the conversation continues.
    pub(crate) async fn restored(&self) -> Result<(), MemoryError> {
        let state = self.parts.store.conversation(&self.id).await?;
        let (conversation, messages, last_at) = (self.id.clone(), state.nodes, state.last_at);
        let last_at = last_at.filter(|at| at.is_known());
        self.parts.report(SessionRestored { conversation, messages, last_at }).await;
        Ok(())
    }

    /// Begins an invocation of an agent.
    ///
    /// # Errors
    /// If a hook fails.
    pub async fn invoke(&self) -> Result<Invocation, MemoryError> {
        let work = |this: Self| async move {
            let mut event = BeforeInvocation { conversation: this.id };
            Ok(this.parts.hooks().dispatch(&mut event).await?)
        };
        self.call(work).await?;
        Ok(Invocation { conversation: self.clone(), model_calls: 0, call: 0 })
    }
}

impl Invocation {
    /// The conversation of the invocation.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Reports the next call of the model, with a request of `projected_tokens` under a window of `window` tokens, if
    /// they are known.
    ///
    /// If the calls of the memory's [`per_turn`](crate::MemoryBuilder::per_turn) include this one, due compaction is
    /// performed. If the request reaches the threshold of
    /// [`proactive_compression`](crate::MemoryBuilder::proactive_compression), the conversation is reduced below it as
    /// far as possible; the caller must then make the prompt again. Returns the written summaries. A failure of either
    /// is an event ([`CompactionFailed`](crate::CompactionFailed)), and the call continues.
    ///
    /// # Errors
    /// If a hook fails.
    pub async fn before_model_call(
        &mut self,
        projected_tokens: Option<u64>,
        window: Option<u64>,
    ) -> Result<CompactionReport, MemoryError> {
        self.model_calls += 1;
        self.call = self.conversation.parts.calls.next(&self.conversation.id);
        let call = self.call;
        let work = move |Conversation { parts, id, .. }| async move {
            let mut event = BeforeModelCall { conversation: id.clone(), call, projected_tokens, window };
            parts.hooks().dispatch(&mut event).await?;
            let mut report = CompactionReport::default();
            if parts.per_turn.is_due(call) {
                report = parts.manage(&id, &()).await.unwrap_or_default();
            }
            if parts.proactive.is_due(projected_tokens, window)
                && let Some(target) = parts.proactive.target(window)
            {
                let reduced = parts.reduce(&id, target, None).await.unwrap_or_default();
                report = reduced.summaries(reduced.summaries + report.summaries);
            }
            Ok(report)
        };
        self.conversation.call(work).await
    }

    /// Reports the model's answer, or the cause of a missing one.
    ///
    /// # Errors
    /// [`MemoryError::Interrupted`].
    pub async fn after_model_call(&self, reply: Result<&Message, String>) -> Result<(), MemoryError> {
        let (reply, error) = match reply {
            Ok(reply) => (Some(reply.clone()), None),
            Err(error) => (None, Some(error)),
        };
        let event = AfterModelCall { conversation: self.conversation.id.clone(), call: self.call, reply, error };
        self.report(event).await.map(drop)
    }

    async fn report<E: HookEvent>(&self, event: E) -> Result<E, MemoryError> {
        self.conversation.call(|this| async move { Ok(this.parts.report(event).await) }).await
    }

    /// Reports the next call of a tool; returns the arguments, which hooks may have changed.
    ///
    /// # Errors
    /// If a hook fails: the tool must not be called.
    pub async fn before_tool_call(&self, call: &str, name: &str, input: Json) -> Result<Json, MemoryError> {
        let (call, name) = (call.to_owned(), name.to_owned());
        self.conversation
            .call(|Conversation { parts, id, .. }| async move {
                let mut event = BeforeToolCall { conversation: id, id: call, name, input };
                parts.hooks().dispatch(&mut event).await?;
                Ok(event.input)
            })
            .await
    }

    /// Reports the result of a tool; returns the block to append, whose contents hooks may have changed.
    ///
    /// # Errors
    /// [`MemoryError::Interrupted`].
    pub async fn after_tool_call(
        &self,
        call: &str,
        content: Vec<ContentBlock>,
        is_error: bool,
    ) -> Result<ContentBlock, MemoryError> {
        let conversation = self.conversation.id.clone();
        let event = AfterToolCall { conversation, id: call.to_owned(), content, is_error };
        let AfterToolCall { id, content, is_error, .. } = self.report(event).await?;
        Ok(ContentBlock::ToolResult { tool_use_id: id, content, is_error })
    }

    /// Ends the invocation, with or without an answer: performs due compaction and
    /// [keeps](Conversation::keep_manager_state) the manager's state.
    ///
    /// # Errors
    /// If a strategy or the store fails. Summaries recorded before stay; nothing else changes.
    pub async fn end(self) -> Result<CompactionReport, MemoryError> {
        let model_calls = self.model_calls;
        let work = move |this: Conversation| async move {
            let managed = this.parts.manage(&this.id, &()).await;
            this.parts.report(AfterInvocation { conversation: this.id.clone(), model_calls }).await;
            match managed {
                // An agent that failed before its first message has nothing to keep small.
                Err(error) if error.is_not_found() => Ok(CompactionReport::default()),
                managed => {
                    let report = managed?;
                    this.keep_manager_state().await?;
                    Ok(report)
                }
            }
        };
        self.conversation.call(work).await
    }
}
