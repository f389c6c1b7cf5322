//! Replacement of the texts of a message.

use serde_json::Value;

use super::{ContentBlock, Message};
use crate::Json;

impl Message {
    /// Replaces the texts of all blocks, down to the strings of arguments, results and unknown blocks: `replace` returns
    /// another text, or `None` to leave it. Pictures and documents stay. A changed reasoning loses its signature, which
    /// would be of another text.
    pub fn replace_texts(&mut self, replace: &dyn Fn(&str) -> Option<String>) {
        replace_in_blocks(&mut self.content, replace);
    }

    /// Replaces the speaker and the strings of the metadata in the same way.
    pub fn replace_labels(&mut self, replace: &dyn Fn(&str) -> Option<String>) {
        if let Some(other) = self.speaker.as_deref().and_then(replace) {
            self.speaker = Some(other);
        }
        self.metadata.values_mut().for_each(|value| replace_in_json(value, replace));
    }
}

fn replace_in_blocks(blocks: &mut [ContentBlock], replace: &dyn Fn(&str) -> Option<String>) {
    for block in blocks {
        match block {
            ContentBlock::Text(text) => set(text, replace),
            ContentBlock::Reasoning { text, signature } => {
                if let Some(other) = replace(text) {
                    (*text, *signature) = (other, None);
                }
            }
            ContentBlock::ToolUse { input, .. } => replace_in_json(input, replace),
            ContentBlock::ToolResult { content, .. } => replace_in_blocks(content, replace),
            ContentBlock::Document { title: Some(title), .. } => set(title, replace),
            ContentBlock::Unknown(json) => replace_in_json(json, replace),
            ContentBlock::Document { title: None, .. } | ContentBlock::Image(_) => {}
        }
    }
}

fn set(text: &mut String, replace: &dyn Fn(&str) -> Option<String>) {
    if let Some(other) = replace(text) {
        *text = other;
    }
}

fn replace_in_json(json: &mut Json, replace: &dyn Fn(&str) -> Option<String>) {
    // Most JSON has nothing to replace, and stays as it was written.
    let mut value = json.to_value();
    if replace_in_value(&mut value, replace) {
        *json = Json::from_value(&value);
    }
}

/// Returns true if anything was replaced.
fn replace_in_value(value: &mut Value, replace: &dyn Fn(&str) -> Option<String>) -> bool {
    match value {
        Value::String(text) => replace(text).map(|other| *text = other).is_some(),
        Value::Array(values) => {
            values.iter_mut().map(|value| replace_in_value(value, replace)).fold(false, |any, one| any | one)
        }
        Value::Object(members) => {
            members.values_mut().map(|value| replace_in_value(value, replace)).fold(false, |any, one| any | one)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    #[test]
    fn texts_are_replaced_down_to_strings_of_json_and_nothing_else_changes() {
        let json = |text: &str| Json::new(text).unwrap();
        let mut message = Message::new(
            Role::Assistant,
            vec![
                ContentBlock::Text("a secret".to_owned()),
                ContentBlock::Reasoning { text: "secret".to_owned(), signature: Some("s".to_owned()) },
                ContentBlock::ToolUse {
                    id: "secret".to_owned(),
                    name: "secret".to_owned(),
                    input: json(r#"{"b": ["secret", 1.50]}"#),
                },
                ContentBlock::ToolUse { id: "1".to_owned(), name: "t".to_owned(), input: json(r#"{"n":  1.50}"#) },
                ContentBlock::ToolResult {
                    tool_use_id: "1".to_owned(),
                    content: vec![ContentBlock::Text("secret".to_owned())],
                    is_error: false,
                },
            ],
        );
        message.speaker = Some("secret".to_owned());
        message.metadata.insert("k".to_owned(), json(r#""secret""#));
        let replace = |text: &str| text.contains("secret").then(|| text.replace("secret", "[x]"));
        message.replace_texts(&replace);
        assert_eq!(message.speaker.as_deref(), Some("secret"));
        message.replace_labels(&replace);
        assert_eq!(message.speaker.as_deref(), Some("[x]"));
        assert_eq!(message.metadata["k"].as_str(), r#""[x]""#);
        let [text, reasoning, call, other, result] = &message.content[..] else { panic!("{message:?}") };
        assert_eq!(*text, ContentBlock::Text("a [x]".to_owned()));
        assert_eq!(*reasoning, ContentBlock::Reasoning { text: "[x]".to_owned(), signature: None });
        let ContentBlock::ToolUse { id, input, .. } = call else { panic!("{call:?}") };
        assert_eq!((id.as_str(), input.as_str()), ("secret", r#"{"b":["[x]",1.5]}"#));
        let ContentBlock::ToolUse { input, .. } = other else { panic!("{other:?}") };
        assert_eq!(input.as_str(), r#"{"n":  1.50}"#);
        assert!(
            matches!(result, ContentBlock::ToolResult { content, .. } if content[0] == ContentBlock::Text("[x]".to_owned()))
        );
    }
}
