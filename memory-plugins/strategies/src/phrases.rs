//! A lookup table of words and phrases by word keys.

use std::{borrow::Cow, sync::LazyLock};

use memory_core::time::{month_names, weekday_names};

use crate::words::{KeyMap, KeySet, key, words};

/// Defines sets of blank-separated words, parsed on first use.
macro_rules! word_lists {
    ($($(#[doc = $doc:literal])* $name:ident = $list:literal;)*) => {
        $($(#[doc = $doc])* static $name: std::sync::LazyLock<$crate::words::KeySet> =
            std::sync::LazyLock::new(|| $crate::phrases::word_keys($list));)*
    };
}

/// Defines sets of phrases separated by `|`, parsed on first use.
macro_rules! phrase_lists {
    ($($(#[doc = $doc:literal])* $name:ident = $list:literal;)*) => {
        $($(#[doc = $doc])* static $name: std::sync::LazyLock<$crate::phrases::Phrases<()>> =
            std::sync::LazyLock::new(|| $crate::phrases::Phrases::listed(&[((), $list)]));)*
    };
}

pub(crate) use {phrase_lists, word_lists};

/// A map from phrases to values.
pub(crate) struct Phrases<T> {
    /// A bit set over the lowest bits of a key: set if a phrase may begin with the word. Most words begin none.
    begins: [u64; BEGINS / 64],
    /// By the first word: the remaining words, and the value.
    by_first: KeyMap<Vec<(Vec<u64>, T)>>,
}

/// Size of the bit set; large enough to exclude nearly all other words.
const BEGINS: usize = 1 << 13;

impl<T: Copy> Phrases<T> {
    /// The phrases of lists, each separated by `|`, with either apostrophe.
    pub(crate) fn listed(lists: &[(T, &'static str)]) -> Self {
        let phrases = lists.iter().flat_map(|(meaning, list)| list.split('|').map(|phrase| (phrase, *meaning)));
        Self::new(phrases.flat_map(|(phrase, meaning)| spellings(phrase).map(move |spelled| (spelled, meaning))))
    }
}

impl<T> Phrases<T> {
    /// True if one of the phrases is anywhere in `keys`.
    pub(crate) fn are_in(&self, keys: &[u64]) -> bool {
        (0..keys.len()).any(|at| self.at(keys.get(at..).unwrap_or_default()).next().is_some())
    }

    pub(crate) fn new(phrases: impl IntoIterator<Item = (impl AsRef<str>, T)>) -> Self {
        let mut by_first: KeyMap<Vec<(Vec<u64>, T)>> = KeyMap::default();
        for (phrase, meaning) in phrases {
            let mut keys = words(phrase.as_ref()).map(|word| word.key);
            if let Some(first) = keys.next() {
                by_first.entry(first).or_default().push((keys.collect(), meaning));
            }
        }
        let mut begins = [0; BEGINS / 64];
        for (word, bit) in by_first.keys().copied().map(place) {
            if let Some(bits) = begins.get_mut(word) {
                *bits |= bit;
            }
        }
        Self { begins, by_first }
    }

    /// The phrases at the beginning of `keys`: the number of words of each, and its value.
    pub(crate) fn at(&self, keys: &[u64]) -> impl Iterator<Item = (usize, &T)> {
        let (first, after) = keys.split_first().map_or((None, keys), |(first, after)| (Some(first), after));
        let phrases = first.map_or(&[][..], |first| self.continuations(*first));
        // The second word excludes most phrases.
        let goes_on = move |rest: &[u64]| {
            rest.first().is_none_or(|second| after.first() == Some(second)) && after.starts_with(rest)
        };
        phrases.iter().filter(move |(rest, _)| goes_on(rest)).map(|(rest, meaning)| (rest.len() + 1, meaning))
    }

    /// The phrases that begin with `first`.
    fn continuations(&self, first: u64) -> &[(Vec<u64>, T)] {
        let (word, bit) = place(first);
        if self.begins.get(word).is_none_or(|bits| bits & bit == 0) {
            return &[];
        }
        self.by_first.get(&first).map_or(&[], Vec::as_slice)
    }
}

/// The position of a word's bit.
fn place(key: u64) -> (usize, u64) {
    let bit = usize::try_from(key % BEGINS as u64).unwrap_or(0);
    (bit / 64, 1 << (bit % 64))
}

/// The spellings of a phrase with straight and with curved apostrophes.
fn spellings(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let curved = text.contains('\'').then(|| Cow::Owned(text.replace('\'', "’")));
    std::iter::once(Cow::Borrowed(text)).chain(curved)
}

/// Keys of the names of months, and of days of the week, in all languages that are read.
pub(crate) static MONTHS: LazyLock<KeySet> = LazyLock::new(|| month_names().map(key).collect());
pub(crate) static WEEKDAYS: LazyLock<KeySet> = LazyLock::new(|| weekday_names().map(key).collect());

/// Keys of the blank-separated words, in both spellings.
pub(crate) fn word_keys(list: &str) -> KeySet {
    list.split_whitespace().flat_map(spellings).map(|word| key(&word)).collect()
}
