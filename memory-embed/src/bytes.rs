//! Reads numbers from bytes that may end anywhere.

/// Reads little-endian numbers one after the other; every method returns `None` after the last byte.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// A number of 32 bits that counts bytes or elements.
    pub(crate) fn length(&mut self) -> Option<usize> {
        self.u32().and_then(|length| usize::try_from(length).ok())
    }

    pub(crate) fn u32s(&mut self, count: usize) -> Option<Vec<u32>> {
        let (numbers, _) = self.take(count.checked_mul(4)?)?.as_chunks();
        Some(numbers.iter().copied().map(u32::from_le_bytes).collect())
    }

    pub(crate) fn f32s(&mut self, count: usize) -> Option<Vec<f32>> {
        let (numbers, _) = self.take(count.checked_mul(4)?)?.as_chunks();
        Some(numbers.iter().copied().map(f32::from_le_bytes).collect())
    }

    pub(crate) fn f64s(&mut self, count: usize) -> Option<Vec<f64>> {
        let (numbers, _) = self.take(count.checked_mul(8)?)?.as_chunks();
        Some(numbers.iter().copied().map(f64::from_le_bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_order_and_none_beyond_the_end() {
        let bytes = [1, 2, 0, 3, 0, 0, 0, 0, 0x80, 0x3f];
        let mut cursor = Cursor::new(&bytes);
        assert_eq!((cursor.u8(), cursor.u16(), cursor.length()), (Some(1), Some(2), Some(3)));
        // A read that does not fit takes nothing.
        assert_eq!((cursor.u32s(1), cursor.f32(), cursor.u64()), (None, None, None));
        assert_eq!((cursor.u32s(usize::MAX), cursor.f64s(usize::MAX), cursor.f32s(0)), (None, None, Some(Vec::new())));
        assert_eq!(cursor.take(4), None);
        assert_eq!(cursor.take(3), Some([0, 0x80, 0x3f].as_slice()));
    }
}
