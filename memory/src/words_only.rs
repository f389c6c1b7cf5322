//! The notice that recall is by words, once in the life of a memory.

use std::sync::atomic::{AtomicBool, Ordering};

use memory_core::Notice;

/// True once the notice was given.
#[derive(Debug, Default)]
pub(crate) struct WordsOnly(AtomicBool);

impl WordsOnly {
    /// Drops the notice from these if it was given before.
    pub(crate) fn once(&self, notices: &mut Vec<Notice>) {
        let is_news =
            |notice: &Notice| !matches!(notice, Notice::WordsOnly { .. }) || !self.0.swap(true, Ordering::Relaxed);
        notices.retain(is_news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_is_given_once_and_others_stay() {
        let (words_only, said) =
            (WordsOnly::default(), [Notice::WordsOnly { why: "no model".to_owned() }, Notice::EmptyQuestion]);
        let mut notices = said.to_vec();
        words_only.once(&mut notices);
        assert_eq!(notices, said);
        words_only.once(&mut notices);
        assert_eq!(notices, said[1..]);
    }
}
