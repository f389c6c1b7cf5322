//! Calls of tools and their answers in the shape of OpenAI's Chat Completions API, which places them next to the
//! content.

use super::{Object, invalid, not_an_object};
use crate::{
    ContentBlock, Json, Role,
    json::{InvalidMessage, message::value::Raw},
};

/// The members of a message for calls and answers.
pub(super) const MEMBERS: [&str; 2] = ["tool_calls", "tool_call_id"];

impl Object<'_> {
    /// The content with the calls after it, or as the result of the call that the message answers.
    pub(super) fn with_calls(
        &self,
        role: Role,
        mut content: Vec<ContentBlock>,
    ) -> Result<Vec<ContentBlock>, InvalidMessage> {
        if let Some(calls) = self.given("tool_calls") {
            let calls = calls.items().ok_or_else(|| invalid("tool_calls", "expected a list"))?;
            if role != Role::Assistant && !calls.is_empty() {
                return Err(invalid("tool_calls", format!("the role is {role}, and only an assistant calls tools")));
            }
            for (index, json) in calls.into_iter().enumerate() {
                content.push(call(json, &format!("tool_calls[{index}]"))?);
            }
        }
        let Some(id) = self.text("tool_call_id")? else { return Ok(content) };
        if role != Role::Tool {
            return Err(invalid("tool_call_id", format!("the role is {role}, and only a tool answers a call")));
        }
        Ok(vec![ContentBlock::ToolResult { tool_use_id: id.into_owned(), content, is_error: false }])
    }
}

/// `{"id": …, "type": "function", "function": {"name": …, "arguments": …}}`.
fn call(json: Raw<'_>, at: &str) -> Result<ContentBlock, InvalidMessage> {
    let call = object(json, at)?;
    if let Some(unknown) = call.beyond(&["id", "type", "function", "index"]) {
        return Err(invalid(format!("{at}.{unknown}"), "a call has no such member, only id, type, function, index"));
    }
    if call.given("type").is_some_and(|kind| kind.text().as_deref() != Some("function")) {
        return Err(invalid(format!("{at}.type"), "expected `function`"));
    }
    let of = |object: &Object<'_>, name: &str| {
        object.string(name).ok_or_else(|| invalid(format!("{at}.{name}"), "expected a text"))
    };
    let id = of(&call, "id")?;
    let function = call.get("function").ok_or_else(|| invalid(format!("{at}.function"), "missing"))?;
    let at = &format!("{at}.function");
    let function = object(function, at)?;
    if let Some(unknown) = function.beyond(&["name", "arguments"]) {
        return Err(invalid(format!("{at}.{unknown}"), "a function has no such member, only name, arguments"));
    }
    let name = function.string("name").ok_or_else(|| invalid(format!("{at}.name"), "expected a text"))?;
    let input = match function.given("arguments") {
        None => Json::from_value(&serde_json::json!({})),
        Some(arguments) => match arguments.text() {
            Some(text) => input(&text),
            None => arguments.json().map_err(|error| invalid(format!("{at}.arguments"), error.to_string()))?,
        },
    };
    Ok(ContentBlock::ToolUse { id, name, input })
}

/// The arguments as JSON. A model may write none, or invalid JSON, which stays unchanged as a text.
fn input(arguments: &str) -> Json {
    match arguments.trim() {
        "" => Json::from_value(&serde_json::json!({})),
        given => Json::new(given).unwrap_or_else(|_| Json::from_value(&arguments.into())),
    }
}

fn object<'a>(json: Raw<'a>, at: &str) -> Result<Object<'a>, InvalidMessage> {
    let members = json.members().ok_or_else(|| not_an_object(json, at))?;
    Ok(Object { members, exact: json.exact })
}
