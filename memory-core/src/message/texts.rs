//! Replacement of the texts of a message.

use serde_json::Value;

use super::{ContentBlock, Message};
use crate::Json;

/// Another text for a text, or `None` to leave it. The name is that of the member whose value the text is.
type Replace<'a> = &'a dyn Fn(Option<&str>, &str) -> Option<String>;

impl Message {
    /// Replaces the texts of all blocks, down to the strings and numbers of arguments, results and unknown blocks:
    /// `replace` is given the name of the member that has the text as its value, if there is one, and the text; it
    /// returns another text, or `None` to leave it. Pictures and documents stay. A changed reasoning loses its signature, which
    /// would be of another text.
    pub fn replace_texts(&mut self, replace: Replace<'_>) {
        replace_in_blocks(&mut self.content, replace);
    }

    /// Replaces the speaker and the values of the metadata in the same way.
    pub fn replace_labels(&mut self, replace: Replace<'_>) {
        if let Some(other) = self.speaker.as_deref().and_then(|speaker| replace(None, speaker)) {
            self.speaker = Some(other);
        }
        for (name, value) in &mut self.metadata {
            replace_in_json(Some(name), value, replace);
        }
    }
}

fn replace_in_blocks(blocks: &mut [ContentBlock], replace: Replace<'_>) {
    for block in blocks {
        match block {
            ContentBlock::Text(text) => set(text, replace),
            ContentBlock::Reasoning { text, signature } => {
                if let Some(other) = replace(None, text) {
                    (*text, *signature) = (other, None);
                }
            }
            ContentBlock::ToolUse { input, .. } => replace_in_json(None, input, replace),
            ContentBlock::ToolResult { content, .. } => replace_in_blocks(content, replace),
            ContentBlock::Document { title: Some(title), .. } => set(title, replace),
            ContentBlock::Unknown(json) => replace_in_json(None, json, replace),
            ContentBlock::Document { title: None, .. } | ContentBlock::Image(_) => {}
        }
    }
}

fn set(text: &mut String, replace: Replace<'_>) {
    if let Some(other) = replace(None, text) {
        *text = other;
    }
}

fn replace_in_json(name: Option<&str>, json: &mut Json, replace: Replace<'_>) {
    // Most JSON has nothing to replace, and stays as it was written.
    let mut value = json.to_value();
    if replace_in_value(name, &mut value, replace) {
        *json = Json::from_value(&value);
    }
}

/// Returns true if anything was replaced. Values in a list have the list's name.
fn replace_in_value(name: Option<&str>, value: &mut Value, replace: Replace<'_>) -> bool {
    let other = match value {
        Value::String(text) => replace(name, text),
        Value::Number(number) => replace(name, &number.to_string()),
        Value::Array(values) => {
            let replaced = values.iter_mut().map(|value| replace_in_value(name, value, replace));
            return replaced.fold(false, |any, one| any | one);
        }
        Value::Object(members) => {
            let replaced = members.iter_mut().map(|(name, value)| replace_in_value(Some(name), value, replace));
            return replaced.fold(false, |any, one| any | one);
        }
        Value::Null | Value::Bool(_) => None,
    };
    other.map(|other| *value = Value::String(other)).is_some()
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
                    input: json(r#"{"b": ["secret", 1.50], "pin": 4711}"#),
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
        let replace = |name: Option<&str>, text: &str| {
            if name == Some("pin") {
                return Some("[pin]".to_owned());
            }
            text.contains("secret").then(|| text.replace("secret", "[x]"))
        };
        message.replace_texts(&replace);
        assert_eq!(message.speaker.as_deref(), Some("secret"));
        message.replace_labels(&replace);
        assert_eq!(message.speaker.as_deref(), Some("[x]"));
        assert_eq!(message.metadata["k"].as_str(), r#""[x]""#);
        let [text, reasoning, call, other, result] = &message.content[..] else { panic!("{message:?}") };
        assert_eq!(*text, ContentBlock::Text("a [x]".to_owned()));
        assert_eq!(*reasoning, ContentBlock::Reasoning { text: "[x]".to_owned(), signature: None });
        let ContentBlock::ToolUse { id, input, .. } = call else { panic!("{call:?}") };
        assert_eq!((id.as_str(), input.as_str()), ("secret", r#"{"b":["[x]",1.5],"pin":"[pin]"}"#));
        let ContentBlock::ToolUse { input, .. } = other else { panic!("{other:?}") };
        assert_eq!(input.as_str(), r#"{"n":  1.50}"#);
        assert!(
            matches!(result, ContentBlock::ToolResult { content, .. } if content[0] == ContentBlock::Text("[x]".to_owned()))
        );
    }
}
