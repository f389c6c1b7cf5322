//! Replies, in parts.

use aws_sdk_bedrockruntime::types::{
    ContentBlockDelta, ContentBlockStart, ConverseStreamOutput, ReasoningContentBlockDelta, StopReason as Stop,
    TokenUsage,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use memory_core::{
    ContentBlock, Json, Message, Role,
    port::{ChatEvent, ChatReply, ChatUsage, StopReason},
};
use serde_json::json;

use crate::{
    ModelError,
    failure::{Failure, Target},
    service::Parts,
};

/// A reply as far as it has arrived.
#[derive(Default)]
pub(super) struct Partial {
    blocks: Vec<PartialBlock>,
    usage: ChatUsage,
    stop: Option<Stop>,
}

#[derive(Default)]
struct PartialBlock {
    index: i32,
    text: String,
    reasoning: String,
    signature: String,
    redacted: Vec<u8>,
    /// Id, name and input of a call.
    call: Option<(String, String, String)>,
}

impl Partial {
    pub(super) fn add(&mut self, event: ConverseStreamOutput, parts: Option<&Parts>) {
        let send = |event: ChatEvent| parts.iter().for_each(|parts| parts.send(event.clone()));
        match event {
            ConverseStreamOutput::ContentBlockStart(event) => {
                let block = self.block(event.content_block_index);
                if let Some(ContentBlockStart::ToolUse(call)) = event.start {
                    send(ChatEvent::ToolCall { id: call.tool_use_id.clone(), name: call.name.clone() });
                    block.call = Some((call.tool_use_id, call.name, String::new()));
                }
            }
            ConverseStreamOutput::ContentBlockDelta(event) => {
                let block = self.block(event.content_block_index);
                match event.delta {
                    Some(ContentBlockDelta::Text(part)) => {
                        block.text.push_str(&part);
                        send(ChatEvent::Text(part));
                    }
                    Some(ContentBlockDelta::ToolUse(part)) => {
                        if let Some((id, _, input)) = &mut block.call {
                            input.push_str(&part.input);
                            send(ChatEvent::ToolArguments { id: id.clone(), part: part.input });
                        }
                    }
                    Some(ContentBlockDelta::ReasoningContent(part)) => match part {
                        ReasoningContentBlockDelta::Text(part) => {
                            block.reasoning.push_str(&part);
                            send(ChatEvent::Reasoning(part));
                        }
                        ReasoningContentBlockDelta::Signature(part) => block.signature.push_str(&part),
                        ReasoningContentBlockDelta::RedactedContent(part) => block.redacted.extend(part.as_ref()),
                        _ => {}
                    },
                    _ => {}
                }
            }
            ConverseStreamOutput::MessageStop(event) => self.stop = Some(event.stop_reason),
            ConverseStreamOutput::Metadata(event) => {
                if let Some(usage) = event.usage {
                    self.usage = total(&usage);
                }
            }
            _ => {}
        }
    }

    fn block(&mut self, index: i32) -> &mut PartialBlock {
        let at = self.blocks.iter().position(|block| block.index == index).unwrap_or(self.blocks.len());
        if at == self.blocks.len() {
            self.blocks.push(PartialBlock { index, ..PartialBlock::default() });
        }
        #[expect(clippy::indexing_slicing, reason = "found or pushed above")]
        &mut self.blocks[at]
    }

    /// The finished reply.
    pub(super) fn reply(self, target: &Target) -> Result<ChatReply, Failure> {
        let stop = match self.stop {
            None => {
                let detail = "the stream ended before the reply".to_owned();
                return Err(target.failed(ModelError::Cut { detail }));
            }
            Some(Stop::EndTurn) => StopReason::EndOfTurn,
            Some(Stop::ToolUse) => StopReason::ToolUse,
            Some(Stop::MaxTokens) => StopReason::MaxTokens,
            Some(Stop::ModelContextWindowExceeded) => return Err(target.overflow(None, self.usage.prompt_tokens)),
            Some(stop @ (Stop::ContentFiltered | Stop::GuardrailIntervened)) => {
                return Err(target.refused(stop.as_str()));
            }
            Some(other) => StopReason::Other(other.as_str().to_owned()),
        };
        let blocks = self.blocks.into_iter().flat_map(PartialBlock::finish).collect();
        Ok(ChatReply::new(Message::new(Role::Assistant, blocks)).usage(self.usage).stop(stop))
    }
}

impl PartialBlock {
    fn finish(self) -> Vec<ContentBlock> {
        let Self { text, reasoning, signature, redacted, call, .. } = self;
        let mut blocks = Vec::new();
        if !reasoning.is_empty() || !signature.is_empty() {
            let signature = Some(signature).filter(|signature| !signature.is_empty());
            blocks.push(ContentBlock::Reasoning { text: reasoning, signature });
        }
        if !redacted.is_empty() {
            let bytes = json!({"__bytes_encoded__": true, "data": BASE64_STANDARD.encode(redacted)});
            let block = json!({"reasoningContent": {"redactedContent": bytes}});
            blocks.push(ContentBlock::Unknown(Json::from_value(&block)));
        }
        if !text.is_empty() {
            blocks.push(ContentBlock::Text(text));
        }
        if let Some((id, name, input)) = call {
            let input = match input.trim() {
                "" => Json::from_value(&json!({})),
                given => Json::new(given).unwrap_or_else(|_| Json::string(given)),
            };
            blocks.push(ContentBlock::ToolUse { id, name, input });
        }
        blocks
    }
}

/// The provider's input tokens exclude those that its cache gave or took; ours include all.
fn total(usage: &TokenUsage) -> ChatUsage {
    let count = |tokens: i32| u32::try_from(tokens).unwrap_or_default();
    let cached = usage.cache_read_input_tokens.map(count);
    let written = usage.cache_write_input_tokens.map(count);
    let all = count(usage.input_tokens) + cached.unwrap_or_default() + written.unwrap_or_default();
    ChatUsage::default()
        .prompt_tokens(Some(all))
        .cached_tokens(cached)
        .cache_written_tokens(written)
        .reply_tokens(Some(count(usage.output_tokens)))
}
