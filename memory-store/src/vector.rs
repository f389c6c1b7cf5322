//! Nearest vectors, and the cache files that keep them between runs.

mod exact;
mod file;
mod kernel;

pub use exact::ExactIndex;
pub(crate) use file::{NAMED_BY, is_of_store};
pub use kernel::{Kernels, quantize};
