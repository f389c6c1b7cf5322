//! Fakes of the ports, generators for property tests, and the conformance suites of [`Store`](crate::port::Store),
//! [`Source`](crate::port::Source), [`OwnedStore`](crate::port::OwnedStore), [`VectorIndex`](crate::port::VectorIndex),
//! [`BlockCache`](crate::port::BlockCache), [`Derived`](crate::port::Derived), [`Summarizer`](crate::port::Summarizer)
//! and [`ConversationManager`](crate::port::ConversationManager).
//!
//! Requires the feature `testing`. Not for production.

mod block_cache;
mod conformance;
mod derived;
mod fakes;
#[cfg(test)]
mod generators;
mod manager;
mod memory_store;
mod owners;
mod scripted_model;
mod source;
mod summarizer;
mod vector_index;

pub use block_cache::block_cache_conformance;
pub use conformance::store_conformance;
pub use derived::{DerivedUnderTest, derived_conformance};
pub use fakes::{FixedClock, HashEmbedder, ScanRetriever, WordCounter};
#[cfg(test)]
pub(crate) use generators::{messages, texts};
pub use manager::{EverythingManager, manager_conformance};
pub use memory_store::MemoryStore;
pub use owners::owner_conformance;
pub use scripted_model::ScriptedModel;
pub use source::source_conformance;
pub use summarizer::summarizer_conformance;
pub use vector_index::{DIMENSIONS as SUITE_DIMENSIONS, IndexUnderTest, vector_index_conformance};
