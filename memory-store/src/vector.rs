//! Nearest vectors, and the cache files that keep them between runs.

mod exact;
mod file;
mod kernel;

pub use exact::ExactIndex;
