//! Lists of words and phrases, looked up by the keys of words.

use std::borrow::Cow;

use crate::words::{KeyMap, KeySet, key, words};

/// Phrases, each with what it stands for.
pub(crate) struct Phrases<T> {
    /// By the lowest bits of a word: whether a phrase may begin with it. Most words begin none.
    begins: [u64; BEGINS / 64],
    /// By the first word: the words behind it, and what the phrase stands for.
    by_first: KeyMap<Vec<(Vec<u64>, T)>>,
}

/// Bits that tell words apart which begin a phrase from nearly all others.
const BEGINS: usize = 1 << 13;

impl<T> Phrases<T> {
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

    /// The phrases that `keys`, the words of a text, begin with: how many words each has, and what it stands for.
    pub(crate) fn at(&self, keys: &[u64]) -> impl Iterator<Item = (usize, &T)> {
        let (first, behind) = keys.split_first().map_or((None, keys), |(first, behind)| (Some(first), behind));
        let phrases = first.map_or(&[][..], |first| self.behind(*first));
        // Most phrases part at their second word.
        let goes_on = move |rest: &[u64]| {
            rest.first().is_none_or(|second| behind.first() == Some(second)) && behind.starts_with(rest)
        };
        phrases.iter().filter(move |(rest, _)| goes_on(rest)).map(|(rest, meaning)| (rest.len() + 1, meaning))
    }

    /// What may stand behind `first` in a phrase.
    fn behind(&self, first: u64) -> &[(Vec<u64>, T)] {
        let (word, bit) = place(first);
        if self.begins.get(word).is_none_or(|bits| bits & bit == 0) {
            return &[];
        }
        self.by_first.get(&first).map_or(&[], Vec::as_slice)
    }
}

/// Where the bit of a word stands.
fn place(key: u64) -> (usize, u64) {
    let bit = usize::try_from(key % BEGINS as u64).unwrap_or(0);
    (bit / 64, 1 << (bit % 64))
}

/// A word or phrase with a straight apostrophe, and, where it has one, with a curved one.
pub(crate) fn spellings(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let curved = text.contains('\'').then(|| Cow::Owned(text.replace('\'', "’")));
    std::iter::once(Cow::Borrowed(text)).chain(curved)
}

/// The keys of words, parted by blanks, with either apostrophe.
pub(crate) fn word_keys(list: &str) -> KeySet {
    list.split_whitespace().flat_map(spellings).map(|word| key(&word)).collect()
}
