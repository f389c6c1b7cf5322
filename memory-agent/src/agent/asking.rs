//! One request to the model: the prompt that fits its window, its reply, and the parts of an interrupted one.

use std::sync::{Arc, Mutex, PoisonError};

use memory::{
    ContentBlock, Invocation, Json, Message, NodeId, NodeRange, Prompt, PromptOptions, Role,
    plan::PlanError,
    port::{ChatError, ChatEvent, ChatReply, ChatUsage, StopReason, ToolSpec},
};

use super::{Agent, Offered};
use crate::{AgentError, AgentEvent, AgentEvents, Ended, Turn};

/// Most tokens of a reply, unless options set it.
const DEFAULT_REPLY_TOKENS: u32 = 4_096;
/// Divisor of the window that gives the reply a quarter, unless options set it.
const REPLY_SHARE: u32 = 4;
/// Divisor of the window that gives the memory's tools a quarter; further tools are not offered.
const TOOLS_SHARE: u32 = 4;
/// Divisor of the window for what providers add to a request: roles, templates, the frames of tools.
const FRAME_SHARE: u32 = 32;
/// Text of an answer without content, since no provider takes an empty message.
const NO_ANSWER: &str = "[no answer]";
/// Member of the metadata and text at the end of an answer that the user interrupted, and of one that broke off.
const INTERRUPTED: (&str, &str) = ("interrupted", "[interrupted]");
const CUT: (&str, &str) = ("cut", "[cut off]");

/// Limits of a model, as its overflows have shown them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fitted {
    /// Window in tokens of the provider.
    pub(super) window: u32,
    /// Tokens of the provider for a token of the memory, at least 1.
    scale: f64,
    /// Most tokens of tools, of which an overflow without figures may have come.
    most_tools: u32,
}

impl Fitted {
    pub(super) const fn new(window: u32) -> Self {
        Self { window, scale: 1.0, most_tools: u32::MAX }
    }

    /// Learns from an overflow: `counted` are the provider's tokens of a request for which the memory counts `tokens`,
    /// of them `tools` of tools.
    fn learn(&mut self, window: u32, counted: Option<u32>, tokens: u32, tools: u32) {
        if window >= self.window && counted.is_none() {
            self.most_tools = self.most_tools.min(tools / 2);
        }
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

    /// Most tokens that descriptions of the memory's tools take.
    pub(super) fn room_of_tools(self) -> u32 {
        (self.ours(self.window) / TOOLS_SHARE).min(self.most_tools)
    }
}

/// Reply to append after the message `last`.
pub(super) enum Asked {
    Reply {
        message: Message,
        stop: Option<StopReason>,
        last: u64,
    },
    /// A part of a reply, after which the turn ends.
    Part {
        message: Message,
        last: u64,
        ended: Ended,
    },
}

/// Parts of a reply so far.
#[derive(Debug, Default)]
struct Partial {
    text: String,
    usage: ChatUsage,
}

/// Tools that a request offers.
struct Offer {
    specs: Vec<ToolSpec>,
    /// Tokens of their descriptions.
    tokens: u32,
    /// True if tools of the memory are among them.
    has_memory_tools: bool,
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
        let tools = self.offer(self.fitted.room_of_tools()).tokens;
        let projected = turn.prompt.as_ref().map(|prompt| u64::from(prompt.tokens.saturating_add(tools)));
        invocation.before_model_call(projected, Some(self.fitted.window.into())).await?;
        let (mut prompt, mut offer) = self.fit(asked, None).await?;
        loop {
            let (replied, partial) = self.request(&prompt, &offer.specs, events).await;
            let (last, tokens) = (prompt.nodes, prompt.tokens.saturating_add(offer.tokens));
            let (reply, usage) = match replied {
                Ok(Some(ChatReply { message, usage, stop, .. })) => {
                    (Asked::Reply { message: self.answered(message), stop, last }, usage)
                }
                Ok(None) => {
                    let message = self.part(&partial.text, INTERRUPTED);
                    (Asked::Part { message, last, ended: Ended::Interrupted }, partial.usage)
                }
                Err(ChatError::ContextOverflow { window, prompt_tokens }) => {
                    self.fitted.learn(window, prompt_tokens, tokens, offer.tokens);
                    turn.overflows += 1;
                    events.event(AgentEvent::Overflow { window, tokens });
                    (prompt, offer) = self.fit(asked, Some((prompt, offer.tokens))).await?;
                    continue;
                }
                // The user has read these words, and a second request would be paid again.
                Err(error @ ChatError::Backend { .. }) if !partial.text.trim().is_empty() => {
                    turn.failure = Some(Arc::new(error));
                    (Asked::Part { message: self.part(&partial.text, CUT), last, ended: Ended::Cut }, partial.usage)
                }
                Err(error) => {
                    invocation.after_model_call(Err(error.to_string())).await?;
                    turn.prompt = Some(prompt);
                    return Err(error.into());
                }
            };
            let (Asked::Reply { message, .. } | Asked::Part { message, .. }) = &reply;
            let counted = (tokens, self.conversation.memory().count_tokens(&message.text()));
            turn.asked(usage, counted, self.options.prices);
            turn.prompt = Some(prompt);
            invocation.after_model_call(Ok(message)).await?;
            return Ok(reply);
        }
    }

    /// Tools of the program, and those of the memory that fit `room`.
    fn offer(&self, room: u32) -> Offer {
        let mut offer = Offer { specs: Vec::new(), tokens: 0, has_memory_tools: false };
        let mut left = Some(room);
        for Offered { spec, tokens, is_of_memory, .. } in &self.tools {
            if *is_of_memory {
                left = left.and_then(|left| left.checked_sub(*tokens));
                if left.is_none() {
                    continue;
                }
                offer.has_memory_tools = true;
            }
            offer.specs.push(spec.clone());
            offer.tokens = offer.tokens.saturating_add(*tokens);
        }
        offer
    }

    /// The next prompt, or a smaller one than the `overflowed` with its tokens of tools, and the tools next to it. Tools
    /// of the memory give way to the message that asks.
    async fn fit(
        &self,
        asked: Option<NodeId>,
        overflowed: Option<(Prompt, u32)>,
    ) -> Result<(Prompt, Offer), AgentError> {
        let mut offer = self.offer(self.fitted.room_of_tools());
        loop {
            let options = self.prompt_options(offer.tokens);
            let fitted = match &overflowed {
                // Fewer tools may be all that it takes.
                Some((prompt, tools)) if offer.tokens < *tools && prompt.tokens <= options.budget => Ok(prompt.clone()),
                Some((prompt, _)) => self.conversation.reduce(prompt, &options).await,
                None => self.conversation.turn(&options).await,
            };
            let is_hidden = |prompt: &Prompt, node| !prompt.verbatim().iter().any(|shown| shown.contains(node));
            let error = match fitted {
                Ok(prompt) => match asked.filter(|node| is_hidden(&prompt, *node)) {
                    Some(node) => self.hidden(node, &prompt, offer.tokens).await,
                    None => return Ok((prompt, offer)),
                },
                Err(memory::Error::Plan(PlanError::BudgetTooSmall { needed, budget })) => {
                    self.no_room(needed, budget, offer.tokens)
                }
                Err(error) => error.into(),
            };
            let may_help =
                matches!(error, AgentError::NoRoom { .. } | AgentError::Memory(memory::Error::QuestionTooLong { .. }));
            if !may_help || !offer.has_memory_tools {
                return Err(error);
            }
            offer = self.offer(0);
        }
    }

    /// Tokens of a message.
    async fn text_tokens(&self, node: NodeId) -> Result<u32, AgentError> {
        let nodes = self.conversation.messages(NodeRange::single(node)).await?;
        Ok(nodes.iter().map(|node| node.tokens).sum())
    }

    /// Error for a prompt without the message of the user.
    async fn hidden(&self, node: NodeId, prompt: &Prompt, tools: u32) -> AgentError {
        let question = match self.text_tokens(node).await {
            Ok(tokens) => tokens,
            Err(error) => return error,
        };
        let (needed, budget) = (prompt.tokens.saturating_add(question), prompt.budget);
        if question > budget / 2 {
            return memory::Error::QuestionTooLong { question, needed, budget }.into();
        }
        self.no_room(needed, budget, tools)
    }

    fn no_room(&self, prompt: u32, budget: u32, tools: u32) -> AgentError {
        AgentError::NoRoom { window: self.fitted.window, prompt, budget, tools, reply: self.max_reply_tokens() }
    }

    /// Options of the next prompt, next to `tools` tokens of tools.
    fn prompt_options(&self, tools: u32) -> PromptOptions {
        let window = self.fitted.window;
        let left = window.saturating_sub(self.max_reply_tokens()).saturating_sub(window / FRAME_SHARE);
        let mut options = self.options.prompt.clone();
        options.budget = options.budget.min(self.fitted.ours(left).saturating_sub(tools));
        options.expands |= self.tools.iter().any(|offered| offered.spec.name == "expand_node");
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
    ) -> (Result<Option<ChatReply>, ChatError>, Partial) {
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
            () = self.cancelled.cancelled() => Ok(None),
            reply = self.model.stream(&request, &take) => reply.map(Some),
        };
        (reply, partial.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The message of a reply that has no end, which the next reader must not take for a whole one.
    fn part(&self, text: &str, (member, end): (&str, &str)) -> Message {
        let said = Some(text).filter(|text| !text.trim().is_empty());
        let text = said.map_or_else(|| end.to_owned(), |text| format!("{text} {end}"));
        let mut message = Message::assistant(text).spoken_by(self.model.name());
        message.metadata.insert(member.to_owned(), Json::from_value(&true.into()));
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
        fitted.learn(2_048, Some(3_000), 2_000, 900);
        assert_eq!((fitted.window, fitted.ours(1_500)), (2_048, 1_000));
        assert_eq!(fitted.room_of_tools(), 1_365 / 4);
        fitted.learn(4_096, Some(1_000), 2_000, 300);
        assert_eq!((fitted.window, fitted.ours(1_500)), (2_048, 1_000), "what was learned stays");
        fitted.learn(4_096, None, 2_000, 300);
        assert_eq!(fitted.room_of_tools(), 150, "an overflow without figures may come of the tools");
    }
}
