//! Replies, as a whole or in parts.

use memory_core::{
    ContentBlock, Json, Message, Role,
    json::message_with_members,
    port::{ChatEvent, ChatReply, ChatUsage, StopReason},
};
use serde::Deserialize;
use serde_json::{Value, json, value::to_raw_value};

use crate::{failure::Failure, http::Http, service::Parts};

/// An answer as a whole.
#[derive(Deserialize)]
pub(super) struct Completion {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Delta,
    finish_reason: Option<String>,
}

/// A part of an answer.
#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    choices: Vec<ChunkChoice>,
    usage: Option<Usage>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

/// A message, or what continues it.
#[derive(Default, Deserialize)]
struct Delta {
    content: Option<Value>,
    /// Reasoning, by its two names.
    reasoning_content: Option<String>,
    reasoning: Option<Value>,
    /// Signed or encrypted reasoning of gateways.
    reasoning_details: Option<Vec<Value>>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<usize>,
    id: Option<String>,
    #[serde(default)]
    function: FunctionDelta,
}

#[derive(Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Clone, Copy, Deserialize)]
struct Usage {
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
    prompt_tokens_details: Option<PromptDetails>,
    prompt_cache_hit_tokens: Option<u32>,
}

#[derive(Clone, Copy, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u32>,
}

/// A reply as far as it has arrived.
#[derive(Default)]
pub(super) struct Partial {
    text: String,
    reasoning: String,
    details: Vec<Value>,
    refusal: String,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: ChatUsage,
}

#[derive(Default)]
struct Call {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
}

impl Partial {
    pub(super) fn whole(&mut self, completion: Completion) {
        self.count(completion.usage);
        if let Some(Choice { message, finish_reason }) = completion.choices.into_iter().next() {
            self.take(message, &mut |_| {});
            self.finish = finish_reason;
        }
    }

    pub(super) fn add(&mut self, chunk: Chunk, parts: &Parts) {
        self.count(chunk.usage);
        if let Some(ChunkChoice { delta, finish_reason }) = chunk.choices.into_iter().next() {
            self.take(delta.unwrap_or_default(), &mut |event| parts.send(event));
            self.finish = finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn count(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        self.usage = ChatUsage::default()
            .prompt_tokens(usage.prompt_tokens)
            .cached_tokens(cached.or(usage.prompt_cache_hit_tokens))
            .reply_tokens(usage.completion_tokens);
    }

    fn take(&mut self, delta: Delta, send: &mut dyn FnMut(ChatEvent)) {
        let Delta { content, reasoning_content, reasoning, reasoning_details, refusal, tool_calls } = delta;
        let thought = reasoning_content.or_else(|| reasoning?.as_str().map(str::to_owned));
        let thoughts = thought.map(|text| ("thinking".to_owned(), text));
        for (kind, text) in thoughts.into_iter().chain(texts(content.as_ref())) {
            if text.is_empty() {
                continue;
            }
            if kind == "thinking" {
                self.reasoning.push_str(&text);
                send(ChatEvent::Reasoning(text));
            } else {
                self.text.push_str(&text);
                send(ChatEvent::Text(text));
            }
        }
        self.details.extend(reasoning_details.into_iter().flatten());
        self.refusal.push_str(refusal.as_deref().unwrap_or_default());
        for call in tool_calls.into_iter().flatten() {
            self.call(call, send);
        }
    }

    fn call(&mut self, delta: CallDelta, send: &mut dyn FnMut(ChatEvent)) {
        let CallDelta { index, id, function } = delta;
        let id = id.filter(|id| !id.is_empty());
        let is_last = |call: &Call| match (index, &id) {
            (Some(index), _) => call.index == Some(index),
            // Without an index, another id begins another call.
            (None, Some(id)) => call.id == *id,
            (None, None) => true,
        };
        if !self.calls.last().is_some_and(is_last) {
            // Calls of some servers have no id, which their answers need.
            let id = id.unwrap_or_else(|| format!("call_{}", self.calls.len()));
            let name = function.name.clone().unwrap_or_default();
            send(ChatEvent::ToolCall { id: id.clone(), name: name.clone() });
            self.calls.push(Call { index, id, name, arguments: String::new() });
        }
        let Some(call) = self.calls.last_mut() else { return };
        let part = match function.arguments {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) => text,
            Some(object) => object.to_string(),
        };
        call.arguments.push_str(&part);
        send(ChatEvent::ToolArguments { id: call.id.clone(), part });
    }

    /// The finished reply.
    pub(super) fn reply(self, http: &Http) -> Result<ChatReply, Failure> {
        let Self { text, reasoning, details, refusal, calls, finish, usage } = self;
        if !refusal.trim().is_empty() {
            return Err(http.target.refused(&refusal));
        }
        let stop = finish.map(|finish| match finish.as_str() {
            "stop" => StopReason::EndOfTurn,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "length" => StopReason::MaxTokens,
            _ => StopReason::Other(finish),
        });
        match &stop {
            Some(StopReason::Other(reason)) if reason == "content_filter" => {
                return Err(http.target.refused("the reply was filtered"));
            }
            Some(StopReason::Other(reason)) if reason == "model_context_window_exceeded" => {
                return Err(http.target.overflow(None, None));
            }
            _ => {}
        }
        let mut blocks = Vec::new();
        if !reasoning.is_empty() {
            blocks.push(ContentBlock::Reasoning { text: reasoning, signature: None });
        }
        if !details.is_empty() {
            blocks.push(ContentBlock::Unknown(Json::from_value(&json!({"reasoning_details": details}))));
        }
        // The converter reads what the model said; arguments that are no JSON become a text.
        let call = |call: &Call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": call.id, "type": "function", "function": function})
        };
        let calls: Vec<_> = calls.iter().map(call).collect();
        let said = json!({"role": "assistant", "content": text, "tool_calls": calls});
        let read = to_raw_value(&said)
            .map_err(|error| error.to_string())
            .and_then(|raw| message_with_members(&raw, &[]).map_err(|error| error.to_string()));
        let (message, _) = read.map_err(|what| http.malformed(what))?;
        blocks.extend(
            message.content.into_iter().filter(|block| !matches!(block, ContentBlock::Text(text) if text.is_empty())),
        );
        Ok(ChatReply::new(Message::new(Role::Assistant, blocks)).usage(usage).stop(stop))
    }
}

/// The texts of a content, which is a text or a list of parts, each with its kind.
fn texts(content: Option<&Value>) -> Vec<(String, String)> {
    let part = |part: &Value| {
        let kind = part["type"].as_str().unwrap_or("text").to_owned();
        // Parts of reasoning hold a list of texts.
        let text = match (&part[kind.as_str()], &part["text"]) {
            (Value::Array(inner), _) => inner.iter().filter_map(|part| part["text"].as_str()).collect(),
            (_, Value::String(text)) | (Value::String(text), _) => text.clone(),
            _ => String::new(),
        };
        (kind, text)
    };
    match content {
        Some(Value::String(text)) => vec![("text".to_owned(), text.clone())],
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        _ => Vec::new(),
    }
}
