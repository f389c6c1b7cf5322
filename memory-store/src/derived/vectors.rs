//! Nearest-vector search, and its cache files.

mod auto;
mod exact;
mod file;
mod kernel;
mod rows;
mod scan;

pub use auto::{AutoIndex, AutoOptions, Method};
pub use exact::ExactIndex;
pub(super) use file::KIND;
pub(super) use kernel::is_unit;
pub use kernel::{Kernels, quantize};
