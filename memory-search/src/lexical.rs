//! Lexical retrieval: analyzer, postings and BM25.

mod analyzer;
mod bm25;
mod index;
mod node_table;
mod numbers;
mod postings;
mod saved;
mod segment;
mod segment_builder;
mod stored_rows;

pub(crate) use analyzer::{Analyzer, NodeTerms, indexed_text, words_of};
pub(crate) use bm25::{Bm25, Collection, Coverage, Weighed};
pub(crate) use index::{AllWords, Indexed, MAX_UNSAVED, WordIndex};
pub(crate) use node_table::{NodeTable, Talk, Traits};
pub(crate) use postings::Postings;
pub(crate) use saved::ScopedSegment;
pub(crate) use segment::{before, occurrences};
