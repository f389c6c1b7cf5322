//! Fakes of the ports, generators for property tests, and the conformance suite of [`Store`](crate::Store).
//!
//! Behind the feature `testing`; nothing here is fit for production.

mod conformance;
mod fakes;
#[cfg(test)]
mod generators;
mod memory_store;

pub use conformance::store_conformance;
pub use fakes::{FixedClock, HashEmbedder, ScanRetriever, WordCounter};
#[cfg(test)]
pub(crate) use generators::{messages, texts};
pub use memory_store::MemoryStore;
