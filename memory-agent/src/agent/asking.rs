//! One request to the model: the prompt that fits its window, its reply, and the parts of an interrupted one.

use std::sync::{Mutex, PoisonError};

use memory::{
    ContentBlock, Invocation, Json, Message, NodeId, NodeRange, Prompt, PromptOptions, Role,
    port::{ChatError, ChatEvent, ChatReply, ChatUsage, StopReason, ToolSpec},
};

use super::Agent;
use crate::{AgentError, AgentEvent, AgentEvents, Turn};

/// Most tokens of a reply, unless options set it.
const DEFAULT_REPLY_TOKENS: u32 = 4_096;
/// Divisor of the window that gives the reply a quarter, unless options set it.
const REPLY_SHARE: u32 = 4;
/// Divisor of the window for what providers add to a request: roles, templates, the frames of tools.
const FRAME_SHARE: u32 = 32;
/// Text of an answer without content, since no provider takes an empty message.
const NO_ANSWER: &str = "[no answer]";
/// Text at the end of an answer that was interrupted.
const INTERRUPTED: &str = "[interrupted]";

/// Limits of a model, as its overflows have shown them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fitted {
    /// Window in tokens of the provider.
    pub(super) window: u32,
    /// Tokens of the provider for a token of the memory, at least 1.
    scale: f64,
}

impl Fitted {
    pub(super) const fn new(window: u32) -> Self {
        Self { window, scale: 1.0 }
    }

    /// Learns from an overflow: `counted` are the provider's tokens of a request for which the memory counts `tokens`.
    fn learn(&mut self, window: u32, counted: Option<u32>, tokens: u32) {
        self.window = self.window.min(window);
        if let Some(counted) = counted.filter(|_| tokens > 0) {
            self.scale = self.scale.max(f64::from(counted) / f64::from(tokens));
        }
    }

    /// Number of the memory's tokens that fill `tokens` of the provider's.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
    fn ours(self, tokens: u32) -> u32 {
        (f64::from(tokens) / self.scale) as u32
    }
}

/// Reply to append after the message `last`.
pub(super) enum Asked {
    Reply { message: Message, stop: Option<StopReason>, last: u64 },
    Interrupted { message: Message, last: u64 },
}

/// Parts of a reply so far.
#[derive(Debug, Default)]
struct Partial {
    text: String,
    usage: ChatUsage,
}

impl Agent {
    /// Asks the model for the next message. A request that exceeds the window is made smaller until it fits, and always
    /// shows the message `asked`.
    pub(super) async fn ask(
        &mut self,
        invocation: &mut Invocation,
        asked: Option<NodeId>,
        turn: &mut Turn,
        events: &dyn AgentEvents,
    ) -> Result<Asked, AgentError> {
        let specs: Vec<_> = self.tools.iter().map(|(spec, _)| spec.clone()).collect();
        let tools = specs.iter().map(|spec| self.tokens_of(spec)).sum();
        let projected = turn.prompt.as_ref().map(|prompt| u64::from(prompt.tokens.saturating_add(tools)));
        invocation.before_model_call(projected, Some(self.fitted.window.into())).await?;
        let mut prompt = self.conversation.turn(&self.prompt_options(tools)).await?;
        loop {
            if let Some(node) = asked.filter(|node| !prompt.verbatim().iter().any(|shown| shown.contains(*node))) {
                return Err(self.too_long(node, prompt.budget).await);
            }
            let replied = self.request(&prompt, &specs, events).await;
            let last = prompt.nodes;
            let (reply, partial) = match replied {
                Ok(replied) => replied,
                Err(ChatError::ContextOverflow { window, prompt_tokens }) => {
                    let tokens = prompt.tokens.saturating_add(tools);
                    self.fitted.learn(window, prompt_tokens, tokens);
                    turn.overflows += 1;
                    events.event(AgentEvent::Overflow { window, tokens });
                    prompt = self.conversation.reduce(&prompt, &self.prompt_options(tools)).await?;
                    continue;
                }
                Err(error) => {
                    invocation.after_model_call(Err(error.to_string())).await?;
                    turn.prompt = Some(prompt);
                    return Err(error.into());
                }
            };
            let (message, usage, stop) = match reply {
                Some(ChatReply { message, usage, stop, .. }) => (message, usage, Some(stop)),
                None => (self.interrupted(&partial.text), partial.usage, None),
            };
            let counted =
                (prompt.tokens.saturating_add(tools), self.conversation.memory().count_tokens(&message.text()));
            turn.usage.add(usage, counted, self.options.prices);
            turn.prompt = Some(prompt);
            invocation.after_model_call(Ok(&message)).await?;
            return Ok(match stop {
                Some(stop) => Asked::Reply { message: self.answered(message), stop, last },
                None => Asked::Interrupted { message, last },
            });
        }
    }

    /// Tokens of a message.
    async fn text_tokens(&self, node: NodeId) -> Result<u32, AgentError> {
        let nodes = self.conversation.messages(NodeRange::single(node)).await?;
        Ok(nodes.iter().map(|node| node.tokens).sum())
    }

    /// Error for a message of the user that exceeds the budget of a prompt.
    async fn too_long(&self, node: NodeId, budget: u32) -> AgentError {
        let question = match self.text_tokens(node).await {
            Ok(tokens) => tokens,
            Err(error) => return error,
        };
        memory::Error::QuestionTooLong { question, needed: question, budget }.into()
    }

    /// Options of the next prompt, next to `tools` tokens of tools.
    fn prompt_options(&self, tools: u32) -> PromptOptions {
        let window = self.fitted.window;
        let left = window.saturating_sub(self.max_reply_tokens()).saturating_sub(window / FRAME_SHARE);
        let mut options = self.options.prompt.clone();
        options.budget = options.budget.min(self.fitted.ours(left).saturating_sub(tools));
        options.expands |= self.tools.iter().any(|(spec, _)| spec.name == "expand_node");
        options
    }

    fn max_reply_tokens(&self) -> u32 {
        self.options.max_reply_tokens.unwrap_or_else(|| DEFAULT_REPLY_TOKENS.min(self.fitted.window / REPLY_SHARE))
    }

    /// Sends a prompt; the reply is `None` if the turn was cancelled before its end.
    async fn request(
        &self,
        prompt: &Prompt,
        specs: &[ToolSpec],
        events: &dyn AgentEvents,
    ) -> Result<(Option<ChatReply>, Partial), ChatError> {
        let request = prompt.messages_for(self.model.name());
        let request = request.tools(specs.to_vec()).max_reply_tokens(Some(self.max_reply_tokens()));
        events.event(AgentEvent::Asked(prompt));
        let partial = Mutex::new(Partial::default());
        let take = |event: ChatEvent| {
            let mut partial = partial.lock().unwrap_or_else(PoisonError::into_inner);
            match &event {
                ChatEvent::Text(part) => partial.text.push_str(part),
                ChatEvent::Usage(usage) => partial.usage = *usage,
                _ => {}
            }
            drop(partial);
            events.event(AgentEvent::Part(event));
        };
        let reply = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => None,
            reply = self.model.stream(&request, &take) => Some(reply?),
        };
        Ok((reply, partial.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The message of an interrupted reply, which the next reader must not take for a whole one.
    fn interrupted(&self, text: &str) -> Message {
        let said = Some(text).filter(|text| !text.trim().is_empty());
        let text = said.map_or_else(|| INTERRUPTED.to_owned(), |text| format!("{text} {INTERRUPTED}"));
        let mut message = Message::assistant(text).spoken_by(self.model.name());
        message.metadata.insert("interrupted".to_owned(), Json::from_value(&true.into()));
        message
    }

    /// Reply to append: with the name of its model, and never empty.
    fn answered(&self, mut message: Message) -> Message {
        message.role = Role::Assistant;
        message.content.retain(|block| !matches!(block, ContentBlock::Text(text) if text.trim().is_empty()));
        if message.content.iter().all(|block| matches!(block, ContentBlock::Reasoning { .. })) {
            message.content.push(ContentBlock::Text(NO_ANSWER.to_owned()));
        }
        if message.model().is_none() { message.spoken_by(self.model.name()) } else { message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overflow_teaches_the_window_and_the_providers_counting() {
        let mut fitted = Fitted::new(8_192);
        assert_eq!(fitted.ours(1_000), 1_000);
        fitted.learn(2_048, Some(3_000), 2_000);
        assert_eq!((fitted.window, fitted.ours(1_500)), (2_048, 1_000));
        fitted.learn(4_096, None, 2_000);
        fitted.learn(4_096, Some(1_000), 2_000);
        assert_eq!((fitted.window, fitted.ours(1_500)), (2_048, 1_000), "what was learned stays");
    }
}
