//! A sentence with its words, and the part of it that stands.

use std::ops::Range;

use super::{LEAD_WORDS, LONGEST};
use crate::{
    language::{Language, last_turn},
    phrases::{Phrases, word_lists},
    spoken::asks,
    words::{Word, words},
};

word_lists! {
    /// Words that begin a separate clause after a comma.
    CLAUSES = "can could would will do does did is are what how why which where who but because since though \
        although considering i i'm i've i'd i'll you we we're he she they it please thanks thank maybe any \
        what's how's let";
    /// Words that begin a separate clause only if a subject or a question follows.
    JOINS = "and so then";
    /// Words at the beginning of a question.
    ASKS = "can could would will do does did is are should what how why which where when who what's how's any";
    /// Words at the beginning of a condition, without which the rest would be too general.
    CONDITIONS = "if when whenever unless for until once while in after before during wenn falls si quand";
}

/// Words of a sentence of which only the clause with the statement stands.
const LONG: usize = 30;

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

    /// Bytes of the whole sentence without leading dots; `None` if it is too long to stand whole.
    pub(super) fn whole(&self) -> Option<Range<usize>> {
        let start = self.text.len() - self.text.trim_start_matches(['.', '…', ' ']).len();
        (self.text.len() - start <= LONGEST).then_some(start..self.text.len())
    }

    /// Bytes of the part around the phrase that begins at word `at`: the whole sentence, or of a question or a very long
    /// sentence in English the clause; `None` if all of it asks.
    pub(super) fn part(&self, at: usize) -> Option<Range<usize>> {
        // "Can you help me solve it, I prefer full steps": only the clause behind the request is a statement.
        let is_question = asks(self.text) || self.requests_behind(at) || at > LEAD_WORDS && self.begins_with_question();
        let whole = self.whole().filter(|_| !is_question);
        if let Some(whole) = &whole
            && self.words.len() <= LONG
        {
            return Some(whole.clone());
        }
        if !Language::of(self.text).may_be_cut(Language::ENGLISH) {
            return whole;
        }
        let first = self.begin(at);
        let start = self.words.get(first)?.at;
        let end = end(self.text, &self.words, at);
        let is_whole = end == self.text.len();
        if is_question && (is_whole || self.words.get(first).is_some_and(|word| ASKS.contains(&word.key))) {
            return None;
        }
        // A part cut off from a statement must not invert it.
        let is_kept = last_turn(self.text, is_question).is_none_or(|turn| turn <= end);
        (end > start && end - start <= LONGEST && is_kept).then_some(start..end).or(whole)
    }

    /// True if the first words ask: "What's the best way to …".
    pub(super) fn begins_with_question(&self) -> bool {
        self.keys.first().is_some_and(|key| ASKS.contains(key))
    }

    /// True if a request follows the word at `at`, perhaps without a mark: "We take the hall, can you call them".
    pub(super) fn requests_behind(&self, at: usize) -> bool {
        let is = |index: usize, texts: &[&str]| self.words.get(index).is_some_and(|word| texts.contains(&word.text));
        let requests = |index: usize| is(index, &["can", "could", "would"]) && is(index + 1, &["you"]);
        (at + 1..self.words.len())
            .any(|index| requests(index) && self.words.get(index).is_some_and(|word| self.is_after_comma(word)))
    }

    /// Index of the part's first word: the sentence's first word if few words or a condition precede the phrase,
    /// otherwise the phrase's.
    fn begin(&self, at: usize) -> usize {
        let is_condition = self.keys.first().is_some_and(|key| CONDITIONS.contains(key));
        let is_separated = self.words.iter().skip(1).take(at).any(|word| self.is_after_comma(word));
        if at <= LEAD_WORDS && !is_separated || is_condition { 0 } else { at }
    }
}

/// End offset of the part: the end of the clause, or of the sentence with its mark.
fn end(sentence: &str, words: &[Word<'_>], at: usize) -> usize {
    for (index, pair) in words.windows(2).enumerate().skip(at + 1) {
        let [before, next] = pair else { continue };
        let ends = before.at + before.text.len();
        let between = sentence.get(ends..next.at).unwrap_or_default();
        let is_dash = between.contains([';', '—', '–', '(']) || between.contains(" - ");
        let is_comma = between.contains(',');
        let joined = words.get(index + 2).is_some_and(|word| CLAUSES.contains(&word.key));
        let is_filler = next.text == "you" && words.get(index + 2).is_some_and(|word| word.text == "know");
        let begins = CLAUSES.contains(&next.key) || JOINS.contains(&next.key) && joined;
        if is_dash || is_comma && begins && !is_filler {
            return ends;
        }
    }
    sentence.len()
}
