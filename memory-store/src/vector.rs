//! Nearest vectors, and the cache files that keep them between runs.

mod auto;
mod exact;
mod file;
mod graph;
mod kernel;
mod map;
mod rows;
mod scan;

pub use auto::{AutoIndex, AutoOptions, Method};
pub use exact::ExactIndex;
pub(crate) use file::{NAMED_BY, is_of_store};
pub use graph::{Codes, Graph, GraphBinding, GraphOptions, Near, SetAside};
pub use kernel::{Kernels, quantize};
