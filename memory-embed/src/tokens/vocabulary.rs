//! Tokens of a vocabulary, laid out at build time, so that lookups need no preparation.

use super::hash::Hash;

#[derive(Debug)]
pub(super) struct Vocabulary {
    /// All tokens in the order of their ranks, each after a byte with its length.
    tokens: &'static [u8],
    /// Hash table of their offsets with open addressing; see [`Hash::slot`].
    slots: &'static [[u8; 4]],
}

pub(super) static CL100K: Vocabulary = Vocabulary {
    tokens: include_bytes!("../../vocabularies/cl100k_base.tokens"),
    slots: include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.slots")).as_chunks().0,
};

pub(super) static O200K: Vocabulary = Vocabulary {
    tokens: include_bytes!("../../vocabularies/o200k_base.tokens"),
    slots: include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.slots")).as_chunks().0,
};

impl Vocabulary {
    /// Offset of the token of these bytes. Offsets are ordered like ranks.
    pub(super) fn rank(&self, bytes: &[u8]) -> Option<u32> {
        let length = u8::try_from(bytes.len()).ok()?;
        let hash = Hash::of(bytes);
        let mut at = hash.home(self.slots.len());
        loop {
            let slot = *self.slots.get(at)?;
            if slot == [0; 4] {
                return None;
            }
            let offset = hash.offset(slot).filter(|offset| self.token_at(*offset, length) == Some(bytes));
            if offset.is_some() {
                return offset;
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }

    /// The token at an offset, if it has this length.
    fn token_at(&self, offset: u32, length: u8) -> Option<&'static [u8]> {
        let offset = usize::try_from(offset).ok()?;
        let (stated, rest) = self.tokens.get(offset.checked_sub(1)?..)?.split_first()?;
        if *stated == length { rest.get(..usize::from(length)) } else { None }
    }

    #[cfg(test)]
    pub(super) fn tokens(&self) -> &'static [u8] {
        self.tokens
    }
}
