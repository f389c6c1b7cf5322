//! Tasks of a chat model in a memory, and the time limit of its replies.

use std::{sync::Arc, time::Duration};

use memory_core::port::{BoxFuture, ChatError, ChatModel, ChatReply, ChatRequest};
use memory_hooks::{ModelSummarizer, SpendLimits};
use tokio::runtime::Handle;

/// Default time limit of one reply.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// Summaries that a chat model writes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelSummaries {
    /// Model for summaries; by default the agent's ([`Builder::chat_model`](crate::Builder::chat_model)).
    pub model: Option<Arc<dyn ChatModel>>,
    /// Instructions instead of [the default ones](ModelSummarizer::DEFAULT_PROMPT).
    pub system_prompt: Option<String>,
    /// Limits of requests; none by default.
    pub limits: SpendLimits,
    /// The most messages whose SUMMARYs one request asks for, at most 20; 0 and 1, the default, stand for one.
    pub together: usize,
}

impl ModelSummaries {
    memory_core::setters! {
        some model: Arc<dyn ChatModel>,
        some into system_prompt: String,
        limits: SpendLimits,
        const together: usize,
    }

    /// The summarizer; `None` without a model.
    pub(crate) fn summarizer(self, agents: Option<Arc<dyn ChatModel>>, timeout: Duration) -> Option<ModelSummarizer> {
        let model = timed(self.model.or(agents)?, timeout);
        let summarizer = ModelSummarizer::new(model).limits(self.limits).together(self.together.max(1));
        Some(match self.system_prompt {
            Some(prompt) => summarizer.system_prompt(prompt),
            None => summarizer,
        })
    }
}

/// The same model with a time limit on its replies.
pub(crate) fn timed(model: Arc<dyn ChatModel>, timeout: Duration) -> Arc<dyn ChatModel> {
    Arc::new(Timed { model, timeout })
}

/// A model with a time limit on its replies.
#[derive(Debug)]
struct Timed {
    model: Arc<dyn ChatModel>,
    timeout: Duration,
}

impl ChatModel for Timed {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn context_window(&self) -> u32 {
        self.model.context_window()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
        Box::pin(async move {
            // The parts of a memory may be polled outside of its threads, where there is no timer.
            if Handle::try_current().is_err() {
                return self.model.reply(request).await;
            }
            let late = |_| ChatError::Backend {
                model: self.name().to_owned(),
                source: format!("no reply within {:?}", self.timeout).into(),
            };
            tokio::time::timeout(self.timeout, self.model.reply(request)).await.map_err(late)?
        })
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Message, testing::ScriptedModel};

    use super::*;

    /// A model that never replies.
    #[derive(Debug)]
    struct Silent;

    impl ChatModel for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }

        fn context_window(&self) -> u32 {
            1_000
        }

        fn reply<'a>(&'a self, _request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ChatError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn a_model_that_does_not_reply_has_failed() {
        let timed = Timed { model: Arc::new(Silent), timeout: Duration::ZERO };
        let error = timed.reply(&ChatRequest::new(Vec::new())).await.unwrap_err();
        assert!(matches!(error, ChatError::Backend { .. }), "{error:?}");
    }

    #[test]
    fn a_reply_needs_no_timer() {
        let timed = Timed { model: Arc::new(ScriptedModel::says("Yes.")), timeout: TIMEOUT };
        let reply = pollster::block_on(timed.reply(&ChatRequest::new(Vec::new()))).unwrap();
        assert_eq!(reply.message, Message::assistant("Yes."));
    }
}
