//! What a model is called: its name, and a digest of what its output depends on.

use memory_core::ModelId;

use crate::checksum::sha256_hex;

/// Digits of the digest that are shown.
const DIGITS: usize = 12;

/// The id of the model `name` whose output depends on what has this digest alone.
pub(crate) fn of_digest(name: &str, sha256: &str) -> ModelId {
    ModelId::new(&format!("{name}@{}", sha256.get(..DIGITS).unwrap_or(sha256)))
}

/// The id of the model `name` whose output depends on all of `parts`, in this order.
pub(crate) fn of_parts(name: &str, parts: &[&str]) -> ModelId {
    of_digest(name, &sha256_hex(parts.join("\n").as_bytes()))
}
