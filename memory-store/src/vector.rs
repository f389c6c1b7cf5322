//! Nearest vectors, and the cache files that keep them between runs.

mod auto;
mod cores;
mod exact;
mod file;
mod graph;
#[cfg(feature = "hnsw-rs")]
mod hnsw_rs;
mod kernel;
pub(crate) mod map;
mod rows;
mod scan;

pub use auto::{AutoIndex, AutoOptions, Method};
pub use exact::ExactIndex;
pub(crate) use file::FORMAT;
pub use graph::{Codes, Graph, GraphBinding, GraphOptions, Near, SetAside};
#[cfg(feature = "hnsw-rs")]
pub use hnsw_rs::{HnswRs, HnswRsError, HnswRsOptions};
pub use kernel::{Kernels, quantize};
