//! Cached token counts of repeated texts.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    sync::{Mutex, MutexGuard, PoisonError},
};

use memory_core::port::TokenCounter;

/// Most texts whose counts are kept, at about 32 bytes each.
const MOST: usize = 1 << 16;

/// Counts by a keyed hash of the text and its length. Outsiders cannot find texts with equal hashes.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    known: Mutex<HashMap<(u64, usize), u32>>,
    hasher: RandomState,
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, HashMap<(u64, usize), u32>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tokens of a text.
    pub(crate) fn count(&self, text: &str, counter: &dyn TokenCounter) -> u32 {
        let key = (self.hasher.hash_one(text), text.len());
        if let Some(known) = self.lock().get(&key) {
            return *known;
        }
        let tokens = counter.count(text);
        let mut known = self.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, tokens);
        tokens
    }

    /// Tokens of a text in parts, divided as `TokenCounter::adds_up_at_lines` requires: every part but the last ends
    /// with a line end, and every part but the first begins with a letter, `[` or `-`.
    pub(crate) fn count_parts(&self, parts: &[String], counter: &dyn TokenCounter) -> u32 {
        if counter.adds_up_at_lines() {
            return parts.iter().map(|part| self.count(part, counter)).fold(0, u32::saturating_add);
        }
        counter.count(&parts.concat())
    }
}

#[cfg(test)]
mod tests {
    use memory_core::testing::WordCounter;

    use super::*;

    /// Counts characters, except a line end before a letter.
    #[derive(Debug)]
    struct Joined;

    impl TokenCounter for Joined {
        fn name(&self) -> &'static str {
            "joined"
        }

        fn count(&self, text: &str) -> u32 {
            u32::try_from(text.trim_end().chars().count()).unwrap_or(u32::MAX)
        }
    }

    #[test]
    fn parts_are_counted_one_by_one_only_where_that_is_exact() {
        let parts = ["[one]\n\n", "two three\n", "- four"].map(str::to_owned);
        let counts = Counts::default();
        for _ in 0..2 {
            assert_eq!(counts.count_parts(&parts, &WordCounter), WordCounter.count(&parts.concat()));
            assert_eq!(counts.count_parts(&parts, &Joined), Joined.count(&parts.concat()));
        }
    }

    #[test]
    fn no_more_is_kept_than_is_of_use() {
        let counts = Counts::default();
        for number in 0..MOST + 10 {
            counts.count(&number.to_string(), &WordCounter);
        }
        assert!(counts.lock().len() <= MOST);
        assert_eq!(counts.count("one two", &WordCounter), 2);
    }
}
