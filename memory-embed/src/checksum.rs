//! SHA-256 of bytes and files in lower-case hexadecimal, and ids of models by it.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use memory_core::ModelId;
use sha2::{Digest, Sha256};

use crate::files;

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

pub(crate) fn sha256_hex_of_file(path: &Path) -> io::Result<String> {
    copy_and_hash(&mut files::open(path)?, &mut io::sink())
}

/// Copies all bytes and returns their SHA-256.
pub(crate) fn copy_and_hash(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(hex(hasher.finalize().as_slice())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        hasher.update(bytes);
        to.write_all(bytes)?;
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Id of a model whose output depends only on data with this SHA-256: the name with its first 12 digits.
pub(crate) fn model_id(name: &str, sha256: &str) -> ModelId {
    ModelId::new(&format!("{name}@{}", sha256.get(..12).unwrap_or(sha256)))
}

/// Id of a model whose output depends on `parts`, in this order.
pub(crate) fn model_id_of(name: &str, parts: &[&str]) -> ModelId {
    model_id(name, &sha256_hex(parts.join("\n").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_hashes_the_published_example() {
        let mut copy = Vec::new();
        let sha256 = copy_and_hash(&mut b"abc".as_slice(), &mut copy).unwrap();
        assert_eq!(copy, b"abc");
        // FIPS 180-4, example "abc".
        assert_eq!(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(sha256, sha256_hex(b"abc"));
    }
}
