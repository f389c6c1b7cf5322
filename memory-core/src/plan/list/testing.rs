//! Lists in a small alphabet, for tests.

use super::item::{ListItem, Listed};
use crate::{ContentBlock, Json, Message, Role};

/// Messages by letters, apart by spaces: `u` user, `m` model, a capital letter a tool call and the small one of the
/// same letter its result. Letters that stand together are one message: `AB ab` is two parallel calls and their
/// results.
pub(super) fn messages(shape: &str) -> Vec<Message> {
    shape.split_whitespace().enumerate().map(|(index, letters)| message(index, letters)).collect()
}

pub(super) fn items(shape: &str) -> Vec<ListItem> {
    messages(shape).iter().map(Listed::item).collect()
}

fn message(index: usize, letters: &str) -> Message {
    match letters {
        "u" => return Message::user(format!("question {index}")),
        "m" => return Message::assistant(format!("answer {index}")),
        _ => {}
    }
    let is_call = letters.starts_with(|c: char| c.is_ascii_uppercase());
    let role = if is_call { Role::Assistant } else { Role::User };
    let block = |letter: char| {
        let id = letter.to_ascii_lowercase().to_string();
        if is_call {
            ContentBlock::ToolUse { id, name: "tool".into(), input: Json::new("{}").unwrap() }
        } else {
            let content = vec![ContentBlock::Text(format!("result of {letter}"))];
            ContentBlock::ToolResult { tool_use_id: id, content, is_error: false }
        }
    };
    Message::new(role, letters.chars().map(block).collect())
}

/// A result of `length` characters for the call `letter`.
pub(super) fn long_result(letter: char, length: usize) -> Message {
    let content = vec![ContentBlock::Text("x".repeat(length))];
    let result = ContentBlock::ToolResult { tool_use_id: letter.to_string(), content, is_error: false };
    Message::new(Role::User, vec![result])
}
