//! Retrieval by words: text becomes terms, terms become postings, postings become BM25 scores.

mod analyzer;
mod bm25;
mod fold;
mod index;
mod numbers;
mod postings;
mod roll;
mod segment;
mod stop_words;
mod traits;

pub(crate) use analyzer::{Analyzer, NodeTerms, indexed_text};
pub(crate) use bm25::{Bm25, Collection, Coverage, QuestionTerm};
pub(crate) use index::{Indexed, MOST_UNKEPT, WordIndex};
pub(crate) use postings::Postings;
pub(crate) use traits::{Cast, Traits};
