//! Everything that is derived from the log, and the cache files that keep it between runs.
//!
//! Losing these files loses time, never data. `docs/format.md`, section "Derived files", defines their bytes.

mod anchor;
mod block;
mod cached;
mod conversations;
mod disk;
mod file;
mod graph;
mod header;
mod kind;
mod map;
mod packs;
mod parallel;
mod questions;
mod stored;
mod tokens;
mod turn;
mod vectors;
mod words;

pub use graph::{Codes, Graph, GraphOptions, Near};
pub(crate) use header::{NAMED_BY, is_of_store};
pub use questions::RecordedQuestions;
pub use stored::{DerivedFiles, forget_other_models};
pub use tokens::{QuantizedTokens, TokenBits};
pub use vectors::{AutoIndex, AutoOptions, ExactIndex, Kernels, Method, quantize};
pub use words::{BlockFiles, DerivedBlocks};
