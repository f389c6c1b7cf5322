//! Ids of models: a name with a checksum of everything that the output depends on.

use memory_core::ModelId;

use crate::checksum::sha256_hex;

/// Digits of the checksum in an id.
const DIGITS: usize = 12;

/// Id of a model whose output depends only on data with this SHA-256.
pub(crate) fn from_sha256(name: &str, sha256: &str) -> ModelId {
    ModelId::new(&format!("{name}@{}", sha256.get(..DIGITS).unwrap_or(sha256)))
}

/// Id of a model whose output depends on `parts`, in this order.
pub(crate) fn from_parts(name: &str, parts: &[&str]) -> ModelId {
    from_sha256(name, &sha256_hex(parts.join("\n").as_bytes()))
}
