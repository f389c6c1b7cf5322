//! The evaluation data: a directory with a conversation a line, and a question a line.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, ensure};
use memory_core::{ConversationId, Json, Message, MessageKey, Role, Timestamp};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::contexts::read_lines;

/// A conversation, and its messages in order, whose keys are the ids of the turns.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) id: ConversationId,
    pub(crate) messages: Vec<(Message, Option<Timestamp>)>,
}

/// A question about a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Question {
    #[serde(rename = "query_id")]
    pub(crate) id: String,
    #[serde(rename = "conversation_id")]
    pub(crate) conversation: ConversationId,
    #[serde(rename = "question")]
    pub(crate) text: String,
    /// The expected answer; empty if the data states none.
    #[serde(default, deserialize_with = "text")]
    pub(crate) answer: String,
    /// Ids of the turns that answer the question; empty if nothing answers it, or the data names none.
    #[serde(default)]
    pub(crate) evidence: BTreeSet<String>,
    /// Category of the question; empty if the data states none.
    #[serde(default)]
    pub(crate) category: String,
    /// True if the conversation answers the question.
    #[serde(default = "yes")]
    pub(crate) answerable: bool,
}

fn yes() -> bool {
    true
}

/// An answer, which is a number where it is a year.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// Reads the questions of a directory in order.
///
/// # Errors
/// When a line does not follow the format, or there is no question.
pub(crate) fn questions(directory: &Path) -> Result<Vec<Question>> {
    let path = directory.join("queries.jsonl");
    let mut questions: Vec<Question> = read_lines(&path)?;
    ensure!(!questions.is_empty(), "{} holds no question", path.display());
    questions.iter_mut().filter(|question| !question.answerable).for_each(|question| question.evidence.clear());
    Ok(questions)
}

#[derive(Deserialize)]
struct Line {
    conversation_id: ConversationId,
    turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    turn_id: MessageKey,
    session: Option<i64>,
    timestamp: Option<Timestamp>,
    speaker: Option<String>,
    role: Role,
    text: String,
}

/// Reads the conversations of a directory in order.
///
/// # Errors
/// When a line does not follow the format, or there is no message.
pub(crate) fn conversations(directory: &Path) -> Result<Vec<Conversation>> {
    let path = directory.join("conversations.jsonl");
    let lines: Vec<Line> = read_lines(&path)?;
    let message = |Turn { turn_id, session, timestamp, speaker, role, text }| {
        let mut message = Message::text_of(role, text).key(turn_id);
        message.speaker = speaker;
        message.metadata.insert("imported".to_owned(), Json::from_value(&true.into()));
        message.metadata.extend(session.map(|session| ("session".to_owned(), Json::from_value(&session.into()))));
        (message, timestamp)
    };
    let conversation =
        |line: Line| Conversation { id: line.conversation_id, messages: line.turns.into_iter().map(message).collect() };
    let conversations: Vec<_> = lines.into_iter().map(conversation).collect();
    ensure!(conversations.iter().any(|one| !one.messages.is_empty()), "{} holds no message", path.display());
    Ok(conversations)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(lines: &str) -> Result<Vec<Question>> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("queries.jsonl"), lines).unwrap();
        questions(directory.path())
    }

    fn line(rest: &str) -> String {
        format!("{{\"query_id\": \"q\", \"conversation_id\": \"c\", \"question\": \"When?\"{rest}}}\n")
    }

    #[test]
    fn a_question_has_its_evidence_if_something_answers_it() {
        let answered = line(", \"evidence\": [\"t2\", \"t1\"], \"answer\": 1999, \"category\": \"year\"");
        let unanswerable = line(", \"answerable\": false, \"evidence\": [\"t1\"]");
        let found = read(&format!("{unanswerable}\n{answered}")).unwrap();
        let expected = Question {
            id: "q".to_owned(),
            conversation: ConversationId::new("c").unwrap(),
            text: "When?".to_owned(),
            answer: "1999".to_owned(),
            evidence: ["t1", "t2"].map(str::to_owned).into(),
            category: "year".to_owned(),
            answerable: true,
        };
        let unanswered = Question {
            answer: String::new(),
            evidence: BTreeSet::new(),
            category: String::new(),
            answerable: false,
            ..expected.clone()
        };
        assert_eq!(found, [unanswered, expected]);
        assert!(read("\n").unwrap_err().to_string().contains("holds no question"));
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = format!("{:#}", read(&format!("{}\n{{}}", line(""))).unwrap_err());
        assert!(error.contains("queries.jsonl:3 ") && error.contains("missing field `query_id`"), "{error}");
    }

    #[test]
    fn a_turn_gives_message_time_and_key() {
        let directory = tempfile::tempdir().unwrap();
        let line = r#"{"conversation_id":"c1","turns":[{"turn_id":"D1:1","session":1,"timestamp":"2024-03-15","speaker":"Ann","role":"user","text":"Hello from Ann","n_tokens":3},{"turn_id":"D1:2","session":1,"timestamp":null,"speaker":"Bob","role":"assistant","text":"Hi","n_tokens":1}]}"#;
        fs::write(directory.path().join("conversations.jsonl"), line).unwrap();
        let read = conversations(directory.path()).unwrap().remove(0);
        assert_eq!(read.id.as_str(), "c1");
        let [(first, at), (second, unknown)] = &read.messages[..] else { panic!("{read:?}") };
        assert_eq!(at.map(|at| at.to_string()).as_deref(), Some("2024-03-15T00:00:00Z"));
        assert_eq!((first.key.as_ref().map(MessageKey::as_str), first.speaker.as_deref()), (Some("D1:1"), Some("Ann")));
        assert_eq!((second.role, second.metadata["session"].as_str(), *unknown), (Role::Assistant, "1", None));
    }
}
