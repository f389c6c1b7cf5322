//! The vectors of tokens, compressed, and the cache files that keep them between runs.

mod codec;
mod entries;
mod file;
mod index;
mod kept;
mod rotation;

pub use codec::TokenBits;
pub use index::QuantizedTokens;
