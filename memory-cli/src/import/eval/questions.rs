//! The questions of the evaluation data, with the turns that answer them.

use std::{collections::BTreeSet, path::Path};

use memory_core::ConversationId;
use memory_store::ReadLimits;
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    ImportError,
    input::Input,
    lines::{Lines, not_json},
};

/// A question about a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Id of the question in the data.
    pub id: String,
    /// The conversation.
    pub conversation: ConversationId,
    /// Question in plain words.
    pub text: String,
    /// The expected answer; empty if the data states none.
    pub answer: String,
    /// Ids of the turns that answer the question; empty if nothing answers it, or the data names none.
    pub evidence: BTreeSet<String>,
    /// Category of the question; empty if the data states none.
    pub category: String,
    /// True if the conversation answers the question.
    pub answerable: bool,
}

#[derive(Deserialize)]
struct Line {
    query_id: String,
    conversation_id: String,
    question: String,
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    evidence: BTreeSet<String>,
    #[serde(default)]
    category: String,
    #[serde(default = "is_answerable")]
    answerable: bool,
}

fn is_answerable() -> bool {
    true
}

/// Reads the `queries.jsonl` of a directory, in its order: answerable questions and others.
///
/// # Errors
/// [`ImportError`] with the line of the first fault; also if there is no question.
pub fn questions(directory: &Path) -> Result<Vec<Question>, ImportError> {
    let path = directory.join("queries.jsonl");
    let all = |lines: &mut Lines<'_>| {
        let mut questions = Vec::new();
        while let Some(line) = lines.next()? {
            let read = serde_json::from_str(line).map_err(|error| not_json(&error)).and_then(question);
            questions.push(read.map_err(|why| lines.fault(why))?);
        }
        if questions.is_empty() {
            Err(ImportError::NoQuestion { path: lines.path().to_owned() })
        } else {
            Ok(questions)
        }
    };
    Ok(Input::checked(&path, ReadLimits::default(), all)?.1)
}

fn question(raw: Line) -> Result<Question, String> {
    let Line { query_id, conversation_id, question, answer, evidence, category, answerable } = raw;
    let conversation = ConversationId::new(&conversation_id).map_err(|error| error.to_string())?;
    let evidence = if answerable { evidence } else { BTreeSet::new() };
    let answer = match answer {
        Value::Null => String::new(),
        Value::String(text) => text,
        // A year may be given as a number.
        other => other.to_string(),
    };
    Ok(Question { id: query_id, conversation, text: question, answer, evidence, category, answerable })
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
        assert!(matches!(read("\n"), Err(ImportError::NoQuestion { .. })));
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = read(&format!("{}\n{{}}", line(""))).unwrap_err().to_string();
        assert!(error.contains("queries.jsonl:3: missing field `query_id`"), "{error}");
    }
}
