//! Plain message JSONL: a message a line.

use std::{fs, path::Path};

use memory_core::{Message, MessageKey, Timestamp, message_from_json};
use serde_json::Value;

use super::ImportError;

/// Reads a file of one message a line: `{"role", "content", "speaker"?, "key"? or "id"?, "at"? or "timestamp"?,
/// "session"?, "keep_out_of_summaries"?, "metadata"?}`. Blank lines are skipped.
///
/// # Errors
/// [`ImportError`] with the line of the first fault; also for a file without messages.
pub fn read(path: &Path) -> Result<Vec<(Message, Option<Timestamp>)>, ImportError> {
    parse(&read_text(path)?, path)
}

/// Parses the text of such a file; `path` is for errors.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, path: &Path) -> Result<Vec<(Message, Option<Timestamp>)>, ImportError> {
    let mut messages = Vec::new();
    for (line, value) in lines(text, path)? {
        let fault = |why: String| ImportError::Line { path: path.to_owned(), line, why };
        messages.push(message(value).map_err(fault)?);
    }
    if messages.is_empty() {
        return Err(ImportError::Empty { path: path.to_owned() });
    }
    Ok(messages)
}

/// The text of a file.
pub(super) fn read_text(path: &Path) -> Result<String, ImportError> {
    let bytes = fs::read(path).map_err(|source| ImportError::Io { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        ImportError::Line { path: path.to_owned(), line, why: "not UTF-8".to_owned() }
    })
}

/// The JSON values of a file of one value a line, with their line numbers from 1.
pub(super) fn lines(text: &str, path: &Path) -> Result<Vec<(usize, Value)>, ImportError> {
    // Some editors put a byte order mark in front.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parse = |(index, line): (usize, &str)| {
        let value = serde_json::from_str(line).map_err(|error| ImportError::Line {
            path: path.to_owned(),
            line: index + 1,
            // The parser counts from the start of the line, so only its column is useful.
            why: format!("not JSON at column {}: {}", error.column(), kind(&error)),
        });
        value.map(|value| (index + 1, value))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}

fn kind(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

fn message(mut value: Value) -> Result<(Message, Option<Timestamp>), String> {
    let mut take = |name: &str| value.as_object_mut().and_then(|members| members.shift_remove(name));
    let (id, session) = (take("id"), take("session"));
    let at = match (take("at"), take("timestamp")) {
        (Some(_), Some(_)) => return Err("at: there is a timestamp, too".to_owned()),
        (at, timestamp) => at.or(timestamp),
    };
    let mut message = message_from_json(&value).map_err(|error| error.to_string())?;
    match (id, &message.key) {
        (None | Some(Value::Null), _) => {}
        (Some(_), Some(_)) => return Err("id: there is a key, too".to_owned()),
        (Some(Value::String(id)), None) => {
            message.key = Some(MessageKey::new(&id).map_err(|error| format!("id: {error}"))?);
        }
        (Some(_), None) => return Err("id: expected a text".to_owned()),
    }
    if let Some(session) = session.filter(|session| !session.is_null()) {
        if message.metadata.contains_key("session") {
            return Err("session: there is one in the metadata, too".to_owned());
        }
        message.metadata.insert("session".to_owned(), memory_core::Json::from_value(&session));
    }
    let at = match at {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => {
            let at = text.parse::<Timestamp>().map_err(|error| format!("at: {error}"))?;
            if let Some(offset) = memory_core::utc_offset(&text) {
                message
                    .metadata
                    .entry("utc_offset".to_owned())
                    .or_insert(memory_core::Json::from_value(&offset.into()));
            }
            Some(at)
        }
        Some(Value::Number(millis)) => {
            let millis = millis.as_i64().ok_or("at: expected whole milliseconds since 1970")?;
            Some(Timestamp::from_millis(millis))
        }
        Some(_) => return Err("at: expected a time as text or milliseconds since 1970".to_owned()),
    };
    message.metadata.entry("imported".to_owned()).or_insert(memory_core::Json::from_value(&true.into()));
    Ok((message, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Result<Vec<(Message, Option<Timestamp>)>, String> {
        parse(text, Path::new("x.jsonl")).map_err(|error| error.to_string())
    }

    #[test]
    fn faults_name_file_and_line() {
        let good = r#"{"role":"user","content":"hi"}"#;
        let check = |bad: &str, expected: &str| {
            let error = parse_text(&format!("{good}\n\n{bad}\n{good}")).unwrap_err();
            assert!(error.starts_with(&format!("x.jsonl:3: {expected}")), "{error}");
        };
        check("{", "not JSON at column 1");
        check(r#"{"role":"user"}"#, "content: missing");
        check(r#"{"role":"user","content":"x","at":"noon"}"#, "at: `noon` is not a time");
        check(r#"{"role":"user","content":"x","key":""}"#, "key: ");
        check(r#"{"role":"user","content":"x","key":"k","id":"i"}"#, "id: there is a key, too");
        let twice = r#"{"role":"user","content":"x","session":"a","metadata":{"session":"b"}}"#;
        check(twice, "session: there is one in the metadata, too");
        check(r#"{"role":"assistant","content":null,"tool_calls":[]}"#, "tool_calls: a message has no such member");
        assert_eq!(parse_text("\n \n").unwrap_err(), "x.jsonl holds no message: nothing was imported");
    }

    #[test]
    fn a_file_that_is_not_utf8_is_a_fault_of_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("latin1.jsonl");
        fs::write(&path, b"{}\n{\"role\":\"\xe9\"}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.ends_with("latin1.jsonl:2: not UTF-8; nothing was imported"), "{error}");
    }

    #[test]
    fn a_line_gives_message_time_and_key() {
        let read =
            parse_text("\u{feff}{\"role\":\"ai\",\"content\":\"hi\",\"id\":\"k\",\"at\":1500,\"session\":2}").unwrap();
        let (message, at) = &read[0];
        assert_eq!(message.key.as_ref().map(MessageKey::as_str), Some("k"));
        assert_eq!(message.metadata["session"].as_str(), "2");
        assert_eq!(*at, Some(Timestamp::from_millis(1500)));
    }
}
