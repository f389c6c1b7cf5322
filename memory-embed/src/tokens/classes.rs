//! Classes of characters by which vocabularies split a text.

use unicode_general_category::{GeneralCategory, get_general_category};

/// A set of classes. A character is in one class, a line end in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Classes(u16);

impl Classes {
    /// Upper and title case.
    pub(super) const UPPER: Self = Self(1);
    pub(super) const LOWER: Self = Self(1 << 1);
    /// Letters without a case.
    pub(super) const CASELESS: Self = Self(1 << 2);
    /// Combining marks.
    pub(super) const MARK: Self = Self(1 << 3);
    pub(super) const NUMBER: Self = Self(1 << 4);
    pub(super) const SPACE: Self = Self(1 << 5);
    /// `\r` and `\n`, which are [`SPACE`](Self::SPACE) too.
    pub(super) const LINE_END: Self = Self(1 << 6);
    pub(super) const SLASH: Self = Self(1 << 7);
    const OTHER: Self = Self(1 << 8);

    pub(super) const LETTER: Self = Self::UPPER.or(Self::LOWER).or(Self::CASELESS);
    /// Neither letters nor numbers nor spaces.
    pub(super) const SYMBOL: Self = Self::MARK.or(Self::SLASH).or(Self::OTHER);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn of(c: char) -> Self {
        if c.is_whitespace() {
            return Self::SPACE;
        }
        match get_general_category(c) {
            GeneralCategory::UppercaseLetter | GeneralCategory::TitlecaseLetter => Self::UPPER,
            GeneralCategory::LowercaseLetter => Self::LOWER,
            GeneralCategory::ModifierLetter | GeneralCategory::OtherLetter => Self::CASELESS,
            GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark | GeneralCategory::EnclosingMark => {
                Self::MARK
            }
            GeneralCategory::DecimalNumber | GeneralCategory::LetterNumber | GeneralCategory::OtherNumber => {
                Self::NUMBER
            }
            _ => Self::OTHER,
        }
    }

    const fn of_ascii(byte: u8) -> Self {
        match byte {
            b'\r' | b'\n' => Self::SPACE.or(Self::LINE_END),
            b' ' | b'\t' | 0x0B | 0x0C => Self::SPACE,
            b'A'..=b'Z' => Self::UPPER,
            b'a'..=b'z' => Self::LOWER,
            b'0'..=b'9' => Self::NUMBER,
            b'/' => Self::SLASH,
            _ => Self::OTHER,
        }
    }
}

/// Classes of each ASCII character.
static ASCII: [Classes; 128] = {
    let mut classes = [Classes(0); 128];
    let (mut rest, mut byte) = (classes.as_mut_slice(), 0);
    while let Some((first, after)) = rest.split_first_mut() {
        *first = Classes::of_ascii(byte);
        (rest, byte) = (after, byte + 1);
    }
    classes
};

/// A text with lookup of characters by byte offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl Text<'_> {
    /// Classes of the character at `at`, and the offset after it; `None` at the end of the text.
    pub(super) fn at(self, at: usize) -> Option<(Classes, usize)> {
        let byte = *self.0.as_bytes().get(at)?;
        if let Some(classes) = ASCII.get(usize::from(byte)) {
            return Some((*classes, at + 1));
        }
        let c = self.0.get(at..)?.chars().next()?;
        Some((Classes::of(c), at + c.len_utf8()))
    }

    /// End of the run of characters of `classes` that begins at `at`.
    pub(super) fn run(self, mut at: usize, classes: Classes) -> usize {
        while let Some((_, end)) = self.at(at).filter(|(found, _)| found.meets(classes)) {
            at = end;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// Every character is classed as the patterns of the vocabularies do.
    #[test]
    fn classes_are_those_of_regular_expressions() {
        let classes = [
            (Classes::UPPER, r"[\p{Lu}\p{Lt}]"),
            (Classes::LOWER, r"\p{Ll}"),
            (Classes::CASELESS, r"[\p{Lm}\p{Lo}]"),
            (Classes::MARK, r"\p{M}"),
            (Classes::LETTER, r"\p{L}"),
            (Classes::NUMBER, r"\p{N}"),
            (Classes::SPACE, r"\s"),
            (Classes::LINE_END, r"[\r\n]"),
            (Classes::SLASH, "/"),
            (Classes::SYMBOL, r"[^\s\p{L}\p{N}]"),
        ];
        let all: String = ('\0'..=char::MAX).collect();
        for (classes, pattern) in classes {
            let expected: Vec<usize> =
                Regex::new(pattern).unwrap().find_iter(&all).map(|found| found.start()).collect();
            let text = Text(&all);
            let found = all.char_indices().map(|(at, _)| at).filter(|at| text.at(*at).unwrap().0.meets(classes));
            assert!(found.eq(expected), "{pattern}");
        }
    }
}
