//! Compressed vectors of tokens, and their cache files.

mod codec;
mod file;
mod index;
mod kept;
mod rotation;
mod stored;

pub use codec::TokenBits;
pub use index::QuantizedTokens;
pub(super) use stored::KIND;
