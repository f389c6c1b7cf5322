//! One request to the model: the prompt that fits its window, its reply, and the parts of an interrupted one.

use std::sync::{Arc, Mutex, PoisonError};

use memory::{
    ContentBlock, Invocation, Message, NodeId, NodeRange, Prompt, PromptOptions, Role,
    plan::PlanError,
    port::{ChatError, ChatEvent, ChatReply, ChatUsage, StopReason, ToolSpec},
};

use super::{Agent, Offered};
use crate::{AgentError, AgentEvent, AgentEvents, Ended, Turn, tail::calls, turn::NO_ANSWER};

/// Most tokens of a reply, unless options set it.
const DEFAULT_REPLY_TOKENS: u32 = 4_096;
/// Divisor of the window that gives the reply a quarter, unless options set it.
const REPLY_SHARE: u32 = 4;
/// Divisor of the window that gives the memory's tools a quarter; further tools are not offered.
const TOOLS_SHARE: u32 = 4;
/// Divisor of the window for what providers add to a request: roles, templates, the frames of tools.
const FRAME_SHARE: u32 = 32;
/// Part of the token scale that stays after a request that was too small to show it.
const SHRINKS: f64 = 0.7;

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

    /// Learns from a request that succeeded, for which the provider and the memory count these tokens: an overflow by
    /// another kind of text may have shown a scale that is too large.
    fn confirm(&mut self, counted: Option<u32>, tokens: u32) {
        let Some(counted) = counted.filter(|counted| *counted > 0 && tokens > 0) else { return };
        let seen = f64::from(counted) / f64::from(tokens);
        // The frames are much of a small request, whose scale is that of no larger one.
        let seen = if counted < self.window / 2 { seen.min(self.scale * SHRINKS) } else { seen };
        // Halfway, since the next text may count for more again.
        self.scale = self.scale.min(f64::midpoint(self.scale, seen)).max(1.0);
    }

    /// Number of the provider's tokens for `tokens` of the memory's.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
    fn theirs(self, tokens: u32) -> u32 {
        (f64::from(tokens) * self.scale).ceil() as u32
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
    /// Asks the model for the next message. A request that exceeds the window is made smaller until it fits, always
    /// shows the message `asked`, and ends with the `note`.
    pub(super) async fn ask(
        &mut self,
        invocation: &mut Invocation,
        (asked, note): (Option<NodeId>, Option<&str>),
        turn: &mut Turn,
        events: &dyn AgentEvents,
    ) -> Result<Asked, AgentError> {
        let tools = self.offer(self.fitted.room_of_tools()).tokens;
        let projected = turn.prompt.as_ref().map(|prompt| u64::from(prompt.tokens.saturating_add(tools)));
        invocation.before_model_call(projected, Some(self.fitted.window.into())).await?;
        let (mut prompt, mut offer) = self.fit(asked, None).await?;
        loop {
            let (replied, partial) = self.request(&prompt, note, &offer.specs, events).await;
            let (last, tokens) = (prompt.nodes, prompt.tokens.saturating_add(offer.tokens));
            let (reply, usage) = match replied {
                Ok(Some(ChatReply { message, usage, stop, .. })) => {
                    self.fitted.confirm(usage.prompt_tokens, tokens);
                    (Asked::Reply { message: self.answered(message, stop), last }, usage)
                }
                Ok(None) => {
                    let ended = Ended::Interrupted;
                    (Asked::Part { message: self.part(&partial.text, ended), last, ended }, partial.usage)
                }
                Err(ChatError::NoTools { detail, .. }) if !offer.specs.is_empty() => {
                    self.takes_tools = false;
                    events.event(AgentEvent::WithoutTools { why: &detail });
                    (prompt, offer) = self.fit(asked, None).await?;
                    continue;
                }
                Err(ChatError::ContextOverflow { window, prompt_tokens }) => {
                    self.fitted.learn(window, prompt_tokens, tokens, offer.tokens);
                    turn.overflows += 1;
                    events.event(AgentEvent::Overflow { window, tokens });
                    (prompt, offer) = self.fit(asked, Some((prompt, offer.tokens, prompt_tokens))).await?;
                    continue;
                }
                // The user has read these words, and a second request would be paid again.
                Err(error @ ChatError::Backend { .. }) if !partial.text.trim().is_empty() => {
                    turn.failure = Some(Arc::new(error));
                    let ended = Ended::Cut;
                    (Asked::Part { message: self.part(&partial.text, ended), last, ended }, partial.usage)
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
    pub(super) fn offered(&self, room: u32) -> impl Iterator<Item = &Offered> {
        let mut left = Some(room);
        self.tools.iter().filter(move |offered| {
            if offered.is_of_memory {
                left = left.and_then(|left| left.checked_sub(offered.tokens));
            }
            self.takes_tools && (!offered.is_of_memory || left.is_some())
        })
    }

    fn offer(&self, room: u32) -> Offer {
        let mut offer = Offer { specs: Vec::new(), tokens: 0, has_memory_tools: false };
        for Offered { spec, tokens, is_of_memory, .. } in self.offered(room) {
            offer.has_memory_tools |= is_of_memory;
            offer.specs.push(spec.clone());
            offer.tokens = offer.tokens.saturating_add(*tokens);
        }
        offer
    }

    /// The next prompt, or a smaller one than the `overflowed` with its tokens of tools and the provider's count of both,
    /// and the tools next to it. Tools of the memory give way to the message that asks.
    async fn fit(
        &self,
        asked: Option<NodeId>,
        overflowed: Option<(Prompt, u32, Option<u32>)>,
    ) -> Result<(Prompt, Offer), AgentError> {
        let mut offer = self.offer(self.fitted.room_of_tools());
        loop {
            let options = self.prompt_options(&offer);
            let fitted = match &overflowed {
                // Fewer tools may be all that it takes.
                Some((prompt, tools, _)) if offer.tokens < *tools && prompt.tokens <= options.budget => {
                    Ok(prompt.clone())
                }
                Some((prompt, ..)) => self.conversation.reduce(prompt, &options).await,
                None => self.conversation.turn(&options).await,
            };
            let is_hidden = |prompt: &Prompt, node| !prompt.verbatim().iter().any(|shown| shown.contains(node));
            let error = match fitted {
                Ok(prompt) => match asked.filter(|node| is_hidden(&prompt, *node)) {
                    Some(node) => self.hidden(node, &prompt, offer.tokens).await,
                    None => return Ok((prompt, offer)),
                },
                Err(memory::Error::Plan(error @ PlanError::BudgetTooSmall { needed, .. })) => {
                    match (self.no_room(needed, offer.tokens), &overflowed) {
                        // The provider refuses a request that has room by all counts but its own.
                        (_, Some((prompt, tools, counted))) if prompt.tokens + tools < self.fitted.window / 2 => {
                            let (window, prompt_tokens) = (self.fitted.window, *counted);
                            ChatError::ContextOverflow { window, prompt_tokens }.into()
                        }
                        (Some(no_room), _) => no_room,
                        (None, _) => memory::Error::from(error).into(),
                    }
                }
                Err(error) => error.into(),
            };
            if !error.is_too_long() || !offer.has_memory_tools {
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
        let too_small = || memory::Error::from(PlanError::BudgetTooSmall { needed, budget }).into();
        self.no_room(needed, tools).unwrap_or_else(too_small)
    }

    /// Error for a smallest prompt of `prompt` tokens next to `tools` tokens of tools; `None` if the window has room for
    /// both.
    fn no_room(&self, prompt: u32, tools: u32) -> Option<AgentError> {
        let Fitted { window, .. } = self.fitted;
        let (reply, frame) = (self.max_reply_tokens(), window / FRAME_SHARE);
        let [prompt, tools] = [prompt, tools].map(|tokens| self.fitted.theirs(tokens));
        let budget = window.saturating_sub(reply).saturating_sub(frame).saturating_sub(tools);
        (prompt > budget).then_some(AgentError::NoRoom { window, prompt, budget, tools, reply, frame })
    }

    /// Options of the next prompt, next to the tools of an offer.
    fn prompt_options(&self, offer: &Offer) -> PromptOptions {
        let window = self.fitted.window;
        let left = window.saturating_sub(self.max_reply_tokens()).saturating_sub(window / FRAME_SHARE);
        let mut options = self.options.prompt.clone();
        options.budget = options.budget.min(self.fitted.ours(left).saturating_sub(offer.tokens));
        options.expands |= offer.specs.iter().any(|spec| spec.name == "expand_node");
        options
    }

    fn max_reply_tokens(&self) -> u32 {
        self.options.max_reply_tokens.unwrap_or_else(|| DEFAULT_REPLY_TOKENS.min(self.fitted.window / REPLY_SHARE))
    }

    /// Sends a prompt; the reply is `None` if the turn was cancelled before its end.
    async fn request(
        &self,
        prompt: &Prompt,
        note: Option<&str>,
        specs: &[ToolSpec],
        events: &dyn AgentEvents,
    ) -> (Result<Option<ChatReply>, ChatError>, Partial) {
        let mut request = prompt.messages_for(self.model.name());
        request.messages.extend(note.map(Message::user));
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
    fn part(&self, text: &str, ended: Ended) -> Message {
        let (said, end) = (Some(text).filter(|text| !text.trim().is_empty()), ended.mark().unwrap_or_default());
        let text = said.map_or_else(|| end.to_owned(), |text| format!("{text} {end}"));
        let mut message = Message::assistant(text).spoken_by(self.model.name());
        ended.note(&mut message);
        message
    }

    /// Reply to append: with the name of its model, never empty, and marked if it is not whole.
    fn answered(&self, mut message: Message, stop: Option<StopReason>) -> Message {
        message.role = Role::Assistant;
        message.content.retain(|block| !matches!(block, ContentBlock::Text(text) if text.trim().is_empty()));
        if message.content.iter().all(|block| matches!(block, ContentBlock::Reasoning { .. })) {
            message.content.push(ContentBlock::Text(NO_ANSWER.to_owned()));
            Ended::Empty.note(&mut message);
        }
        if stop == Some(StopReason::MaxTokens) && calls(&message).is_empty() {
            message.metadata.remove("empty");
            Ended::Length.note(&mut message);
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

    #[test]
    fn the_scale_recovers_from_what_the_provider_counts_afterwards() {
        let mut fitted = Fitted::new(3_000);
        fitted.learn(3_000, Some(12_000), 2_000, 0);
        assert_eq!(fitted.ours(3_000), 500);
        fitted.confirm(None, 500);
        assert_eq!(fitted.ours(3_000), 500, "nothing was counted");
        for _ in 0..20 {
            let ours = fitted.ours(2_000);
            fitted.confirm(Some(200 + ours * 5 / 4), ours);
        }
        assert!((1_900..=2_400).contains(&fitted.ours(3_000)), "{fitted:?}");
        assert!(fitted.theirs(fitted.ours(2_000)) <= 2_003, "{fitted:?}");
    }
}
