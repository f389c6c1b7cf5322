//! Text as it is searched: letters composed with their accents, plain spaces, no invisible characters.

use std::{borrow::Cow, ops::Range};

use unicode_normalization::{IsNormalized, UnicodeNormalization, char::is_combining_mark, is_nfc_quick};

/// A text in this form, with the places of its characters in the original.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    pub(super) text: Cow<'a, str>,
    /// For each character its offset here, and its bytes in the original; empty if nothing was changed.
    places: Vec<(usize, Range<usize>)>,
}

/// True for a space that is not the plain one.
fn is_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// True for soft hyphens, joiners, and marks of direction.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// True if a character belongs to the letter before it: an accent, a vowel sign, a later part of a Korean syllable.
fn goes_on(c: char) -> bool {
    is_combining_mark(c) || ('\u{1160}'..='\u{11ff}').contains(&c)
}

impl<'a> Plain<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let is_same = |c: char| !is_space(c) && !is_invisible(c);
        if text.is_ascii() || text.chars().all(is_same) && is_nfc_quick(text.chars()) == IsNormalized::Yes {
            return Self::unchanged(text);
        }
        let mut plain = Self { text: Cow::Owned(String::with_capacity(text.len())), places: Vec::new() };
        let mut chars = text.char_indices().peekable();
        while let Some((start, first)) = chars.next() {
            if is_invisible(first) {
                continue;
            }
            let (mut letter, mut end) = (String::from(first), start + first.len_utf8());
            // Invisible characters may stand between a letter and its accent.
            while let Some((at, next)) = chars.next_if(|(_, next)| goes_on(*next) || is_invisible(*next)) {
                if !is_invisible(next) {
                    letter.push(next);
                    end = at + next.len_utf8();
                }
            }
            letter.nfc().for_each(|c| plain.push(if is_space(c) { ' ' } else { c }, start..end));
        }
        plain
    }

    /// The text as it is.
    pub(super) const fn unchanged(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), places: Vec::new() }
    }

    fn push(&mut self, c: char, original: Range<usize>) {
        self.places.push((self.text.len(), original));
        self.text.to_mut().push(c);
    }

    /// The bytes of the original that a part of this text stands for.
    pub(super) fn original(&self, span: &Range<usize>) -> Range<usize> {
        let at = |offset: usize| {
            let number = self.places.partition_point(|(here, _)| *here <= offset).checked_sub(1)?;
            self.places.get(number).map(|(_, original)| original.clone())
        };
        match (at(span.start), at(span.end.saturating_sub(1))) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => span.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_stand_for_their_bytes_in_the_original() {
        let check = |text: &str, plain: &str, part: &str, original: &str| {
            let read = Plain::of(text);
            assert_eq!(read.text, plain);
            let start = plain.find(part).unwrap();
            assert_eq!(&text[read.original(&(start..start + part.len()))], original);
        };
        check("Cafe\u{301} zwei", "Café zwei", "fé", "fe\u{301}");
        check("a zero\u{200b}width b", "a zerowidth b", "zerowidth", "zero\u{200b}width");
        check("1\u{202f}000 \u{feff}x", "1 000 x", "1 000", "1\u{202f}000");
        check("\u{1112}\u{1161}\u{11ab} x", "한 x", "한", "\u{1112}\u{1161}\u{11ab}");
        check("plain é", "plain é", "é", "é");
    }

    proptest! {
        #[test]
        fn every_part_of_any_text_is_within_it(text in "[a-e\u{301}\u{ad}\u{200b}\u{a0}é한\u{1161}]{0,12}") {
            let read = Plain::of(&text);
            let offsets: Vec<_> = read.text.char_indices().map(|(at, c)| at..at + c.len_utf8()).collect();
            for span in offsets {
                prop_assert!(text.get(read.original(&span)).is_some_and(|part| !part.is_empty()));
            }
            let form = Plain::of(&read.text).text.into_owned();
            prop_assert_eq!(form, read.text.into_owned());
        }
    }
}
