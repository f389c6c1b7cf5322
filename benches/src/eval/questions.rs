//! The questions of the evaluation format: `queries.jsonl`.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, ensure};
use memory_core::ConversationId;
use serde::Deserialize;

/// A question about a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// Its id in the run file.
    pub(super) id: String,
    /// Its conversation.
    pub(super) conversation: ConversationId,
    /// The question in plain words.
    pub(super) text: String,
    /// The expected answer; empty if the data states none.
    pub(super) answer: String,
    /// The turns that answer it.
    pub(super) evidence: BTreeSet<String>,
    /// Its category; empty if the data states none.
    pub(super) category: String,
    /// Whether the conversation answers it.
    pub(super) answerable: bool,
}

/// The members of a line that runs and fitting need; the scorer reads the others.
#[derive(Deserialize)]
struct Line {
    query_id: String,
    conversation_id: String,
    question: String,
    #[serde(default)]
    answer: serde_json::Value,
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

/// Reads all questions, answerable and not, in the file's order.
///
/// # Errors
/// When the file cannot be read, a line does not follow the format, or there is no question.
pub(super) fn read(path: &Path) -> Result<Vec<Question>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let questions = parse(&text, path)?;
    ensure!(!questions.is_empty(), "{} holds no question", path.display());
    Ok(questions)
}

fn parse(text: &str, path: &Path) -> Result<Vec<Question>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(index, line)| question(line).with_context(|| format!("{}:{}", path.display(), index + 1))).collect()
}

fn question(line: &str) -> Result<Question> {
    let line: Line = serde_json::from_str(line)?;
    let Line { query_id, conversation_id, question, answer, evidence, category, answerable } = line;
    let evidence = if answerable { evidence } else { BTreeSet::new() };
    let answer = match answer {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text,
        // A year may be given as a number.
        other => other.to_string(),
    };
    let conversation = ConversationId::new(&conversation_id)?;
    Ok(Question { id: query_id, conversation, text: question, answer, evidence, category, answerable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let good = r#"{"query_id":"q1","conversation_id":"c","question":"When?","answerable":false}"#;
        let path = Path::new("queries.jsonl");
        let questions = parse(&format!("{good}\n\n{good}\n"), path).unwrap();
        assert_eq!(questions.len(), 2);
        assert_eq!(questions[0].text, "When?");
        let error = parse(&format!("{good}\n{{}}"), path).unwrap_err();
        assert_eq!(error.to_string(), "queries.jsonl:2");
    }
}
