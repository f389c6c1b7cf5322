//! Lexical retrieval: analyzer, postings and BM25.

mod analyzer;
mod bm25;
mod fold;
mod index;
mod node_table;
mod numbers;
mod outlines;
mod postings;
mod saved;
mod segment;
mod segment_builder;
mod stop_words;
mod stored_rows;
mod titles;

pub(crate) use analyzer::{Analyzer, NodeTerms, indexed_text};
pub(crate) use bm25::{Bm25, Collection, Coverage, Weighed};
pub(crate) use index::{AllWords, Indexed, MAX_UNSAVED, WordIndex};
pub(crate) use node_table::{NodeTable, Talk, Traits};
pub(crate) use postings::Postings;
pub(crate) use saved::ScopedSegment;
pub(crate) use segment::{before, occurrences};
pub(crate) use titles::Titles;
