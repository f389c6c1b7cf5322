//! A message in a list of Strands: its JSON, verbatim.

use std::hash::{DefaultHasher, Hash, Hasher};

use memory_core::{
    Message, Role,
    json::message_from_strands,
    plan::list::{ListItem, Listed, shorten_text},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::BridgeError;

/// A message as Strands has it. Unchanged members stay verbatim, whatever its blocks are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct StrandsMessage(pub(super) Map<String, Value>);

impl StrandsMessage {
    /// The message as the log has it; `index` is for an error.
    pub(super) fn read(&self, index: usize) -> Result<Message, BridgeError> {
        message_from_strands(&Value::Object(self.0.clone())).map_err(|source| BridgeError::Message { index, source })
    }

    fn blocks(&self) -> impl Iterator<Item = &Value> {
        self.0.get("content").and_then(Value::as_array).into_iter().flatten()
    }

    /// The ids of calls or results, by the kind of their blocks.
    fn ids(&self, kind: &str) -> Vec<String> {
        let id = |block: &Value| Some(block.get(kind)?.get("toolUseId")?.as_str().unwrap_or_default().to_owned());
        self.blocks().filter_map(id).collect()
    }

    /// A member of the metadata that is the program's own.
    fn custom(&self, name: &str) -> Option<&Value> {
        self.0.get("metadata")?.get("custom")?.get(name)
    }

    fn set_custom(&mut self, name: &str, value: Value) {
        let members = |of: &mut Map<String, Value>, name: &str| {
            let member = of.entry(name.to_owned()).or_insert_with(|| json!({}));
            if !member.is_object() {
                *member = json!({});
            }
            member.as_object().cloned().unwrap_or_default()
        };
        let mut metadata = members(&mut self.0, "metadata");
        let mut custom = members(&mut metadata, "custom");
        custom.insert(name.to_owned(), value);
        metadata.insert("custom".to_owned(), custom.into());
        self.0.insert("metadata".to_owned(), metadata.into());
    }

    /// Marks the message as made from the log, so that it is never appended to the log.
    pub(super) fn mark_as_view(&mut self) {
        self.set_custom(VIEW, true.into());
    }

    /// Puts `text` before the line of a question, or before all words where the question is not in one block.
    pub(super) fn put_before(&mut self, question: &str, text: &str) {
        let blocks = self.0.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
        let mut texts: Vec<_> = blocks
            .filter_map(|block| match block.get_mut("text") {
                Some(Value::String(text)) => Some(text),
                _ => None,
            })
            .collect();
        let block = texts.iter().rposition(|text| text.contains(question)).unwrap_or(0);
        let Some(block) = texts.get_mut(block) else { return };
        let before = block.rfind(question).and_then(|at| block.get(..at)).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        block.insert_str(line, text);
    }

    pub(super) fn is_view(&self) -> bool {
        self.custom(VIEW) == Some(&Value::Bool(true))
    }

    /// True if the message has a text that is not blank.
    pub(super) fn has_words(&self) -> bool {
        self.blocks().filter_map(|block| block.get("text")?.as_str()).any(|text| !text.trim().is_empty())
    }

    /// A hash of role and content, for comparing within this process.
    pub(super) fn words(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        ["role", "content"].map(|member| self.0.get(member)).hash(&mut hasher);
        hasher.finish()
    }

    pub(super) fn tracking_id(&self) -> Option<&str> {
        self.0.get("tracking_id")?.as_str().filter(|id| !id.is_empty())
    }
}

/// The member of the custom metadata that marks messages made from the log.
const VIEW: &str = "memory_view";

impl Listed for StrandsMessage {
    fn item(&self) -> ListItem {
        let role =
            if self.0.get("role").and_then(Value::as_str) == Some("assistant") { Role::Assistant } else { Role::User };
        ListItem::new(role, self.blocks().map(length).sum())
            .calls(self.ids("toolUse"))
            .results(self.ids("toolResult"))
            .pinned(self.custom("pinned") == Some(&Value::Bool(true)))
            .can_be_shortened(self.blocks().flat_map(results).any(|item| shortened(item).is_some()))
    }

    fn pin(&mut self) {
        self.set_custom("pinned", true.into());
    }

    fn shorten_results(&mut self) {
        let blocks = self.0.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
        for block in blocks {
            let items = block.pointer_mut("/toolResult/content").and_then(Value::as_array_mut);
            for item in items.into_iter().flatten() {
                if let Some(text) = shortened(item) {
                    *item = json!({"text": text});
                }
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self.tracking_id(), other.tracking_id()) {
            (Some(id), Some(other)) => id == other,
            _ => ["role", "content"].iter().all(|member| self.0.get(*member) == other.0.get(*member)),
        }
    }
}

/// The items of a tool result.
fn results(block: &Value) -> impl Iterator<Item = &Value> {
    block.pointer("/toolResult/content").and_then(Value::as_array).into_iter().flatten()
}

/// Text that replaces an item of a tool result, if it can be shortened.
fn shortened(item: &Value) -> Option<String> {
    if let Some(image) = item.get("image") {
        let format = image.get("format").and_then(Value::as_str).unwrap_or("unknown");
        let data = image.pointer("/source/bytes/data").and_then(Value::as_str).unwrap_or_default();
        // Base64 has four characters for three bytes, without the padding.
        let bytes = data.trim_end_matches('=').len() * 3 / 4;
        return Some(format!("[image: {format}, {bytes} bytes]"));
    }
    shorten_text(item.get("text")?.as_str()?)
}

/// Characters of a block: of its text, or of its JSON.
fn length(block: &Value) -> usize {
    match block.get("text").and_then(Value::as_str) {
        Some(text) => text.chars().count(),
        None => block.to_string().chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(value: Value) -> StrandsMessage {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn results_are_shortened_and_everything_else_stays() {
        let long = "x".repeat(900);
        let mut given = message(json!({"role": "user", "tracking_id": "a", "content": [
            {"toolResult": {"toolUseId": "1", "status": "success", "more": 1, "content": [
                {"text": long}, {"json": {"rows": 41}}, {"text": "short"},
                {"image": {"format": "jpeg", "source": {"bytes": {"__bytes_encoded__": true, "data": "YmFzZTY0ZW5jb2RlZGRhdGE="}}}},
            ]}},
            {"text": long},
        ]}));
        assert!(given.item().can_be_shortened);
        given.shorten_results();
        let result = &given.0["content"][0]["toolResult"];
        assert_eq!(result["content"][1], json!({"json": {"rows": 41}}));
        assert_eq!(result["content"][2], json!({"text": "short"}));
        assert_eq!(result["content"][3], json!({"text": "[image: jpeg, 17 bytes]"}));
        assert_eq!((&result["status"], &result["more"]), (&json!("success"), &json!(1)));
        assert!(result["content"][0]["text"].as_str().unwrap().contains("... [truncated: 500 chars removed] ..."));
        assert_eq!(given.0["content"][1]["text"], long, "what the user said is not shortened");
        assert!(!given.item().can_be_shortened);
    }

    #[test]
    fn marks_are_beside_what_the_program_keeps_there() {
        let mut given = message(
            json!({"role": "user", "content": [], "metadata": {"usage": {"inputTokens": 1}, "custom": {"a": 1}}}),
        );
        given.pin();
        given.mark_as_view();
        assert!(given.item().pinned && given.is_view());
        let expected = json!({"usage": {"inputTokens": 1}, "custom": {"a": 1, "pinned": true, "memory_view": true}});
        assert_eq!(given.0["metadata"], expected);
    }
}
