//! Reads the values of a message one after the other, as bincode wrote them.
//!
//! bincode's own decoder takes longer for a message than its checksum, its UTF-8 and its allocations together. This one
//! trusts no count before its bytes are present, so that none can claim memory.

/// The remaining bytes. Every method returns `None` if they do not hold the requested value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// True if nothing is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `N` bytes, for arrays and integers of fixed length.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.array_ref().copied()
    }

    /// [`Self::array`], borrowed.
    #[inline]
    pub(super) fn array_ref<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(array)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }

    #[inline]
    pub(super) fn bool(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// A variable-length integer: up to 250 in one byte; 251, 252, 253 in front of 2, 4, 8 bytes.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        match self.byte()? {
            small @ 0..=250 => Some(u64::from(small)),
            251 => self.array().map(u16::from_le_bytes).map(u64::from),
            252 => self.array().map(u32::from_le_bytes).map(u64::from),
            253 => self.array().map(u64::from_le_bytes),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn varint_u32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    /// A signed variable-length integer, in zigzag.
    #[inline]
    pub(super) fn varint_i64(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    #[inline]
    pub(super) fn text(&mut self) -> Option<&'a str> {
        simdutf8::basic::from_utf8(self.bytes()?).ok()
    }

    /// 0, or 1 and the value.
    #[inline]
    pub(super) fn option<T>(&mut self, value: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.bool()? { value(self).map(Some) } else { Some(None) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::format::codec::wire::CONFIG;

    fn written(value: impl bincode::Encode) -> Vec<u8> {
        bincode::encode_to_vec(value, CONFIG).unwrap()
    }

    proptest! {
        #[test]
        fn values_are_read_as_bincode_writes_them(
            bits in any::<u64>(), shift in 0u32..64, signed in any::<i64>(), text in ".{0,300}", float in any::<f32>(),
            option in any::<Option<bool>>(), array in any::<[u8; 16]>(),
        ) {
            let (unsigned, signed) = (bits >> shift, signed >> shift);
            let bytes = written((unsigned, signed, text.as_str(), float, option, array, text.as_bytes()));
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.varint(), Some(unsigned));
            prop_assert_eq!(cursor.varint_i64(), Some(signed));
            prop_assert_eq!(cursor.text(), Some(&*text));
            prop_assert_eq!(cursor.f32().map(f32::to_bits), Some(float.to_bits()));
            prop_assert_eq!(cursor.option(Cursor::bool), Some(option));
            prop_assert_eq!(cursor.array(), Some(array));
            prop_assert_eq!(cursor.bytes(), Some(text.as_bytes()));
            prop_assert!(cursor.is_at_end());
        }

        #[test]
        fn whatever_bincode_refuses_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let text = bincode::borrow_decode_from_slice::<&str, _>(&bytes, CONFIG).is_ok();
            let integer = bincode::borrow_decode_from_slice::<u64, _>(&bytes, CONFIG).is_ok();
            let option = bincode::borrow_decode_from_slice::<Option<bool>, _>(&bytes, CONFIG).is_ok();
            prop_assert_eq!(Cursor::new(&bytes).text().is_some(), text);
            prop_assert_eq!(Cursor::new(&bytes).varint().is_some(), integer);
            prop_assert_eq!(Cursor::new(&bytes).option(Cursor::bool).is_some(), option);
        }
    }
}
