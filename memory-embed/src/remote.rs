//! What the embedders over a network share: cutting, batches, bounded concurrency, retries, deadlines and checks.

mod embedder;
mod error;
mod key;
mod options;
mod pace;
mod pieces;
mod retry;
mod runtime;
#[cfg(test)]
pub(crate) mod stub;

pub(crate) use embedder::{Limits, Protocol, Purpose, Remote};
pub(crate) use error::Failure;
pub use error::RemoteError;
#[cfg(test)]
pub(crate) use error::cause_of;
pub use key::ApiKey;
pub use options::RemoteOptions;
