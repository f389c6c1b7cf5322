//! The questions of the evaluation data, with the messages that answer them.

use std::{collections::BTreeSet, path::Path};

use memory_core::{ConversationId, MessageKey};
use serde::Deserialize;

use super::super::{
    ImportError,
    jsonl::{lines, read_text},
};

/// A question about a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The conversation.
    pub conversation: ConversationId,
    /// The question in plain words.
    pub text: String,
    /// The keys of the messages that answer it; not empty.
    pub evidence: BTreeSet<MessageKey>,
}

#[derive(Deserialize)]
struct Line {
    conversation_id: String,
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    #[serde(default = "is_answerable")]
    answerable: bool,
}

fn is_answerable() -> bool {
    true
}

/// Reads the `queries.jsonl` of a directory, in its order. Questions that nothing answers, or that state no evidence,
/// are left out.
///
/// # Errors
/// [`ImportError`] with the line of the first fault; also if no question is left.
pub fn questions(directory: &Path) -> Result<Vec<Question>, ImportError> {
    let path = directory.join("queries.jsonl");
    let mut questions = Vec::new();
    for (line, value) in lines(&read_text(&path)?, &path)? {
        let fault = |why: String| ImportError::Line { path: path.clone(), line, why };
        let raw: Line = serde_json::from_value(value).map_err(|error| fault(error.to_string()))?;
        if raw.answerable && !raw.evidence.is_empty() {
            questions.push(question(raw).map_err(fault)?);
        }
    }
    if questions.is_empty() { Err(ImportError::NoQuestion { path }) } else { Ok(questions) }
}

fn question(raw: Line) -> Result<Question, String> {
    let conversation = ConversationId::new(&raw.conversation_id).map_err(|error| error.to_string())?;
    let keys = raw.evidence.iter().map(|turn| MessageKey::new(turn).map_err(|error| format!("turn {turn}: {error}")));
    Ok(Question { conversation, text: raw.question, evidence: keys.collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(lines: &str) -> Result<Vec<Question>, ImportError> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("queries.jsonl"), lines).unwrap();
        questions(directory.path())
    }

    #[test]
    fn questions_that_are_answered_are_read_and_a_bad_line_is_named() {
        let line = |rest: &str| {
            format!("{{\"query_id\": \"q\", \"conversation_id\": \"c\", \"question\": \"When?\"{rest}}}\n")
        };
        let (answered, unanswerable) =
            (line(", \"evidence\": [\"t2\", \"t1\"]"), line(", \"answerable\": false, \"evidence\": [\"t1\"]"));
        let found = read(&format!("{unanswerable}\n{answered}{}", line(""))).unwrap();
        let evidence = ["t1", "t2"].map(|key| MessageKey::new(key).unwrap()).into();
        let expected = Question { conversation: ConversationId::new("c").unwrap(), text: "When?".to_owned(), evidence };
        assert_eq!(found, [expected]);
        assert!(matches!(read(&unanswerable), Err(ImportError::NoQuestion { .. })));
        assert!(matches!(read(&format!("{answered}{{}}")), Err(ImportError::Line { line: 2, .. })));
    }
}
