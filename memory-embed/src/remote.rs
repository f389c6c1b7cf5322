//! Common parts of remote embedders: chunks, batches, bounded concurrency, retries, deadlines and validation.

mod batch_size;
mod embedder;
mod error;
mod estimate;
mod options;
mod retry;

pub use memory_remote::ApiKey;

pub(crate) use embedder::{Limits, Protocol, Purpose, Remote};
pub(crate) use error::Failure;
pub use error::RemoteError;
#[cfg(test)]
pub(crate) use error::cause_of;
pub use options::RemoteOptions;
