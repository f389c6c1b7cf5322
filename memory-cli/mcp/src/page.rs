//! Pages that are bounded in tokens, and the cursors at which they go on.

use memory::Memory;
use serde::Serialize;

use crate::failure::Failure;

/// Tokens of the lines around entries.
const FRAME: u32 = 120;
/// The least bound that a tool takes.
pub(crate) const LEAST_TOKENS: u32 = 200;
/// The highest bound that a tool takes.
pub(crate) const MOST_TOKENS: u32 = 50_000;

/// A bound as a model gave it, or `default`, within what is taken.
pub(crate) fn bound(given: Option<u32>, default: u32) -> u32 {
    given.unwrap_or(default).clamp(LEAST_TOKENS, MOST_TOKENS)
}

/// Entries of an answer, which are added while they fit.
pub(crate) struct Page<'a, T> {
    memory: &'a Memory,
    left: u32,
    pub(crate) entries: Vec<T>,
}

/// An entry of an answer.
pub(crate) trait Entry: Serialize {
    /// The entry in text.
    fn line(&self) -> String;

    /// Its words, which may be shortened.
    fn words(&mut self) -> &mut String;

    /// Reports that its words were shortened.
    fn shortened(&mut self);
}

impl<'a, T: Entry> Page<'a, T> {
    /// A page of at most `max_tokens`, as text and as JSON.
    pub(crate) fn new(memory: &'a Memory, max_tokens: u32) -> Self {
        Self { memory, left: max_tokens.saturating_sub(FRAME), entries: Vec::new() }
    }

    /// Adds an entry if it fits; the first one always, by its beginning if it is too long. Whether it was added.
    pub(crate) fn push(&mut self, mut entry: T) -> bool {
        let mut tokens = self.tokens(&entry);
        if tokens > self.left && self.entries.is_empty() {
            self.shorten(&mut entry, tokens);
            tokens = self.tokens(&entry).min(self.left);
        }
        let fits = tokens <= self.left;
        if fits {
            self.left -= tokens;
            self.entries.push(entry);
        }
        fits
    }

    /// Adds an entry even if it does not fit, then by a few words.
    pub(crate) fn push_always(&mut self, mut entry: T) {
        if self.tokens(&entry) > self.left {
            keep(entry.words(), 80);
            entry.shortened();
        }
        self.left = self.left.saturating_sub(self.tokens(&entry));
        self.entries.push(entry);
    }

    /// Tokens of an entry as text or as JSON, whichever is longer: a client shows one of them to its model.
    fn tokens(&self, entry: &T) -> u32 {
        let json = serde_json::to_string(entry).unwrap_or_default();
        self.memory.count_tokens(&entry.line()).max(self.memory.count_tokens(&json)) + 1
    }

    fn shorten(&self, entry: &mut T, mut tokens: u32) {
        entry.shortened();
        while tokens > self.left && !entry.words().is_empty() {
            let chars = entry.words().chars().count() as u64;
            let part = chars * u64::from(self.left) / u64::from(tokens);
            keep(entry.words(), usize::try_from(part.min(chars.saturating_sub(1))).unwrap_or(usize::MAX));
            tokens = self.tokens(entry);
        }
    }
}

/// Keeps the first `chars` characters of a text.
pub(crate) fn keep(text: &mut String, chars: usize) {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
    }
}

/// The number of a cursor that this server gave under `kind`.
pub(crate) fn number(kind: &str, cursor: Option<&str>) -> Result<Option<u64>, Failure> {
    let Some(cursor) = cursor else { return Ok(None) };
    let number = cursor.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-')).and_then(|rest| rest.parse().ok());
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(Failure(format!(
            "{} is no cursor of this tool: give next_cursor as it came, or none to begin",
            crate::failure::named(cursor)
        ))),
    }
}

/// The cursor of a number under `kind`.
pub(crate) fn cursor(kind: &str, number: u64) -> String {
    format!("{kind}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_by_the_tool_that_gave_it() {
        assert_eq!(number("node", Some(&cursor("node", 7))).unwrap(), Some(7));
        assert_eq!(number("node", None).unwrap(), None);
        for wrong in ["hit-7", "node-", "node--7", "node-7 ", "7", "", "../../x"] {
            assert!(number("node", Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut text = "häßlich".to_owned();
        keep(&mut text, 3);
        assert_eq!(text, "häß");
        keep(&mut text, 9);
        assert_eq!(text, "häß");
    }
}
