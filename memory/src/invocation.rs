//! One invocation of an agent over a conversation of a memory.

use memory_core::{CompactionReport, ContentBlock, Json, Message};
use memory_hooks::Invocation as Inner;

use crate::{Conversation, Error};

/// From a message of a user to the model's last answer, as an agent's own loop reports it: see
/// [`memory_hooks::Invocation`]. Its calls run on the threads of the [`Memory`](crate::Memory).
#[derive(Clone, Debug)]
pub struct Invocation {
    conversation: Conversation,
    inner: Inner,
}

impl Conversation {
    /// Reports that an agent was made that works on the conversation; hooks are told if it goes on. Gives the manager
    /// the state that was [kept](Self::keep_manager_state) of it, and returns the messages that the manager puts before
    /// those of the session; none for a manager by name.
    ///
    /// # Errors
    /// [`MemoryError::Manager`](memory_hooks::MemoryError::Manager) where the state of another manager is kept: choose
    /// that manager, or [forget](Self::forget_manager_state) it. Otherwise when the store or a hook fails.
    pub async fn initialize(&self) -> Result<Vec<Message>, Error> {
        self.call(|inner| async move { Ok(inner.initialize().await?) }).await
    }

    /// Begins an invocation of an agent.
    ///
    /// # Errors
    /// When a hook fails.
    pub async fn invoke(&self) -> Result<Invocation, Error> {
        let inner = self.call(|inner| async move { Ok(inner.invoke().await?) }).await?;
        Ok(Invocation { conversation: self.clone(), inner })
    }
}

impl Invocation {
    /// Its conversation.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Reports that the model is about to be called, and does what is due before it.
    ///
    /// # Errors
    /// When a hook fails.
    pub async fn before_model_call(
        &mut self,
        projected_tokens: Option<u64>,
        window: Option<u64>,
    ) -> Result<CompactionReport, Error> {
        let mut inner = self.inner.clone();
        let called = self.conversation.call(|_| async move {
            let report = inner.before_model_call(projected_tokens, window).await?;
            Ok((inner, report))
        });
        let (inner, report) = called.await?;
        self.inner = inner;
        Ok(report)
    }

    /// Reports the model's answer, or why there is none.
    ///
    /// # Errors
    /// When the memory was shut down.
    pub async fn after_model_call(&self, reply: Result<&Message, String>) -> Result<(), Error> {
        let (inner, reply) = (self.inner.clone(), reply.cloned());
        let report = async move {
            inner.after_model_call(reply.as_ref().map_err(Clone::clone)).await;
            Ok(())
        };
        self.conversation.call(|_| report).await
    }

    /// Reports that a tool is about to be called; returns the arguments, which hooks may have changed.
    ///
    /// # Errors
    /// When a hook fails: the tool is not to be called.
    pub async fn before_tool_call(&self, call: &str, name: &str, input: Json) -> Result<Json, Error> {
        let (inner, call, name) = (self.inner.clone(), call.to_owned(), name.to_owned());
        self.conversation.call(|_| async move { Ok(inner.before_tool_call(&call, &name, input).await?) }).await
    }

    /// Reports what a tool returned; returns the block to append, whose contents hooks may have changed.
    ///
    /// # Errors
    /// When the memory was shut down.
    pub async fn after_tool_call(
        &self,
        call: &str,
        content: Vec<ContentBlock>,
        is_error: bool,
    ) -> Result<ContentBlock, Error> {
        let (inner, call) = (self.inner.clone(), call.to_owned());
        self.conversation.call(|_| async move { Ok(inner.after_tool_call(&call, content, is_error).await) }).await
    }

    /// Ends the invocation, whether or not the model answered, does what is due, and keeps the manager's state.
    ///
    /// # Errors
    /// When a strategy or the store fails.
    pub async fn end(self) -> Result<CompactionReport, Error> {
        let inner = self.inner;
        self.conversation.call(|_| async move { Ok(inner.end().await?) }).await
    }
}
