//! Retrieval from conversations by words and by meaning, and packing of the results under a token budget.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! [`HybridRetriever`] implements the port [`Retriever`](memory_core::port::Retriever):
//!
//! 1. Create it over a store with [`HybridRetriever::new`], or over messages of your own: a
//!    [`Source`](memory_core::port::Source) has three methods to write, as the example `search_only` shows. With an
//!    embedding model and a vector index it ranks by words and by meaning, otherwise by words only.
//!    [`token_index`](HybridRetriever::token_index) adds late interaction, [`reranker`](HybridRetriever::reranker) a
//!    cross-encoder with its [`RerankOptions`], and [`word_cache`](HybridRetriever::word_cache) saves the lexical index
//!    between runs.
//! 2. [`search`](memory_core::port::Retriever::search) returns ranked hits. An [`Explanation`] shows them as a table of
//!    signals.
//! 3. [`recall`](memory_core::port::Retriever::recall) returns excerpts of one conversation that fit into a budget.
//! 4. [`catch_up`](memory_core::port::Retriever::catch_up) indexes and embeds what was appended. A query embeds at most
//!    64 new messages itself.
//!
//! Four parts work without a retriever:
//!
//! - [`find`] searches messages for a regular expression, as a [`FindRequest`] states, and returns [`Found`].
//! - [`excerpt`] selects the part of a text to show for a question, and the words to highlight ([`Excerpted`]).
//! - [`pack`] selects the messages to show for ranked hits ([`PackRequest`], [`Packed`]).
//! - [`cut_before`] and [`cut_after`] are the places at which a text may be cut.
//!
//! # Ranking
//!
//! The best candidates by a cheap sum of BM25 and cosine are ranked by a weighted sum of features with fitted weights.
//! Filters apply before ranking. A message that forks share is found once. A missing or failing part (model, index,
//! cache, reranker) never fails a search: the ranking does without it, and a notice states it.
//!
//! # Features and non-goals
//!
//! The feature `serde` implements `Serialize` for [`Found`] and [`Excerpted`]. The crate does not store messages or
//! vectors, run models, or write summaries: stores, indexes and models are ports of [`memory_core`].

mod archive;
mod boundary;
mod budget;
mod content;
mod cut;
mod excerpt;
mod explain;
mod features;
mod find;
mod fuse;
mod late;
mod lexical;
mod masked;
mod nearest;
mod pack;
mod pairs;
mod question;
mod ranker;
mod ranking;
mod reads;
mod relevance;
mod repeats;
mod rerank;
mod retriever;
mod selection;
mod semantic;
mod shared_prefix;
mod shortlist;
mod stopwatch;

pub use archive::{ArchiveLimits, Archived};
pub use boundary::{cut_after, cut_before};
pub use excerpt::{Excerpted, excerpt};
pub use explain::Explanation;
pub use find::{FindError, FindRequest, Found, LeftOut, Match, StoppedAt, TextPattern, find};
pub use lexical::is_english;
pub use pack::{Characters, Lengths, PackRequest, PackSource, Packed, SourceNode, TooLarge, pack, reach};
pub use pairs::Pairs;
pub use rerank::RerankOptions;
pub use retriever::HybridRetriever;
