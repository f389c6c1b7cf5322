//! The notice that recall is by words, once in the life of a memory.

use std::sync::atomic::{AtomicBool, Ordering};

/// How the notice begins.
const BEGINS: &str = "recall is by words only";

/// Whether the notice was given.
#[derive(Debug, Default)]
pub(crate) struct WordsOnly(AtomicBool);

impl WordsOnly {
    /// Drops the notice from these if it was given before.
    pub(crate) fn once(&self, notices: &mut Vec<String>) {
        notices.retain(|notice| !notice.starts_with(BEGINS) || !self.0.swap(true, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_is_given_once_and_others_stay() {
        let (words_only, said) = (WordsOnly::default(), ["recall is by words only: no model", "another notice"]);
        let mut notices = said.map(str::to_owned).to_vec();
        words_only.once(&mut notices);
        assert_eq!(notices, said);
        words_only.once(&mut notices);
        assert_eq!(notices, said[1..]);
    }
}
