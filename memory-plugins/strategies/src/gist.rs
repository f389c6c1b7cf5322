//! The informative words of a text.

use crate::{
    terms::is_common,
    words::{Form, KeySet, Word, words},
};

/// Set of the informative words of a text, regardless of case, plural and order.
#[derive(Clone, Debug, Default)]
pub struct Gist(KeySet);

impl From<KeySet> for Gist {
    fn from(keys: KeySet) -> Self {
        Self(keys)
    }
}

impl Gist {
    /// The informative words of `text`: names, figures and all but common words.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(words(text).filter(|word| word.form == Form::Figure || !is_common(word)).map(|word| word.key).collect())
    }

    /// The informative words of `text` without bare figures, which many texts share.
    #[must_use]
    pub fn things_of(text: &str) -> Self {
        let is_bare = |word: &Word<'_>| word.form == Form::Figure && !word.text.contains(char::is_alphabetic);
        Self(words(text).filter(|word| !is_bare(word) && !is_common(word)).map(|word| word.key).collect())
    }

    /// Number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no words: "And what about that?"
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of words that both texts have.
    #[must_use]
    pub fn shared(&self, other: &Self) -> usize {
        self.0.intersection(&other.0).count()
    }

    /// The words that both texts have.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// The union with `other`.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.0.extend(&other.0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_common_says_nothing() {
        assert!(Gist::of("And what about that?").is_empty());
        let [asked, said] = ["Which hotels in Rome?", "The hotel near the station of Rome costs 90."].map(Gist::of);
        assert_eq!((asked.len(), asked.shared(&said)), (2, 2));
    }
}
