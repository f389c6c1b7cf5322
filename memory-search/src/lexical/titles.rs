//! Words in the titles of conversations.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use lru::LruCache;

use super::{Analyzer, Weighed};

/// Maximum cached titles.
const MOST: NonZeroUsize = NonZeroUsize::new(1 << 14).unwrap();

/// Cache of the terms of titles, because analyzing a title takes longer than comparing it.
#[derive(Debug)]
pub(crate) struct Titles(Mutex<LruCache<Box<str>, Terms>>);

/// Sorted.
type Terms = Arc<[Box<str>]>;

impl Default for Titles {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST)))
    }
}

impl Titles {
    /// Share of the question's weight in the words of a title, 0..=1.
    pub(crate) fn share(&self, analyzer: &Analyzer, title: Option<&str>, question: &Weighed) -> f32 {
        let Some(title) = title.filter(|title| !title.trim().is_empty()) else { return 0.0 };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let terms = match known.get(title) {
            Some(terms) => Arc::clone(terms),
            None => {
                let terms: Terms = analyzer.question(title).into();
                known.put(title.into(), Arc::clone(&terms));
                terms
            }
        };
        drop(known);
        let all = question.terms.iter().chain(&question.unheard);
        let in_title = all.filter(|term| terms.binary_search(&term.text).is_ok()).map(|term| term.idf);
        in_title.sum::<f32>() / question.total.max(f32::MIN_POSITIVE)
    }
}
