//! Replies, as a whole or in parts.
#![expect(clippy::indexing_slicing, reason = "JSON without a member is null, and an object takes every member")]

use memory_core::{
    ContentBlock, Json, Message,
    json::{message_from_json, message_with_members},
    port::{ChatEvent, ChatReply, ChatUsage, StopReason},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{failure::Failure, http::Http, service::Parts};

/// A reply that arrives whole.
#[derive(Deserialize)]
pub(super) struct Answer {
    content: Box<RawValue>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Usage,
}

/// An event of a stream.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamEvent {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: usize,
        content_block: Value,
    },
    ContentBlockDelta {
        index: usize,
        delta: Value,
    },
    MessageDelta {
        delta: MessageDelta,
        #[serde(default)]
        usage: Usage,
    },
    MessageStop,
    Error {},
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct Started {
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
pub(super) struct MessageDelta {
    stop_reason: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub(super) struct Usage {
    input_tokens: Option<u32>,
    cache_creation_input_tokens: Option<u32>,
    cache_read_input_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

impl Usage {
    /// Newer counts, with the older ones where a count is missing.
    fn or(self, older: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.or(older.input_tokens),
            cache_creation_input_tokens: self.cache_creation_input_tokens.or(older.cache_creation_input_tokens),
            cache_read_input_tokens: self.cache_read_input_tokens.or(older.cache_read_input_tokens),
            output_tokens: self.output_tokens.or(older.output_tokens),
        }
    }

    /// The provider's `input_tokens` exclude those that its cache gave or took; ours include all.
    fn total(self) -> ChatUsage {
        let cached = self.cache_read_input_tokens;
        let written = self.cache_creation_input_tokens;
        let all = self
            .input_tokens
            .map(|rest| rest.saturating_add(cached.unwrap_or_default()).saturating_add(written.unwrap_or_default()));
        ChatUsage::default()
            .prompt_tokens(all)
            .cached_tokens(cached)
            .cache_written_tokens(written)
            .reply_tokens(self.output_tokens)
    }
}

impl Answer {
    pub(super) fn reply(self, http: &Http) -> Result<ChatReply, Failure> {
        let said = format!(r#"{{"role":"assistant","content":{}}}"#, self.content.get());
        let read = serde_json::from_str::<&RawValue>(&said)
            .map_err(|error| error.to_string())
            .and_then(|raw| message_with_members(raw, &[]).map_err(|error| error.to_string()));
        let (mut message, _) = read.map_err(|what| http.malformed(what))?;
        message.content = message.content.into_iter().map(plain).collect();
        finished(http, message, self.stop_reason, self.usage)
    }
}

fn finished(http: &Http, message: Message, stop: Option<String>, usage: Usage) -> Result<ChatReply, Failure> {
    let stop = match stop.as_deref() {
        None => None,
        Some("end_turn") => Some(StopReason::EndOfTurn),
        Some("tool_use") => Some(StopReason::ToolUse),
        Some("max_tokens") => Some(StopReason::MaxTokens),
        Some("model_context_window_exceeded") => return Err(http.target.overflow(None, usage.total().prompt_tokens)),
        Some("refusal") => return Err(http.target.refused("the model declined to answer")),
        Some(other) => Some(StopReason::Other(other.to_owned())),
    };
    Ok(ChatReply::new(message).usage(usage.total()).stop(stop))
}

/// A reply as far as it has arrived.
#[derive(Default)]
pub(super) struct Partial {
    blocks: Vec<PartialBlock>,
    usage: Usage,
    stop: Option<String>,
    is_finished: bool,
}

struct PartialBlock {
    index: usize,
    /// The block as it began, with what followed.
    block: Value,
    /// Input of a call, as JSON text.
    input: String,
}

impl Partial {
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    pub(super) fn add(&mut self, event: StreamEvent, parts: &Parts) {
        match event {
            StreamEvent::MessageStart { message } => self.usage = message.usage,
            StreamEvent::ContentBlockStart { index, content_block: block } if block.is_object() => {
                let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                match block["type"].as_str() {
                    Some("tool_use") => parts.send(ChatEvent::ToolCall { id: text("id"), name: text("name") }),
                    Some("text") if !text("text").is_empty() => parts.send(ChatEvent::Text(text("text"))),
                    _ => {}
                }
                self.blocks.push(PartialBlock { index, block, input: String::new() });
            }
            StreamEvent::ContentBlockDelta { index, delta } => {
                if let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) {
                    block.add(delta, parts);
                }
            }
            StreamEvent::MessageDelta { delta, usage } => {
                self.usage = usage.or(self.usage);
                self.stop = delta.stop_reason.or(self.stop.take());
            }
            StreamEvent::MessageStop => self.is_finished = true,
            StreamEvent::ContentBlockStart { .. } | StreamEvent::Error {} | StreamEvent::Other => {}
        }
    }

    /// The finished reply.
    pub(super) fn reply(self, http: &Http) -> Result<ChatReply, Failure> {
        let blocks: Result<Vec<_>, _> = self.blocks.into_iter().map(PartialBlock::finish).collect();
        let blocks = blocks.map_err(|what| http.malformed(what))?;
        let message = Message::new(memory_core::Role::Assistant, blocks);
        finished(http, message, self.stop, self.usage)
    }
}

impl PartialBlock {
    fn add(&mut self, delta: Value, parts: &Parts) {
        let Value::Object(members) = delta else { return };
        for (name, value) in members {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("partial_json", Value::String(part)) => {
                    self.input.push_str(&part);
                    let id = self.block["id"].as_str().unwrap_or_default().to_owned();
                    if !part.is_empty() {
                        parts.send(ChatEvent::ToolArguments { id, part });
                    }
                }
                // Citations arrive one by one.
                ("citation", citation) => match self.block["citations"].as_array_mut() {
                    Some(citations) => citations.push(citation),
                    None => self.block["citations"] = json!([citation]),
                },
                (_, Value::String(part)) => {
                    let known = self.block[&name].as_str().unwrap_or_default();
                    self.block[&name] = format!("{known}{part}").into();
                    match name.as_str() {
                        "text" => parts.send(ChatEvent::Text(part)),
                        "thinking" => parts.send(ChatEvent::Reasoning(part)),
                        _ => {}
                    }
                }
                (_, value) => self.block[&name] = value,
            }
        }
    }

    fn finish(self) -> Result<ContentBlock, String> {
        let Self { mut block, input, .. } = self;
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        if block["type"] == "tool_use" && !input.trim().is_empty() {
            // Arguments of a reply that its limit cut off are no JSON, and stay as a text.
            let input = Json::new(input.trim()).unwrap_or_else(|_| Json::string(&input));
            return Ok(ContentBlock::ToolUse { id: text("id"), name: text("name"), input });
        }
        if !input.is_empty() {
            block["input"] = serde_json::from_str(&input).unwrap_or_else(|_| input.clone().into());
        }
        let read = message_from_json(&json!({"role": "assistant", "content": [block]}));
        let message = read.map_err(|error| error.to_string())?;
        message.content.into_iter().next().map(plain).ok_or_else(|| "a block without content".to_owned())
    }
}

/// Known block in place of an unknown one whose further members have no use here, such as the caller of a tool.
fn plain(block: ContentBlock) -> ContentBlock {
    let ContentBlock::Unknown(json) = &block else { return block };
    let value = json.to_value();
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let is_bare =
        || value.as_object().is_some_and(|members| members.values().filter(|value| !value.is_null()).count() == 2);
    match value["type"].as_str() {
        Some("text") if is_bare() => text("text").map(ContentBlock::Text),
        Some("tool_use") => text("id").zip(text("name")).map(|(id, name)| {
            let input = Json::from_value(&value["input"]);
            ContentBlock::ToolUse { id, name, input }
        }),
        _ => None,
    }
    .unwrap_or(block)
}
