//! Messages of a request, a response, or both, and the other members of the object.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::{Why, members::says_something, out::ItemQueue};

/// Members that name the conversation of an object.
pub(super) const NAMES: [&str; 4] = ["conversation_id", "session_id", "thread_id", "chat_id"];
/// Members that hold the messages of an object.
const LISTS: [&str; 3] = ["messages", "input", "items"];
/// Members that hold a model's response as text.
const ANSWERS: [&str; 2] = ["output", "response"];
/// Members that are read in addition to the messages.
const BESIDE: [&str; 3] = ["title", "model", "modelId"];
/// Members that are settings of requests or notes on responses.
#[rustfmt::skip]
const NOTES: [&str; 48] = [
    "additionalModelRequestFields", "background", "cache_control", "container", "context_management", "created",
    "created_at", "error", "frequency_penalty", "guardrailConfig", "id", "incomplete_details", "inferenceConfig",
    "logit_bias", "logprobs", "max_completion_tokens", "max_output_tokens", "max_tokens", "metadata", "metrics",
    "modalities", "n", "object", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt_cache_key",
    "reasoning", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "status", "stop",
    "stop_sequences", "store", "stream", "stream_options", "system_fingerprint", "temperature", "thinking", "timestamp",
    "toolConfig", "tools", "top_p", "type", "usage",
];

/// Messages of an object.
pub(super) struct Exchange<'a> {
    pub(super) messages: Vec<Cow<'a, Value>>,
    /// Members that held them.
    taken: Vec<&'static str>,
    /// Number of alternative responses, apart from the first.
    further: u64,
}

impl<'a> Exchange<'a> {
    /// Messages of a request, a response, or both; `None` for an object that is itself a message, or has none.
    pub(super) fn of(object: &'a Value) -> Option<Self> {
        // Every message has a role.
        if object.get("role").is_some() {
            return None;
        }
        let mut found = Self { messages: Vec::new(), taken: Vec::new(), further: 0 };
        let text = |name: &str| object[name].as_str().filter(|text| !text.is_empty());
        let is_item = object.get("type").is_some();
        // An instruction and its input become one user message.
        let has_list = LISTS.iter().any(|name| object.get(*name).is_some_and(Value::is_array));
        if let (Some(task), Some(answer), false) = (text("instruction"), text("output"), has_list) {
            let about = text("input").map(|about| format!("\n\n{about}")).unwrap_or_default();
            found.say("instruction", "user", &format!("{task}{about}"));
            found.say("output", "assistant", answer);
            found.taken.push("input");
            return Some(found);
        }
        for name in LISTS.into_iter().filter(|name| !is_item || *name == "messages") {
            match object.get(name) {
                Some(Value::Array(list)) => found.take(name, list),
                // The Responses API accepts a text as the user's message.
                Some(Value::String(said)) if name == "input" && object.get("output").is_some() => {
                    found.say(name, "user", said);
                }
                _ => {}
            }
        }
        if let Some(output) = object["output"].as_array().filter(|_| !is_item) {
            found.take("output", output);
        }
        if let Some(choices) = object["choices"].as_array() {
            found.taken.push("choices");
            let said = choices.first().and_then(|choice| choice.get("message"));
            found.messages.extend(said.map(Cow::Borrowed));
            let completed = choices.first().and_then(|choice| choice.get("text")?.as_str());
            if let Some(completed) = completed.filter(|_| said.is_none()) {
                found.say("choices", "assistant", completed);
            }
            found.further = (choices.len() as u64).saturating_sub(1);
        }
        for name in ANSWERS {
            if let Some(answer) = text(name).filter(|_| !is_item && !found.taken.is_empty()) {
                found.messages.push(Cow::Owned(json!({"role": "assistant", "content": answer})));
                found.taken.push(name);
            }
        }
        (!found.taken.is_empty()).then_some(found)
    }

    fn take(&mut self, name: &'static str, list: &'a [Value]) {
        self.messages.extend(list.iter().map(Cow::Borrowed));
        self.taken.push(name);
    }

    fn say(&mut self, name: &'static str, role: &str, text: &str) {
        self.messages.push(Cow::Owned(json!({"role": role, "content": text})));
        self.taken.push(name);
    }

    /// Counts the members of the object that hold no message, by name.
    pub(super) fn count_others(&self, object: &Value, system: Option<&str>, out: &mut ItemQueue) {
        out.count(Why::NoPlace, "further choice", self.further);
        if let Some(choice) = object.get("choices").and_then(|choices| choices.get(0)) {
            out.unknown("choices.", choice, &["index", "finish_reason", "message", "text", "logprobs"]);
        }
        for (name, _) in object.as_object().into_iter().flatten().filter(|(_, value)| says_something(value)) {
            let name = name.as_str();
            let is_taken = self.taken.contains(&name) || system == Some(name);
            if is_taken || NAMES.contains(&name) || BESIDE.contains(&name) {
                continue;
            }
            let why = if NOTES.contains(&name) { Why::Note } else { Why::Unknown };
            out.skip(why, &format!("member {name}"));
        }
    }
}
