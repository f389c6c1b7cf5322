//! Signed lines: only the holder of a key can write them, and each is valid only at its place.
//!
//! The process of a plugin gets the key before it opens the library, over a channel that is empty afterwards. So a line
//! that the library writes to any open file is not valid, and neither is a repeated line.

use std::io::{self, Write};

use serde_json::Value;

/// Bytes of a key.
pub(super) const KEY: usize = 32;

/// A key, and the number of lines that were signed with it so far.
pub(super) struct Signature {
    key: [u8; KEY],
    lines: u64,
}

impl Signature {
    pub(super) const fn new(key: [u8; KEY]) -> Self {
        Self { key, lines: 0 }
    }

    fn of(&self, text: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&self.lines.to_le_bytes()).update(text).finalize()
    }

    /// Signs and writes the next line.
    pub(super) fn write(&mut self, value: &Value, mut to: impl Write) -> io::Result<()> {
        let text = value.to_string();
        // On a line of its own, because the library may have written part of a line.
        let line = format!("\n{} {text}\n", self.of(text.as_bytes()).to_hex());
        self.lines += 1;
        to.write_all(line.as_bytes())
    }

    /// The value of a line, if it is the next signed line.
    pub(super) fn read(&mut self, line: &[u8]) -> Option<Value> {
        let (signature, text) = line.split_at_checked(2 * blake3::OUT_LEN)?;
        let text = text.strip_prefix(b" ")?;
        if blake3::Hash::from_hex(signature).ok()? != self.of(text) {
            return None;
        }
        self.lines += 1;
        serde_json::from_slice(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(signature: &mut Signature, value: &Value) -> Vec<u8> {
        let mut written = Vec::new();
        signature.write(value, &mut written).unwrap();
        written.trim_ascii().to_vec()
    }

    #[test]
    fn a_line_counts_once_in_its_place_and_as_it_was_written() {
        let (mut writer, mut reader) = (Signature::new([7; KEY]), Signature::new([7; KEY]));
        let [first, second] = [json!({"check": "a"}), json!({"check": "b"})];
        let lines = [line(&mut writer, &first), line(&mut writer, &second)];
        assert_eq!(reader.read(&lines[1]), None, "not its turn");
        assert_eq!(reader.read(&lines[0]), Some(first.clone()));
        assert_eq!(reader.read(&lines[0]), None, "said twice");
        let forged = [lines[1].clone(), b" ".to_vec()].concat();
        assert_eq!(reader.read(&forged), None, "changed");
        assert_eq!(reader.read(&line(&mut Signature::new([8; KEY]), &first)), None, "another key");
        assert_eq!(reader.read(b"{\"check\": \"b\"}"), None);
        assert_eq!(reader.read(&lines[1]), Some(second));
    }
}
