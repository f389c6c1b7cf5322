//! Pages that are bounded in tokens, and the cursors at which they continue.

use memory::{Memory, NodeId};
use serde::Serialize;

use crate::failure::Failure;

/// Tokens of the lines around entries.
pub(crate) const FRAME: u32 = 120;
/// Most entries that the line about used memory names.
const NAMED: usize = 6;
/// The least bound that a tool accepts.
pub(crate) const LEAST_TOKENS: u32 = 200;
/// The highest bound that a tool accepts.
pub(crate) const MOST_TOKENS: u32 = 50_000;

/// The pages of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// Name of the tool's cursors, which no other tool accepts.
    kind: &'static str,
    /// Tokens of a page if a model gives no bound.
    tokens: u32,
}

impl Pages {
    pub(crate) const fn new(kind: &'static str, tokens: u32) -> Self {
        Self { kind, tokens }
    }

    /// Start of a page, by the cursor that a model gave; `None` for the first page.
    pub(crate) fn begin(&self, cursor: Option<&str>) -> Result<Option<u64>, Failure> {
        let Some(cursor) = cursor else { return Ok(None) };
        let number = cursor.strip_prefix(self.kind).and_then(|rest| rest.strip_prefix('-')?.parse().ok());
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(Failure(format!(
                "{} is no cursor of this tool: give next_cursor as it came, or none to begin",
                crate::failure::named(cursor)
            ))),
        }
    }

    /// Number of entries before a page, by its cursor; at most `most`.
    ///
    /// # Errors
    /// If the cursor belongs to another list, in words for the model.
    pub fn skipped(&self, cursor: Option<&str>, most: usize) -> Result<usize, Failure> {
        Ok(usize::try_from(self.begin(cursor)?.unwrap_or_default()).unwrap_or(most).min(most))
    }

    /// The message that a page begins with, by its cursor.
    pub(crate) fn node(&self, cursor: Option<&str>) -> Result<NodeId, Failure> {
        Ok(self.begin(cursor)?.and_then(NodeId::new).unwrap_or(NodeId::FIRST))
    }

    /// The cursor of the page that begins at `number`.
    #[must_use]
    pub fn cursor(&self, number: u64) -> String {
        format!("{}-{number}", self.kind)
    }

    /// Most tokens of a page, by the bound that a model gave.
    pub(crate) fn most(&self, given: Option<u32>) -> u32 {
        given.unwrap_or(self.tokens).clamp(LEAST_TOKENS, MOST_TOKENS)
    }

    /// An empty page.
    pub(crate) fn page<'a, T: Entry>(&self, memory: &'a Memory, max_tokens: Option<u32>) -> Page<'a, T> {
        Page::new(memory, self.most(max_tokens))
    }
}

/// Pages of conversations; a cursor holds the number of conversations before the page.
pub const LISTED: Pages = Pages::new("conversation", 2_000);

/// Parts of a long text; a cursor holds the byte at which a part begins.
pub(crate) const PARTS: Pages = Pages::new("byte", 8_000);

/// A part of a text.
pub(crate) struct TextPart {
    /// Bytes before the part.
    pub(crate) offset: u64,
    pub(crate) text: String,
    pub(crate) next_cursor: Option<String>,
}

/// Entries of an answer, which are added while they fit.
#[derive(Debug)]
pub struct Page<'a, T> {
    memory: &'a Memory,
    left: u32,
    /// Number of further entries that the line about used memory may name.
    named: usize,
    /// The entries.
    pub entries: Vec<T>,
}

/// An entry of an answer.
pub trait Entry: Serialize {
    /// The entry in text.
    fn line(&self) -> String;

    /// Words of the entry, which may be shortened.
    fn words(&mut self) -> &mut String;

    /// Marks the entry as shortened.
    fn shortened(&mut self);

    /// Name of the entry in the line about used memory; `None`, the default, to leave it out there.
    fn piece(&self) -> Option<String> {
        None
    }
}

impl<'a, T: Entry> Page<'a, T> {
    /// A page of at most `max_tokens`, as text and as JSON.
    #[must_use]
    pub fn new(memory: &'a Memory, max_tokens: u32) -> Self {
        Self { memory, left: max_tokens.saturating_sub(FRAME), named: NAMED, entries: Vec::new() }
    }

    /// Keeps room for a name next to the entries.
    pub(crate) fn beside(mut self, name: &str) -> Self {
        self.left = self.left.saturating_sub(self.memory.count_tokens(name));
        self
    }

    /// Adds an entry if it fits, and returns true if it was added. The first entry is always added, shortened if it is
    /// too long, since a page without entries could not continue.
    pub fn push(&mut self, mut entry: T) -> bool {
        let mut tokens = self.tokens(&entry);
        if tokens > self.left && self.entries.is_empty() {
            self.shorten(&mut entry, tokens);
            tokens = self.tokens(&entry).min(self.left);
        }
        let fits = tokens <= self.left;
        if fits {
            self.left -= tokens;
            self.named = self.named.saturating_sub(1);
            self.entries.push(entry);
        }
        fits
    }

    /// Adds an entry even if it does not fit; then only the first 80 characters of its words.
    pub(crate) fn push_always(&mut self, mut entry: T) {
        if self.tokens(&entry) > self.left {
            keep(entry.words(), 80);
            entry.shortened();
        }
        self.left = self.left.saturating_sub(self.tokens(&entry));
        self.named = self.named.saturating_sub(1);
        self.entries.push(entry);
    }

    /// Tokens of an entry as text or as JSON, whichever is longer: a client shows one of the two to its model.
    fn tokens(&self, entry: &T) -> u32 {
        let json = serde_json::to_string(entry).unwrap_or_default();
        let piece = entry.piece().filter(|_| self.named > 0).map_or(0, |piece| self.piece_tokens(&piece));
        self.memory.count_tokens(&entry.line()).max(self.memory.count_tokens(&json)) + piece + 1
    }

    /// Tokens of a name in the line about used memory, which names each conversation once.
    fn piece_tokens(&self, piece: &str) -> u32 {
        let of = |piece: &str| piece.split_once(" of ").map(|(_, conversation)| conversation.to_owned());
        let mut others = self.entries.iter().filter_map(Entry::piece);
        let is_named = of(piece).is_some_and(|here| others.any(|other| of(&other).as_ref() == Some(&here)));
        let named = if is_named { piece.split(" of ").next().unwrap_or_default() } else { piece };
        self.memory.count_tokens(named) + 1
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_by_the_tool_that_gave_it() {
        let pages = Pages::new("node", 2_000);
        assert_eq!(pages.begin(Some(&pages.cursor(7))).unwrap(), Some(7));
        assert_eq!(pages.begin(None).unwrap(), None);
        assert_eq!((pages.node(None).unwrap().get(), pages.skipped(Some("node-9"), 5).unwrap()), (1, 5));
        for wrong in ["hit-7", "node-", "node--7", "node-7 ", "7", "", "../../x"] {
            assert!(pages.begin(Some(wrong)).is_err(), "{wrong}");
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
