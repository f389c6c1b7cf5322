//! A sentence with its words.

use crate::{
    phrases::Phrases,
    words::{Word, words},
};

/// A sentence with its words and their keys.
#[derive(Debug)]
pub(super) struct Sentence<'a> {
    pub(super) text: &'a str,
    pub(super) words: Vec<Word<'a>>,
    pub(super) keys: Vec<u64>,
}

impl<'a> Sentence<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let words: Vec<Word<'a>> = words(text).collect();
        let keys = words.iter().map(|word| word.key).collect();
        Self { text, words, keys }
    }

    /// Place and length of the first phrase, of several at one place the longest.
    pub(super) fn find(&self, phrases: &Phrases<()>) -> Option<(usize, usize)> {
        (0..self.keys.len()).find_map(|at| {
            let found = phrases.at(self.keys.get(at..)?).map(|(length, _)| length);
            Some((at, found.max()?))
        })
    }

    /// True if a comma or another mark stands directly before a word.
    pub(super) fn is_after_comma(&self, word: &Word<'_>) -> bool {
        let before = self.text.get(..word.at).unwrap_or_default();
        before.trim_end().ends_with([',', ';', ':', '-', '–', '—', '.', '…'])
    }

    /// True if a word begins a quotation.
    pub(super) fn is_quoted(&self, word: &Word<'_>) -> bool {
        self.text.get(..word.at).is_some_and(|before| before.ends_with(['"', '“', '„', '«', '‘']))
    }
}
