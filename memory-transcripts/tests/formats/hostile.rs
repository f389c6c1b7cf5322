//! Files that mean harm.

use memory_transcripts::{Format, Item, Limits, TranscriptError, find};
use proptest::prelude::*;
use serde_json::json;

use crate::support::Files;

/// Reads all; the first error.
fn first_error(path: &std::path::Path, format: Option<Format>, limits: Limits) -> Option<TranscriptError> {
    let found = match find(path, format, limits) {
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    for transcript in found.transcripts {
        let mut reader = match transcript.open() {
            Ok(reader) => reader,
            Err(error) => return Some(error),
        };
        loop {
            match reader.read() {
                Ok(Some(Item::Conversation(conversation))) => conversation.id.check_new().unwrap(),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Some(error),
            }
        }
    }
    None
}

#[test]
fn json_that_is_too_deep_is_an_error_that_says_where() {
    let files = Files::new();
    let deep = format!("[{}{}]", "[".repeat(100_000), "]".repeat(100_000));
    let path = files.write("deep.json", format!("[{{\"title\":\"x\",\"mapping\":{{\"a\":{deep}}}}}]"));
    let error = first_error(&path, None, Limits::default()).unwrap().to_string();
    assert!(error.contains("deep.json:1, byte 1: ") && error.contains("recursion limit"), "{error}");
}

#[test]
fn a_file_that_was_cut_is_an_error_that_says_where() {
    let files = Files::new();
    let whole = json!([{"conversation_id": "a", "mapping": {}}, {"conversation_id": "b", "mapping": {}}]).to_string();
    for cut in 30..whole.len() {
        let error =
            first_error(&files.write("c.json", &whole[..cut]), Some(Format::ChatGpt), Limits::default()).unwrap();
        assert!(matches!(error, TranscriptError::Damaged { .. }), "{cut}: {error}");
        assert!(error.to_string().contains("c.json:1, byte "), "{error}");
    }
}

#[test]
fn a_record_that_is_too_large_is_refused() {
    let files = Files::new();
    let long = json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "x".repeat(5_000)}});
    for (name, text) in [("a.jsonl", format!("{long}\n")), ("b.json", format!("[{long}]"))] {
        let format = if name == "a.jsonl" { Format::ClaudeCode } else { Format::OpenAi };
        let error = first_error(&files.write(name, text), Some(format), Limits::default().record(1_000)).unwrap();
        assert!(matches!(error, TranscriptError::TooLarge { .. }), "{error}");
    }
}

#[test]
fn ids_with_tricks_name_plain_conversations() {
    let files = Files::new();
    for id in ["../../etc", "a/b", "x\u{202e}", "\u{0}", "", &"y".repeat(10_000)] {
        let line = json!({"type": "user", "sessionId": id, "uuid": id, "message": {"role": "user", "content": "hi"}});
        assert!(
            first_error(&files.write("s.jsonl", line.to_string()), Some(Format::ClaudeCode), Limits::default())
                .is_none()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Reading ends for any content of a file, with items or with an error.
    #[test]
    fn no_bytes_make_a_reader_fall(bytes in prop::collection::vec(any::<u8>(), 0..200), index in 0..Format::ALL.len()) {
        let files = Files::new();
        let path = files.write("x", bytes);
        first_error(&path, Format::ALL.get(index).copied(), Limits::default());
        first_error(&path, None, Limits::default());
    }

    /// Records of the right kind with members of any kind.
    #[test]
    fn no_members_make_a_reader_fall(
        kind in prop::sample::select(vec!["user", "assistant", "summary", "response_item", "human", "message", "reasoning"]),
        value in prop::sample::select(vec!["null", "1", "\"x\"", "[]", "{}", "[{}]", "[{\"type\":\"tool_use\"}]", "[null, 3]"]),
        other in prop::sample::select(vec!["null", "1.5", "\"x\"", "[]", "{\"id\":1}", "{\"role\":\"user\",\"content\":[3]}"]),
        index in 0..Format::ALL.len(),
    ) {
        let files = Files::new();
        let text = format!(
            r#"{{"type":"{kind}","role":"user","sessionId":{other},"uuid":"u","content":{value},"message":{other},"payload":{other},"data":{value},"mapping":{value},"id":"i","chat_messages":{value},"uuid2":{other},"messages":{value},"summary":{value}}}"#
        );
        let path = files.write("x.json", text);
        first_error(&path, Format::ALL.get(index).copied(), Limits::default());
        first_error(&path, None, Limits::default());
    }
}
