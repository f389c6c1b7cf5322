//! Nearest-vector search, and its cache files.

mod auto;
mod exact;
mod file;
#[cfg(feature = "hnsw-rs")]
mod hnsw_rs;
mod kernel;
mod rows;
mod scan;

pub use auto::{AutoIndex, AutoOptions, Method};
pub use exact::ExactIndex;
pub(super) use file::KIND;
#[cfg(feature = "hnsw-rs")]
pub use hnsw_rs::{HnswRs, HnswRsError, HnswRsOptions};
pub use kernel::{Kernels, quantize};
