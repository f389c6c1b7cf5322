//! Pieces of real text to embed, and questions about them.

use std::{collections::HashSet, path::Path};

use anyhow::{Result, ensure};

use crate::eval;

/// A shorter piece is not meaningful.
const SHORTEST: usize = 20;

/// Texts, all different.
#[derive(Debug)]
pub(super) struct Texts {
    /// Sentences in the order in which they were said, then pairs of neighbouring ones if more are needed.
    pub(super) passages: Vec<String>,
    pub(super) questions: Vec<String>,
}

/// Up to `wanted` pieces of the conversations in the directories below `data`, and their questions.
///
/// # Errors
/// When a file cannot be read, does not follow the format, or is empty.
pub(super) fn read(data: &Path, wanted: usize) -> Result<Texts> {
    let (mut sentences, mut pairs, mut questions) = (Distinct::default(), Distinct::default(), Distinct::default());
    for directory in eval::directories(data)? {
        for conversation in memory_cli::import::eval::read(&directory)? {
            for (message, _) in conversation.messages {
                let text = message.text();
                let parts = split(&text);
                parts.windows(2).for_each(|pair| pairs.push(pair.join(" ")));
                parts.into_iter().for_each(|part| sentences.push(part.to_owned()));
            }
        }
        eval::question_texts(&directory)?.into_iter().for_each(|question| questions.push(question));
    }
    pairs.texts.into_iter().for_each(|pair| sentences.push(pair));
    let mut passages = sentences.texts;
    passages.truncate(wanted);
    ensure!(!passages.is_empty() && !questions.texts.is_empty(), "{} holds no text or no question", data.display());
    Ok(Texts { passages, questions: questions.texts })
}

/// Sentences and lines of a text.
fn split(text: &str) -> Vec<&str> {
    let ends = |line: &str| {
        let marks = line
            .char_indices()
            .zip(line.chars().skip(1))
            .filter(|((_, mark), next)| matches!(mark, '.' | '!' | '?') && next.is_whitespace());
        marks.map(|((at, _), _)| at + 1).chain([line.len()]).collect::<Vec<_>>()
    };
    let mut parts = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        for end in ends(line) {
            parts.push(line.get(start..end).unwrap_or_default().trim());
            start = end;
        }
    }
    parts.retain(|part| part.len() >= SHORTEST);
    parts
}

/// Texts in order, each once.
#[derive(Default)]
struct Distinct {
    texts: Vec<String>,
    seen: HashSet<blake3::Hash>,
}

impl Distinct {
    fn push(&mut self, text: String) {
        if self.seen.insert(blake3::hash(text.as_bytes())) {
            self.texts.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_behind_sentences_and_lines() {
        let text = "The ferry leaves at 9.45 in the morning. Does it wait for us?\nNo.\nIt never waits for anybody!";
        let parts = ["The ferry leaves at 9.45 in the morning.", "Does it wait for us?", "It never waits for anybody!"];
        assert_eq!(split(text), parts);
    }
}
