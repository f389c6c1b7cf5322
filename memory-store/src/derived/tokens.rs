//! The vectors of tokens, compressed, and the cache files that keep them between runs.

mod codec;
mod entries;
mod file;
mod index;
mod kept;
mod rotation;
mod stored;

pub use codec::TokenBits;
pub use index::QuantizedTokens;
pub(super) use stored::KIND;
