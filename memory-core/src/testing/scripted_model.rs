//! A chat model that answers by a script.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use crate::{
    Message,
    port::{BoxFuture, ChatError, ChatModel, ChatReply, ChatRequest},
};

/// Answer of a script to a request; the number is that of the request, from 0.
type Script = dyn Fn(usize, &ChatRequest) -> Result<Message, ChatError> + Send + Sync;

/// A chat model that answers by a function, and keeps its requests.
pub struct ScriptedModel {
    window: u32,
    script: Box<Script>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl ScriptedModel {
    /// A model with a large window.
    #[must_use]
    pub fn new(script: impl Fn(usize, &ChatRequest) -> Result<Message, ChatError> + Send + Sync + 'static) -> Self {
        Self { window: 100_000, script: Box::new(script), requests: Mutex::default() }
    }

    /// A model with one constant answer.
    #[must_use]
    pub fn says(text: &'static str) -> Self {
        Self::new(move |_, _| Ok(Message::assistant(text)))
    }

    /// Sets the window in tokens.
    #[must_use]
    pub fn window(mut self, window: u32) -> Self {
        self.window = window;
        self
    }

    /// Requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("window", &self.window).finish_non_exhaustive()
    }
}

impl ChatModel for ScriptedModel {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn context_window(&self) -> u32 {
        self.window
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request.clone());
            requests.len() - 1
        };
        Box::pin(async move { (self.script)(number, request).map(ChatReply::new) })
    }
}
