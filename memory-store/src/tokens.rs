//! The vectors of tokens, compressed, and the cache files that keep them between runs.

mod block;
mod codec;
mod file;
mod index;
mod kept;
mod rotation;

pub use codec::TokenBits;
pub(crate) use file::FORMAT;
pub use index::QuantizedTokens;
