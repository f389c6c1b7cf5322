//! Numbers and texts as checkpoints and the indexes of caches hold them.

/// Bytes being put together.
#[derive(Debug, Default)]
pub(crate) struct Out(pub(crate) Vec<u8>);

impl Out {
    /// Seven bits a byte, the lowest first; a set highest bit means that more follow (LEB128).
    #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// The difference between two numbers, small ones in few bytes whatever their sign.
    pub(crate) fn step(&mut self, from: i64, to: i64) {
        let step = to.wrapping_sub(from);
        self.number((step << 1 ^ step >> 63).cast_unsigned());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }
}

/// Bytes being decoded; `None` where they end too soon or make no sense.
#[derive(Debug)]
pub(crate) struct In<'a>(pub(crate) &'a [u8]);

impl<'a> In<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        // Most numbers are small.
        if let [byte @ 0..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Some(u64::from(*byte));
        }
        self.long_number()
    }

    fn long_number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(crate) fn step(&mut self, from: i64) -> Option<i64> {
        let step = self.number()?;
        Some(from.wrapping_add((step >> 1).cast_signed() ^ -(step & 1).cast_signed()))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }

    pub(crate) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let bytes = usize::try_from(self.number()?).ok()?;
        str::from_utf8(self.take(bytes)?).ok()
    }

    /// A count of items that take at least `least` bytes each, so that no room is made for items that cannot be there.
    pub(crate) fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count.checked_mul(least)? <= self.0.len()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_and_steps_come_back(numbers in prop::collection::vec(any::<(u64, i64, i64)>(), 0..20)) {
            let mut out = Out::default();
            for (number, from, to) in &numbers {
                out.number(*number);
                out.step(*from, *to);
            }
            let mut bytes = In(&out.0);
            for (number, from, to) in numbers {
                prop_assert_eq!(bytes.number(), Some(number));
                prop_assert_eq!(bytes.step(from), Some(to));
            }
            prop_assert_eq!(bytes.number(), None);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = In(&bytes);
            while bytes.number().is_some() && bytes.text().is_some() {}
            prop_assert!(bytes.count(1).is_none_or(|count| count <= bytes.0.len()));
        }
    }
}
