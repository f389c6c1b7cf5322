//! Variable-length integers (LEB128) and length-prefixed text.

/// Appends `number`; returns its encoded length.
pub(super) fn write_number(out: &mut Vec<u8>, number: u32) -> usize {
    write_long(out, u64::from(number))
}

/// Reads a number from the front; `None` if there is none or it is too large.
pub(super) fn read_number(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(read_long(bytes)?).ok()
}

/// As [`write_number`], with up to 64 bits.
pub(super) fn write_long(out: &mut Vec<u8>, mut number: u64) -> usize {
    let before = out.len();
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7F);
            return out.len() - before;
        }
        out.push(low | 0x80);
    }
}

/// As [`read_number`], with up to 64 bits.
pub(super) fn read_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7F);
        // The tenth group has room for a single bit.
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Appends a text and its length.
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    write_long(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads a text from the front.
pub(super) fn read_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(read_long(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_read_back(numbers in prop::collection::vec(any::<u64>(), 0..20), text in ".{0,9}") {
            let mut bytes = Vec::new();
            let written: usize = numbers.iter().map(|&number| write_long(&mut bytes, number)).sum();
            prop_assert_eq!(written, bytes.len());
            write_text(&mut bytes, &text);
            let mut rest = bytes.as_slice();
            for number in numbers {
                prop_assert_eq!(read_long(&mut rest), Some(number));
            }
            prop_assert_eq!(read_text(&mut rest), Some(&*text));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut rest = bytes.as_slice();
            if let Some(number) = read_long(&mut rest) {
                let mut again = Vec::new();
                // Nothing shorter says more.
                prop_assert!(write_long(&mut again, number) <= bytes.len() - rest.len());
            }
            let _ = read_text(&mut bytes.as_slice());
        }
    }
}
