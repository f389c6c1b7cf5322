//! Messages of training data and of collected chats: `{from, value}` of ShareGPT, and `{role, content}` with any role.

use std::{borrow::Cow, collections::VecDeque};

use serde_json::{Value, json};

/// Names that data sets give to speakers, with the roles of OpenAI's API.
#[rustfmt::skip]
const ROLES: [(&str, &str); 20] = [
    ("human", "user"), ("prompter", "user"), ("instruction", "user"), ("customer", "user"), ("student", "user"),
    ("gpt", "assistant"), ("chatgpt", "assistant"), ("bing", "assistant"), ("bard", "assistant"), ("model", "assistant"),
    ("bot", "assistant"), ("ai", "assistant"), ("claude", "assistant"), ("agent", "assistant"), ("tutor", "assistant"),
    ("gemini", "assistant"), ("observation", "tool"), ("function_response", "tool"), ("tool_response", "tool"),
    ("ipython", "tool"),
];
/// Names of messages that call a tool, with the call as JSON.
const CALLS: [&str; 2] = ["function_call", "tool_call"];
/// Members that name the speaker of a message, and that hold its words.
const SPEAKERS: [&str; 4] = ["role", "from", "speaker", "author"];
const WORDS: [&str; 4] = ["content", "value", "text", "utterance"];

/// Calls without ids, which results follow in order.
#[derive(Debug, Default)]
pub(super) struct Calls {
    count: u64,
    open: VecDeque<String>,
}

impl Calls {
    /// Calls in JSON, in the shape of OpenAI's API; `None` if the text is none.
    fn read(&mut self, said: &Value) -> Option<Vec<Value>> {
        let parsed = crate::exact::parse(said.as_str()?).ok()?;
        let list = parsed.as_array().cloned().unwrap_or_else(|| vec![parsed]);
        let call = |call: &Value| {
            self.count += 1;
            let id = format!("call-{}", self.count);
            self.open.push_back(id.clone());
            json!({"id": id, "function": {"name": call["name"], "arguments": call["arguments"]}})
        };
        let is_read = !list.is_empty() && list.iter().all(|call| call["name"].is_string());
        is_read.then(|| list.iter().map(call).collect())
    }
}

/// A message in the shape of OpenAI's API.
pub(super) fn plain<'a>(message: &'a Value, calls: &mut Calls) -> Cow<'a, Value> {
    let member = |names: [&'static str; 4]| names.into_iter().find(|name| message[*name].is_string());
    let Some(named) = member(SPEAKERS) else { return Cow::Borrowed(message) };
    let speaker = message[named].as_str().unwrap_or_default();
    let lower = speaker.to_lowercase();
    let role = ROLES.iter().find(|(name, _)| *name == lower).map_or(lower.as_str(), |(_, role)| role);
    let mut plain = message.clone();
    let Some(members) = plain.as_object_mut() else { return Cow::Borrowed(message) };
    members.remove(named);
    let words = member(WORDS).filter(|_| !message["content"].is_array()).unwrap_or("content");
    let mut said = members.remove(words).unwrap_or_default();
    let mut made = Vec::new();
    if let Value::Array(parts) = &mut said {
        let is_call = |part: &Value| part["type"].as_str().is_some_and(|kind| CALLS.contains(&kind));
        parts.retain(|part| match is_call(part).then(|| calls.read(&part["value"])).flatten() {
            Some(read) => {
                made.extend(read);
                false
            }
            None => true,
        });
    }
    let is_call = CALLS.contains(&role);
    // A call that is not JSON is a text of the model.
    if let Some(read) = is_call.then(|| calls.read(&said)).flatten() {
        made.extend(read);
        said = Value::Null;
    }
    if role == "tool" && !members.contains_key("tool_call_id") {
        let id = calls.open.pop_front();
        members.extend(id.map(|id| ("tool_call_id".to_owned(), id.into())));
    }
    members.insert("role".to_owned(), if is_call { "assistant" } else { role }.into());
    members.insert("content".to_owned(), said);
    if !made.is_empty() {
        members.insert("tool_calls".to_owned(), made.into());
    }
    Cow::Owned(plain)
}

/// Two chats of an arena, of one question with two models.
pub(super) fn arena(object: &Value) -> Option<[Value; 2]> {
    let chat = |name: &str| {
        let messages = object.get(format!("conversation_{name}"))?;
        let mut chat = object.clone();
        let members = chat.as_object_mut()?;
        for other in ["a", "b"] {
            members.remove(&format!("conversation_{other}"));
            let model = members.remove(&format!("model_{other}"));
            members.extend(model.filter(|_| other == name).map(|model| ("model".to_owned(), model)));
        }
        let id = object["question_id"].as_str().map(|id| format!("{id}-{name}"));
        members.extend(id.map(|id| ("conversation_id".to_owned(), id.into())));
        members.insert("conversation".to_owned(), messages.clone());
        Some(chat)
    };
    Some([chat("a")?, chat("b")?])
}
