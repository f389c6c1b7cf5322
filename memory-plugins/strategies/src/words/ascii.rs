//! Fast path for words of ASCII letters and digits, read byte by byte.

use super::{Form, NO_KEY, extended};

/// A word, all ASCII and without joints.
pub(super) struct Found {
    /// In bytes.
    pub length: usize,
    pub key: u64,
    pub form: Form,
}

/// A set of byte properties.
type ByteClass = u8;

const LOWER: ByteClass = 1;
const UPPER: ByteClass = 1 << 1;
const DIGIT: ByteClass = 1 << 2;
const UNDERSCORE: ByteClass = 1 << 3;
/// Belongs to a word depending on its neighbours.
const JOINT: ByteClass = 1 << 4;
const BEYOND_ASCII: ByteClass = 1 << 5;
const WORD: ByteClass = LOWER | UPPER | DIGIT | UNDERSCORE;

#[expect(clippy::indexing_slicing, reason = "a table of all bytes has a place for each")]
const CLASSES: [ByteClass; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < classes.len() {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let class = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'\'' | b'-' | b'.' | b'/' | b'@' | b'\\' | b',' | b':' | b'%' => JOINT,
            0x80.. => BEYOND_ASCII,
            _ => 0,
        };
        classes[byte] = class;
        byte += 1;
    }
    classes
};

#[expect(clippy::indexing_slicing, reason = "a table of all bytes has a place for each")]
fn class(byte: u8) -> ByteClass {
    CLASSES[usize::from(byte)]
}

/// The number of bytes before the first that may begin a word.
#[inline]
pub(super) fn gap(text: &[u8]) -> usize {
    text.iter().position(|&byte| class(byte) & (WORD | BEYOND_ASCII) != 0).unwrap_or(text.len())
}

/// The word at the beginning of `text`, unless its end depends on more than ASCII letters, digits and `_`.
#[inline]
pub(super) fn word(text: &[u8]) -> Option<Found> {
    let (mut seen, mut length) = (0, 0);
    let (mut key, mut key_before) = (NO_KEY, NO_KEY);
    for &byte in text {
        let class = class(byte);
        if class & WORD == 0 {
            if class & BEYOND_ASCII != 0 || (class & JOINT != 0 && may_go_on(text, length)) {
                return None;
            }
            break;
        }
        // A capital within a word means something else than an initial one.
        seen |= if length == 0 { class & !UPPER } else { class };
        key_before = key;
        key = extended(key, u32::from(byte.to_ascii_lowercase()));
        length += 1;
    }
    let first = text.first().filter(|_| length > 0)?;
    let form = if seen & DIGIT != 0 {
        Form::Figure
    } else if seen & UNDERSCORE != 0 || seen & (UPPER | LOWER) == UPPER | LOWER {
        Form::Identifier
    } else if first.is_ascii_uppercase() {
        Form::Capital
    } else {
        Form::Plain
    };
    let key = if ends_in_plural(text.get(..length)?) { key_before } else { key };
    Some(Found { length, key, form })
}

/// True if the joint at `joint` might be part of a word that continues after it.
fn may_go_on(text: &[u8], joint: usize) -> bool {
    text.get(joint) == Some(&b'%')
        || text.get(joint + 1).is_some_and(|&after| class(after) & (WORD | BEYOND_ASCII) != 0)
}

/// True if the final s of a word is excluded from its key.
pub(super) fn ends_in_plural(word: &[u8]) -> bool {
    match word {
        // "URLs", "DOIs"
        [.., b'A'..=b'Z', b's'] => word.len() > 2,
        [.., before, b's' | b'S'] => word.len() > 3 && !matches!(before | 0x20, b's' | b'u' | b'i' | b'\''),
        _ => false,
    }
}
