//! The words of titles.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use lru::LruCache;

use super::{Language, Languages, Weighed, asked, bm25::QuestionWord};

/// Maximum cached titles.
const MOST_TITLES: NonZeroUsize = NonZeroUsize::new(1 << 14).unwrap();

/// Cache of the terms of titles, because analyzing a title takes longer than comparing it.
#[derive(Debug)]
pub(super) struct Titles(Mutex<LruCache<Box<str>, Terms>>);

/// Sorted.
type Terms = Arc<[Box<str>]>;

impl Default for Titles {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST_TITLES)))
    }
}

impl Titles {
    /// Share of the question's weight in the words of a title, 0..=1.
    pub(super) fn share(&self, title: Option<&str>, question: &Weighed) -> f32 {
        let Some(title) = title.filter(|title| !title.trim().is_empty()) else { return 0.0 };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let terms = match known.get(title) {
            Some(terms) => Arc::clone(terms),
            None => {
                let asked = asked(title, Languages::of(Language::all()));
                let terms: Terms = asked.forms().map(Box::from).collect();
                known.put(title.into(), Arc::clone(&terms));
                terms
            }
        };
        drop(known);
        let all = question.words.iter().chain(&question.unheard);
        let has = |word: &&QuestionWord| word.forms.iter().any(|form| terms.binary_search(form).is_ok());
        let in_title = all.filter(has).map(|word| word.idf);
        in_title.sum::<f32>() / question.total.max(f32::MIN_POSITIVE)
    }
}
