//! Lexical retrieval: analyzer, postings and BM25.

mod analyzer;
mod asked;
mod bm25;
mod folding;
mod index;
mod language;
mod node_table;
mod numbers;
mod postings;
mod saved;
mod script;
mod segment;
mod segment_builder;
mod stored_rows;
mod titles;

pub(crate) use analyzer::{NodeTerms, asked, asked_words, indexed_text, terms_of, words_of};
pub(crate) use asked::{Asked, Vocabulary};
pub(crate) use bm25::{Bm25, Collection, Coverage, Weighed, together};
pub(crate) use index::{AllWords, Indexed, MAX_UNSAVED, WordIndex};
pub use language::is_english;
pub(crate) use language::{Language, Languages, Spoken};
pub(crate) use node_table::{NodeTable, Talk, Traits};
pub(crate) use postings::Postings;
pub(crate) use saved::ScopedSegment;
pub(crate) use segment::{before, occurrences};
