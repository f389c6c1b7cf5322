//! Erasure of messages, as a store records it.

use std::{fmt, str::FromStr};

use crate::{Hash, MessageKey, NodeRange, NoteId, Timestamp};

/// Text that a reader is given in the place of an erased message.
pub const ERASED: &str = "[erased]";

/// Tokens that [`ERASED`] counts as.
pub const ERASED_TOKENS: u32 = 4;

/// Random number of an erasure, shown as 32 hexadecimal digits. It also salts what recognizes the key of an erased
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErasureId([u8; 16]);

/// Text that is not 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an erasure has a number of 32 hexadecimal digits, as in `memory receipt list`")]
pub struct InvalidErasureId;

impl ErasureId {
    /// The number with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Hash that recognizes the key of an erased message, so that an importer does not bring the message back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErasedKey {
    /// The salt: the number of an erasure.
    pub salt: ErasureId,
    /// First half of the salted hash of the key.
    pub digest: [u8; 16],
}

impl ErasedKey {
    /// Hash that recognizes `key`.
    #[must_use]
    pub fn new(salt: ErasureId, key: &MessageKey) -> Self {
        let hash = Hash::of_parts([b"erased key".as_slice(), &salt.0, key.as_str().as_bytes()]);
        let mut digest = [0; 16];
        digest.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
        Self { salt, digest }
    }

    /// True if this is of `key`.
    #[must_use]
    pub fn is_of(&self, key: &MessageKey) -> bool {
        *self == Self::new(self.salt, key)
    }
}

/// Remains of an erased message besides role and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedLeaf {
    /// The leaf in the Merkle tree. The salt went with the message, so that the leaf says nothing of it.
    pub leaf: Hash,
    /// Hash that recognizes the message's key, if it had one.
    pub key: Option<ErasedKey>,
}

impl fmt::Display for ErasureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl FromStr for ErasureId {
    type Err = InvalidErasureId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex).ok_or(InvalidErasureId)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// An erasure in one conversation.
///
/// From the moment it is recorded, nothing reads what it covers: the messages, every summary and every note that came
/// from one of them, and the questions, titles and hashes of the views that showed one. What was recorded later is not
/// affected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Erasure {
    /// Number of the erasure. One erasure may cover several conversations.
    pub id: ErasureId,
    /// Time of the erasure.
    pub at: Timestamp,
    /// Person or program that erased; may be empty.
    pub by: String,
    /// The erased messages, in order; no two runs overlap or touch.
    pub nodes: Vec<NodeRange>,
    /// The erased notes besides those that came from the messages: the first and the last of each run.
    pub notes: Vec<[NoteId; 2]>,
    /// True if all notes and views of the conversation, its title and its tags are erased with the messages.
    pub is_whole: bool,
}

impl Erasure {
    /// An erasure of the messages of these runs, which may overlap and come in any order.
    #[must_use]
    pub fn new(id: ErasureId, at: Timestamp, nodes: Vec<NodeRange>) -> Self {
        Self { id, at, by: String::new(), nodes: NodeRange::merge(nodes), notes: Vec::new(), is_whole: false }
    }

    crate::setters! {
        into by: String,
        notes: Vec<[NoteId; 2]>,
        const is_whole: bool,
    }

    /// True if these notes are among the erased ones.
    #[must_use]
    pub fn covers_note(&self, note: NoteId) -> bool {
        self.notes.iter().any(|[first, last]| (first..=last).contains(&&note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_reads_what_it_prints_and_salts_keys() {
        let id = ErasureId::from_bytes([7; 16]);
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "7", "+7070707070707070707070707070707", &"g".repeat(32)] {
            assert_eq!(bad.parse::<ErasureId>(), Err(InvalidErasureId), "{bad}");
        }
        let key = MessageKey::new("k").unwrap();
        let other = MessageKey::new("other").unwrap();
        let erased = ErasedKey::new(id, &key);
        assert!(erased.is_of(&key) && !erased.is_of(&other));
        assert_ne!(erased.digest, ErasedKey::new(ErasureId::from_bytes([8; 16]), &key).digest);
    }
}
