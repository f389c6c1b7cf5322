//! A compiled pattern, and how much of a text it is let loose on at a time.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::{Clock, FindError};

/// Bytes that a compiled pattern may take: what is too large for one is tried with the next.
const SIZES: [usize; 4] = [16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// The most that bytes of a text, times bytes of the pattern, come to between two looks at the clock. In the worst case
/// the engine follows every state of the pattern at every byte; measured with patterns made to have it do so, this much
/// takes some tenths of a second.
const WORK: usize = 1 << 30;

/// A regular expression, and how far it may look.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// Bytes of text that it is given at a time.
    reach: usize,
}

impl Pattern {
    pub(super) fn compile(pattern: &str) -> Result<Self, FindError> {
        let mut why = regex::Error::CompiledTooBig(0);
        for size in SIZES {
            match RegexBuilder::new(pattern).multi_line(true).size_limit(size).build() {
                Ok(regex) => return Ok(Self { regex, reach: WORK / size }),
                Err(error) => why = error,
            }
            if !matches!(why, regex::Error::CompiledTooBig(_)) {
                break;
            }
        }
        Err(FindError::Pattern { pattern: pattern.to_owned(), why })
    }

    /// The next match that is not empty and begins at `from` or in the window behind it; `from` is moved on to where to
    /// look next.
    pub(super) fn next_match(&self, text: &str, from: &mut usize, clock: &Clock) -> Option<Range<usize>> {
        let window = self.reach / 2;
        let end = text.ceil_char_boundary((*from).saturating_add(window));
        // What a match may reach up to. It begins where it did, for what a pattern asks of the text before.
        let seen = text.get(..text.ceil_char_boundary(end.saturating_add(window))).unwrap_or(text);
        let mut at = *from;
        let span = loop {
            let span = self.regex.find_at(seen, at).map(|found| found.range()).filter(|span| span.start < end);
            match span {
                Some(span) if span.is_empty() => at = text.ceil_char_boundary(span.end + 1),
                other => break other,
            }
            // Many empty matches, each found by a look at all of the window, take the square of its length.
            if at >= end || clock.is_over() {
                *from = at;
                return None;
            }
        };
        *from = span.as_ref().map_or(end, |span| span.end);
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_a_pattern_the_less_text_it_is_given() {
        let reach = |pattern: &str| Pattern::compile(pattern).unwrap().reach;
        assert_eq!(reach("QX-[0-9]+"), 64 << 10);
        assert_eq!(reach(r"(?s)begin.*end\."), 64 << 10);
        assert_eq!(reach(r"\w+"), 16 << 10);
        assert_eq!(reach(r"\w+@\w+\.\w+"), 4 << 10);
        assert_eq!(reach("(?:[ab]*a[ab]{12000})+c"), 1 << 10);
    }

    #[test]
    fn a_pattern_too_large_is_refused_and_a_wrong_one_at_once() {
        let why = |pattern: &str| match Pattern::compile(pattern) {
            Err(FindError::Pattern { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert!(matches!(why("(?:a{1000}){1000}"), regex::Error::CompiledTooBig(_)));
        assert!(matches!(why("(a"), regex::Error::Syntax(_)));
    }
}
