//! Messages of a request, a response, or both, and the other members of the object.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::{Why, members::says_something, out::ItemQueue};

/// Members that name the conversation of an object.
pub(super) const NAMES: [&str; 6] =
    ["conversation_id", "conversation_hash", "session_id", "sessionId", "thread_id", "chat_id"];
/// Members that hold the messages of an object.
const LISTS: [&str; 7] = ["messages", "input", "items", "conversations", "conversation", "chosen_messages", "chosen"];
/// Members that hold a person's words as text, and members that add to them.
const PROMPTS: [&str; 4] = ["instruction", "prompt", "question", "query"];
const CONTEXTS: [&str; 2] = ["input", "context"];
/// Members that hold a model's response as text.
const ANSWERS: [&str; 7] = ["output", "response", "completion", "answer", "chosen", "ideal", "reference_answer"];
/// Members that are read in addition to the messages.
const BESIDE: [&str; 5] = ["title", "model", "modelId", "model_name", "tstamp"];
/// Members that are settings of requests, notes on responses, or judgements of conversations.
#[rustfmt::skip]
const NOTES: [&str; 74] = [
    "additionalModelRequestFields", "agent", "anony", "background", "cache_control", "category", "container",
    "context_management", "country", "created", "created_at", "detoxify_moderation", "error", "frequency_penalty",
    "guardrailConfig", "hashed_ip", "header", "id", "incomplete_details", "inferenceConfig", "judge", "language",
    "logit_bias", "logprobs", "max_completion_tokens", "max_output_tokens", "max_tokens", "metadata", "metrics",
    "modalities", "n", "object", "openai_moderation", "origin", "parallel_tool_calls", "presence_penalty",
    "previous_response_id", "prompt_cache_key", "question_id", "reasoning", "reasoning_effort", "redacted",
    "response_format", "safety_identifier", "score", "seed", "service_tier", "source", "state", "status", "stop",
    "stop_sequences", "store", "stream", "stream_options", "system_fingerprint", "task", "temperature", "thinking",
    "timestamp", "toolConfig", "tools", "top_p", "toxic", "toxic_chat_tag", "turn", "type", "updated_at", "usage",
    "version", "weight", "winner", "dataset", "idx",
];

/// Messages of an object.
pub(super) struct Exchange<'a> {
    pub(super) messages: Vec<Cow<'a, Value>>,
    /// Members that held them.
    taken: Vec<&'static str>,
    /// Number of alternative responses, apart from the first.
    further: u64,
}

/// The members of a request and of its response, which a log holds in one object, as if they were one.
pub(super) fn logged(object: &Value) -> Option<Value> {
    let request =
        object["request"].as_object().filter(|request| LISTS.iter().any(|name| request.contains_key(*name)))?;
    let mut whole = object.as_object()?.clone();
    whole.remove("request");
    let response = whole.remove("response")?;
    whole.extend(request.clone());
    match response {
        // Anthropic's response is a message.
        Value::Object(said) if said.contains_key("role") => {
            whole.get_mut("messages").and_then(Value::as_array_mut)?.push(said.into());
        }
        Value::Object(members) => whole.extend(members),
        other => drop(whole.insert("response".to_owned(), other)),
    }
    Some(whole.into())
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
        let is_list = |name: &str| object.get(name).is_some_and(Value::is_array);
        let prompt = PROMPTS.into_iter().find(|name| text(name).is_some());
        let answered = ANSWERS.into_iter().find(|name| text(name).is_some());
        if let (Some(prompt), Some(answered), false) = (prompt, answered, LISTS.iter().any(|name| is_list(name))) {
            found.earlier(&object["history"]);
            // An instruction and its input become one user message.
            let about = CONTEXTS.into_iter().filter(|name| *name != answered).filter_map(text);
            let said: Vec<_> = text(prompt).into_iter().chain(about).collect();
            found.say(prompt, "user", &said.join("\n\n"));
            found.say(answered, "assistant", text(answered).unwrap_or_default());
            found.taken.extend(CONTEXTS);
            return Some(found);
        }
        if let Some(said) = object["data"].as_array().filter(|said| said.iter().all(Value::is_string)) {
            // A person and the model speak in turn.
            for (number, said) in said.iter().filter_map(Value::as_str).enumerate() {
                found.say("data", if number % 2 == 0 { "user" } else { "assistant" }, said);
            }
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
        // The preferred one of two answers may be a message.
        let chosen = object.get("chosen").filter(|chosen| chosen.is_object() && !found.taken.is_empty());
        if let Some(chosen) = chosen {
            found.take("chosen", std::slice::from_ref(chosen));
        }
        let is_open = !is_item && !found.taken.is_empty() && !found.taken.contains(&"choices");
        if let Some(name) = ANSWERS.into_iter().find(|name| text(name).is_some()).filter(|_| is_open) {
            found.say(name, "assistant", text(name).unwrap_or_default());
        }
        (!found.taken.is_empty()).then_some(found)
    }

    fn take(&mut self, name: &'static str, list: &'a [Value]) {
        self.messages.extend(list.iter().map(Cow::Borrowed));
        self.taken.push(name);
    }

    /// Adds earlier turns, each a list of a person's words and the model's.
    fn earlier(&mut self, turns: &Value) {
        for turn in turns.as_array().into_iter().flatten() {
            for (role, place) in [("user", 0), ("assistant", 1)] {
                if let Some(said) = turn[place].as_str() {
                    self.say("history", role, said);
                }
            }
        }
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
