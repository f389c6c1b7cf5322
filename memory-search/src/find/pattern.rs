//! A compiled pattern with the window of text that it searches at once.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use memory_core::text::ceil_char_boundary;

use super::{Deadline, FindError};

/// Size limits of a compiled pattern in bytes, tried in order.
const SIZES: [usize; 4] = [16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Maximum product of text bytes and pattern bytes between two checks of the deadline. In the worst case the engine
/// follows every state of the pattern at every byte, which takes some tenths of a second for this product.
const WORK: usize = 1 << 30;

/// A regular expression with its window size.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// Bytes of text that are searched at once.
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

    /// Next non-empty match that begins at `from` or in the window after it. Sets `from` to the start of the next
    /// search.
    pub(super) fn next_match(&self, text: &str, from: &mut usize, deadline: &Deadline) -> Option<Range<usize>> {
        let window = self.reach / 2;
        let end = ceil_char_boundary(text, (*from).saturating_add(window));
        // Only the end is cut, because a pattern may look behind `from`.
        let seen = text.get(..ceil_char_boundary(text, end.saturating_add(window))).unwrap_or(text);
        let mut at = *from;
        let span = loop {
            let span = self.regex.find_at(seen, at).map(|found| found.range()).filter(|span| span.start < end);
            match span {
                Some(span) if span.is_empty() => at = ceil_char_boundary(text, span.end + 1),
                other => break other,
            }
            // Otherwise many empty matches, each found by scanning the whole window, would take quadratic time.
            if at >= end || deadline.is_over() {
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
