//! Hash of tokens in a vocabulary's table. The build script, which builds the table, compiles this file too.

/// A hash of a token's bytes.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) fn of(token: &[u8]) -> Self {
        let (words, rest) = token.as_chunks();
        let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let seed = words.iter().fold(0, |state, word| mixed(state ^ u64::from_le_bytes(*word)));
        Self(mixed(seed ^ last))
    }

    /// First slot of `slots` that may contain the token.
    pub(crate) fn home(self, slots: usize) -> usize {
        let slots = u64::try_from(slots).unwrap_or(u64::MAX);
        usize::try_from(((self.0 >> 32) * slots) >> 32).unwrap_or(0)
    }

    /// Contents of the slot of a token at `offset` in its vocabulary: a byte of the hash, and the offset. `None` if the
    /// offset exceeds three bytes. An empty slot is zero, because no token is at offset zero.
    #[allow(dead_code, reason = "the build script alone fills slots")]
    pub(crate) fn slot(self, offset: u32) -> Option<[u8; 4]> {
        let [low, middle, high, 0] = offset.to_le_bytes() else { return None };
        Some([self.mark(), low, middle, high])
    }

    /// Offset in a slot, if its token may have this hash.
    #[allow(dead_code, reason = "the library alone reads slots")]
    pub(crate) fn offset(self, [mark, low, middle, high]: [u8; 4]) -> Option<u32> {
        (mark == self.mark()).then_some(u32::from_le_bytes([low, middle, high, 0]))
    }

    fn mark(self) -> u8 {
        let [mark, ..] = self.0.to_le_bytes();
        mark
    }
}

/// Every bit of the result depends on every bit of `state`.
fn mixed(state: u64) -> u64 {
    let product = (state ^ 0x243F_6A88_85A3_08D3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let product = (product ^ (product >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    product ^ (product >> 32)
}
