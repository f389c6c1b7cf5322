//! Parts of a content of Google's API.

use std::collections::VecDeque;

use memory_core::{ContentBlock, Message, Role};
use serde_json::{Map, Value};

use crate::{
    blocks::{self, Blocks, file, image, unknown},
    exact,
    members::others,
    turn::{self, Extended},
};

/// Reader of parts. Calls without an id are paired with results by order and name.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    open: VecDeque<(String, String)>,
    calls: u64,
}

impl Parts {
    /// The blocks of a text, a part, or a list of both.
    pub(crate) fn blocks(&mut self, content: &Value) -> Blocks {
        let mut read = Blocks::default();
        match content {
            Value::Null => {}
            Value::Array(list) => list.iter().for_each(|part| read.add(self.block(part))),
            one => read.add(self.block(one)),
        }
        read
    }

    fn block(&mut self, part: &Value) -> Extended {
        let data = |of: &Value, name: &str| of[name].as_str().map(str::to_owned);
        if let Some(text) = part.as_str() {
            return turn::text(text);
        }
        let (block, taken) = if let Some(text) = part["text"].as_str() {
            let signature = part["thoughtSignature"].as_str().map(str::to_owned);
            match part["thought"] == true {
                true => (ContentBlock::Reasoning { text: text.to_owned(), signature }, "thought"),
                false => (ContentBlock::Text(text.to_owned()), "thought"),
            }
        } else if let Some(call) = part.get("functionCall") {
            let name = call["name"].as_str().unwrap_or("unknown");
            let id = self.call_id(call["id"].as_str(), name);
            (blocks::call(&id, name, &call["args"]), "functionCall")
        } else if let Some(response) = part.get("functionResponse") {
            let name = response["name"].as_str().unwrap_or("unknown");
            let id = self.id_of(response["id"].as_str(), name);
            (self.response(&id, response), "functionResponse")
        } else if let Some(inline) = part.get("inlineData") {
            let media_type = data(inline, "mimeType").unwrap_or_default();
            let url = format!("data:{media_type};base64,{}", inline["data"].as_str().unwrap_or_default());
            let is_picture = media_type.starts_with("image/");
            (
                if is_picture { image(&url) } else { file(inline["displayName"].as_str(), Some(&url), None) },
                "inlineData",
            )
        } else if let Some(stored) = part.get("fileData") {
            (file(stored["displayName"].as_str(), None, stored["fileUri"].as_str()), "fileData")
        } else {
            return (unknown(&exact::written(part)), Map::new());
        };
        (block, others(part, &["text", "thoughtSignature", "thought", taken]))
    }

    /// The id of a call; without an own one, its name and number.
    pub(crate) fn call_id(&mut self, id: Option<&str>, name: &str) -> String {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            return id.to_owned();
        }
        self.calls += 1;
        let id = format!("{name}-{}", self.calls);
        self.open.push_back((name.to_owned(), id.clone()));
        id
    }

    fn id_of(&mut self, id: Option<&str>, name: &str) -> String {
        let by_name = || self.open.iter().position(|(called, _)| called == name);
        match id.filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => by_name().and_then(|place| self.open.remove(place)).map_or_else(|| name.to_owned(), |(_, id)| id),
        }
    }

    /// The result of a call, from the value of the API.
    fn response(&mut self, id: &str, response: &Value) -> ContentBlock {
        let said = &response["response"];
        let error = said.get("error").filter(|_| said.get("output").is_none());
        let is_alone =
            |name: &str| said.as_object().is_some_and(|members| members.len() == 1 && members.contains_key(name));
        let content = match ["output", "error", "result", "content"].into_iter().find(|name| is_alone(name)) {
            Some(name) => &said[name],
            None => said,
        };
        let (mut block, _) = turn::result(id, content, error.is_some());
        if let ContentBlock::ToolResult { content, .. } = &mut block {
            content.extend(self.blocks(&response["parts"]).blocks);
        }
        block
    }

    /// The result that the record of a call holds: parts, or what was displayed; `None` if there is neither.
    pub(crate) fn result_of(&mut self, id: &str, call: &Value) -> Option<Extended> {
        let mut is_error = matches!(call["status"].as_str(), Some("error" | "cancelled"));
        let mut content = Vec::new();
        for block in self.blocks(&call["result"]).blocks {
            match block {
                ContentBlock::ToolResult { content: inner, is_error: failed, .. } => {
                    is_error |= failed;
                    content.extend(inner);
                }
                other => content.push(other),
            }
        }
        if content.is_empty() {
            let shown = call["resultDisplay"].as_str().filter(|shown| !shown.is_empty());
            content.extend(shown.map(|shown| ContentBlock::Text(shown.to_owned())));
        }
        let is_there = !content.is_empty() || is_error || call["result"].is_array();
        is_there.then(|| (ContentBlock::ToolResult { tool_use_id: id.to_owned(), content, is_error }, Map::new()))
    }
}

impl Blocks {
    /// The blocks as a message: results of calls are the tools' message, in whatever role they are sent.
    pub(crate) fn of_role(self, role: Role) -> Message {
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        let is_tools = !self.blocks.is_empty() && self.blocks.iter().all(is_result);
        self.message(if is_tools { Role::Tool } else { role })
    }
}
