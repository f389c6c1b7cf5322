//! JSON values that keep all digits of their numbers, where `serde_json` keeps about seventeen.
//!
//! A number that parsing would change is stored as a string with a mark before it, and printed as the number again. The
//! mark is random for each process, so that no file can contain it. Only [`line()`] and [`pretty`] may print such
//! values.

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use memory_core::{ContentBlock, Json, Message, json::message_to_json, text::without_half_surrogates};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Mark before the digits. Its first character is a Unicode noncharacter, which no text contains.
static MARK: LazyLock<String> = LazyLock::new(|| format!("\u{fdd0}{:016x}:", RandomState::new().hash_one(MARK_SEED)));
const MARK_SEED: &str = "digits";
/// Members that are parsed as plain numbers, since digits beyond a millisecond do not matter.
const TIMES: [&str; 5] = ["create_time", "update_time", "timestamp", "created_at", "updated_at"];
/// A positive integer of at most this many digits is never changed by parsing.
const SHORT: usize = 15;

pub(crate) fn parse(text: &str) -> serde_json::Result<Value> {
    read(text)
}

/// Parses JSON. Numbers that parsing would change become marked strings, except in the members [`TIMES`].
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(&marked(&without_half_surrogates(text), &TIMES))
}

/// Value of JSON text.
#[must_use]
pub fn value(json: &Json) -> Value {
    serde_json::from_str(&marked(&without_half_surrogates(json.as_str()), &[])).unwrap_or_default()
}

/// Value of a message, as [`message_to_json`] makes it.
#[must_use]
pub fn message(message: &Message) -> Value {
    let mut marked = message.clone();
    marked.content.iter_mut().for_each(mark_block);
    marked.metadata.values_mut().for_each(mark_json);
    message_to_json(&marked)
}

fn mark_block(block: &mut ContentBlock) {
    match block {
        ContentBlock::ToolUse { input: json, .. } | ContentBlock::Unknown(json) => mark_json(json),
        ContentBlock::ToolResult { content, .. } => content.iter_mut().for_each(mark_block),
        _ => {}
    }
}

fn mark_json(json: &mut Json) {
    *json = Json::from_value(&value(json));
}

/// JSON text of a value, with its original numbers.
pub(crate) fn written(value: &Value) -> String {
    line(value).unwrap_or_default()
}

/// JSON of anything that may hold such values, on one line.
///
/// # Errors
/// When it cannot be serialized.
pub fn line(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(unmarked(&serde_json::to_string(value)?).into_owned())
}

/// JSON of anything that may hold such values, over several lines.
///
/// # Errors
/// When it cannot be serialized.
pub fn pretty(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(unmarked(&serde_json::to_string_pretty(value)?).into_owned())
}

/// JSON text of a value, as core's type.
pub(crate) fn json(value: &Value) -> Json {
    Json::new(&written(value)).unwrap_or_else(|_| Json::from_value(value))
}

/// Restores the original numbers in a message that was made of parsed values.
pub(crate) fn restore(message: &mut Message) {
    message.content.iter_mut().for_each(restore_block);
    message.metadata.values_mut().for_each(restore_json);
}

fn restore_block(block: &mut ContentBlock) {
    match block {
        ContentBlock::Text(text) | ContentBlock::Reasoning { text, .. } => restore_text(text),
        ContentBlock::ToolUse { id, name, input } => {
            restore_text(id);
            restore_text(name);
            restore_json(input);
        }
        ContentBlock::ToolResult { tool_use_id, content, .. } => {
            restore_text(tool_use_id);
            content.iter_mut().for_each(restore_block);
        }
        ContentBlock::Unknown(json) => restore_json(json),
        _ => {}
    }
}

/// Restores a text that was made of JSON, or of a single number.
fn restore_text(text: &mut String) {
    if text.contains(MARK.as_str()) {
        *text = unmarked(text).replace(MARK.as_str(), "");
    }
}

fn restore_json(json: &mut Json) {
    if let Cow::Owned(text) = unmarked(json.as_str())
        && let Ok(restored) = Json::new(&text)
    {
        *json = restored;
    }
}

/// Marks each number that parsing would change, except in the members `times`.
fn marked<'a>(text: &'a str, times: &[&str]) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    // The last string, and the last byte that is not a space.
    let (mut string, mut before) = (0..0, b' ');
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = end_of_string(bytes, at + 1);
                string = at + 1..end;
                at = end + 1;
                before = b'"';
            }
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_of_number(byte)).count();
                let number = text.get(at..at + length).unwrap_or_default();
                let is_time = before == b':' && text.get(string.clone()).is_some_and(|key| times.contains(&key));
                if !is_time && changes(number) {
                    out.push_str(text.get(done..at).unwrap_or_default());
                    out.push('"');
                    out.push_str(&MARK);
                    out.push_str(number);
                    out.push('"');
                    done = at + length;
                }
                at += length.max(1);
                before = b'0';
            }
            byte => {
                if !byte.is_ascii_whitespace() {
                    before = *byte;
                }
                at += 1;
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// End of a string that began before `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// True if parsing and printing would change a number.
fn changes(number: &str) -> bool {
    if number.len() <= SHORT && number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0') {
        return false;
    }
    // Invalid numbers are left to the parser.
    Json::new(number).is_ok()
        && serde_json::from_str::<Value>(number).map_or(true, |parsed| number != parsed.to_string().as_str())
}

/// Removes the marks.
fn unmarked(text: &str) -> Cow<'_, str> {
    let mark = format!("\"{}", *MARK);
    if !text.contains(&mark) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(&mark);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (number, rest) = piece.split_once('"').unwrap_or((piece, ""));
        out.push_str(number);
        out.push_str(rest);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_keep_every_digit_through_a_value() {
        let text = r#"{"n":12345678901234567890.5,"list":[1e400,-0,1.50,1,0.1],"s":"12345678901234567890.5 \" 1.50","k":-1E-7}"#;
        assert_eq!(written(&parse(text).unwrap()), text);
        assert!(parse("{\"n\":01}").is_err());
        assert!(parse("{\"n\":-}").is_err());
    }

    #[test]
    fn times_stay_numbers() {
        let value = parse(r#"{"create_time": 1709370840.12345678901234, "x": {"timestamp":1.50}}"#).unwrap();
        assert!(value["create_time"].is_f64() && value["x"]["timestamp"].is_f64());
    }

    #[test]
    fn a_message_of_parsed_values_has_its_digits() {
        let value = parse(r#"{"n": 12345678901234567890.5}"#).unwrap();
        let input = Json::from_value(&value);
        let call = ContentBlock::ToolUse { id: "t".into(), name: "add".into(), input };
        let result = ContentBlock::ToolResult {
            tool_use_id: "t".into(),
            content: vec![ContentBlock::Text(value.to_string())],
            is_error: false,
        };
        let mut message = Message::new(memory_core::Role::Assistant, vec![call, result]);
        restore(&mut message);
        assert_eq!(message.text(), "add({\"n\":12345678901234567890.5})\n{\"n\":12345678901234567890.5}");
    }

    proptest! {
        #[test]
        fn a_value_without_such_numbers_is_parsed_as_it_is(text in "[\\[\\]{}:,\"\\\\a-c0-9.e -]{0,40}") {
            match (parse(&text), serde_json::from_str::<Value>(&text)) {
                (Ok(ours), Ok(plain)) => {
                    let again: Value = serde_json::from_str(&written(&ours)).unwrap();
                    prop_assert_eq!(again, plain);
                }
                (Err(_), Ok(_)) => prop_assert!(false, "{text}"),
                // A number that no Rust number holds.
                (_, Err(_)) => {}
            }
        }
    }
}
