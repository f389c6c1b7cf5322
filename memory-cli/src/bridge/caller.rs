//! The program at the other end as a chat model: questions to it during a request, and its replies.

use std::{sync::Arc, time::Duration};

use memory::{Builder, ModelSummaries};
use memory_core::{
    json::{message_from_strands, message_to_strands},
    port::{BoxFuture, ChatError, ChatModel, ChatReply, ChatRequest},
};
use memory_hooks::SpendLimits;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::message::StrandsMessage;
use crate::Config;

/// The name of the summarizer that is the caller.
pub(crate) const CALLER: &str = "caller";
/// The summarizer that takes its place if it fails.
const OFFLINE: &str = "spans";
/// Time limit of a reply of the caller.
const PATIENCE: Duration = Duration::from_mins(10);

/// Facts about the caller's model.
#[derive(Clone, Debug)]
pub(crate) struct CallersModel {
    /// Name of the model at its provider, which summaries record.
    pub(crate) name: String,
    /// Most tokens of a request and its reply together.
    pub(crate) window: u32,
    /// The most requests of one compaction.
    pub(crate) requests: u64,
}

impl CallersModel {
    fn failed(&self, why: &str) -> ChatError {
        ChatError::Backend { model: self.name.clone(), source: why.into() }
    }
}

/// A request to the caller's model, and the channel of its reply.
pub(crate) struct Question {
    request: ChatRequest,
    model: CallersModel,
    reply: oneshot::Sender<Result<ChatReply, ChatError>>,
}

/// The questions to the caller, in order.
pub(crate) type Questions = mpsc::UnboundedReceiver<Question>;

/// The caller's model.
#[derive(Debug)]
pub(super) struct Caller {
    model: CallersModel,
    questions: mpsc::UnboundedSender<Question>,
}

impl Caller {
    pub(super) fn new(model: CallersModel) -> (Arc<Self>, Questions) {
        let (questions, asked) = mpsc::unbounded_channel();
        (Arc::new(Self { model, questions }), asked)
    }

    /// A memory whose summaries the caller writes while a request is answered; at other times it cannot be asked.
    pub(super) fn writes_for(self: &Arc<Self>, config: Config) -> Builder {
        let limits = SpendLimits::default().requests_per_compaction(self.model.requests);
        let model = Arc::<Self>::clone(self);
        Builder::of(config.summarizer(OFFLINE))
            .chat_model(model)
            .chat_timeout(PATIENCE)
            .model_summaries(ModelSummaries::default().limits(limits))
            .background(false)
    }
}

impl ChatModel for Caller {
    fn name(&self) -> &str {
        &self.model.name
    }

    fn context_window(&self) -> u32 {
        self.model.window
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            let (reply, replied) = oneshot::channel();
            let question = Question { request: request.clone(), model: self.model.clone(), reply };
            self.questions.send(question).map_err(|_| self.model.failed("the bridge is being closed"))?;
            replied.await.unwrap_or_else(|_| Err(self.model.failed("the program sent no reply")))
        })
    }
}

impl Question {
    /// The answer that carries the question to the caller.
    pub(crate) fn to_json(&self) -> Value {
        let ChatRequest { system, messages, max_reply_tokens, .. } = &self.request;
        let messages: Vec<_> = messages.iter().map(message_to_strands).collect();
        json!({"ask": {"system": system, "messages": messages, "max_reply_tokens": max_reply_tokens}})
    }

    /// Passes on the caller's reply: a message, or the reason why there is none.
    pub(super) fn answer(self, message: Option<StrandsMessage>, error: Option<String>, overflow: bool) {
        let reply = match message.map(|message| message_from_strands(&Value::Object(message.0))) {
            _ if overflow => Err(ChatError::overflow(self.model.window)),
            Some(Ok(message)) => Ok(ChatReply::new(message)),
            Some(Err(error)) => Err(self.model.failed(&error.to_string())),
            None => Err(self.model.failed(error.as_deref().unwrap_or("the program gave no reason"))),
        };
        // A reply that is no longer awaited came too late.
        drop(self.reply.send(reply));
    }
}
