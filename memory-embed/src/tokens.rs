//! The token counter of tiktoken vocabularies.

use std::{collections::HashSet, fmt};

use memory_core::TokenCounter;
use tiktoken_rs::CoreBPE;

/// Bytes of a window, after which a text is cut at the next seam.
const WINDOW: usize = 64 << 10;

/// Bytes of a window, at most: without a seam the text is cut anywhere. Below the million steps at which the
/// tokenizer's regular expressions give up.
const LONGEST_WINDOW: usize = 128 << 10;

/// A vocabulary, compiled into the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// 100,000 tokens.
    Cl100kBase,
    /// 200,000 tokens.
    O200kBase,
}

impl Encoding {
    /// Its tiktoken name, as in `cl100k_base`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cl100kBase => "cl100k_base",
            Self::O200kBase => "o200k_base",
        }
    }

    fn bpe(self) -> &'static CoreBPE {
        match self {
            Self::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
            Self::O200kBase => tiktoken_rs::o200k_base_singleton(),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Counts tokens as models with a tiktoken vocabulary do.
///
/// Construction is free: the vocabulary is loaded at the first count, once in a process. Special tokens such as
/// `<|endoftext|>` count as ordinary text.
///
/// Counts are exact for texts in which a word ends before a space or punctuation at least every 64 KiB. A longer run is
/// cut every 128 KiB to bound its cost; each such cut changes the count by a few tokens.
///
/// ```
/// use memory_core::TokenCounter;
/// use memory_embed::TiktokenCounter;
///
/// assert_eq!(TiktokenCounter::cl100k().count("tiktoken is great!"), 6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TiktokenCounter {
    encoding: Encoding,
}

impl TiktokenCounter {
    /// A counter by `encoding`.
    #[must_use]
    pub const fn new(encoding: Encoding) -> Self {
        Self { encoding }
    }

    /// A counter by `cl100k_base`.
    #[must_use]
    pub const fn cl100k() -> Self {
        Self::new(Encoding::Cl100kBase)
    }

    /// A counter by `o200k_base`.
    #[must_use]
    pub const fn o200k() -> Self {
        Self::new(Encoding::O200kBase)
    }

    /// Its vocabulary.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }
}

impl TokenCounter for TiktokenCounter {
    fn name(&self) -> &str {
        self.encoding.name()
    }

    // The splitting patterns of both vocabularies match nothing across a line end except white space and, in one of
    // them, a `/`.
    fn adds_up_at_lines(&self) -> bool {
        true
    }

    fn count(&self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let bpe = self.encoding.bpe();
        let no_special = HashSet::new();
        let count: usize = Windows::new(text, WINDOW, LONGEST_WINDOW)
            .map(|window| match bpe.encode(window, &no_special) {
                Ok((tokens, _)) => tokens.len(),
                // An upper bound: a token has at least one byte.
                Err(_) => window.len(),
            })
            .sum();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

/// The consecutive pieces of a text, cut at seams.
struct Windows<'a> {
    rest: &'a str,
    window: usize,
    longest: usize,
}

impl<'a> Windows<'a> {
    fn new(text: &'a str, window: usize, longest: usize) -> Self {
        Self { rest: text, window, longest }
    }
}

impl<'a> Iterator for Windows<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let cut = if self.rest.len() <= self.window {
            self.rest.len()
        } else {
            seam(self.rest, self.window).filter(|cut| *cut <= self.longest).unwrap_or_else(|| {
                // At least one character.
                let first = self.rest.chars().next().map_or(0, char::len_utf8);
                self.rest.floor_char_boundary(self.longest).max(first)
            })
        };
        let (window, rest) = self.rest.split_at(cut);
        self.rest = rest;
        Some(window)
    }
}

/// The first seam at or after byte `from`: an offset where a cut does not change the tokens.
///
/// The vocabularies' splitting patterns never match a word's last letter together with a following blank or a following
/// mark other than an apostrophe. They do not look back, and look ahead only inside a run of blanks.
fn seam(text: &str, from: usize) -> Option<usize> {
    let from = text.floor_char_boundary(from);
    let tail = text.get(from..)?;
    let mut before = None;
    for (at, c) in tail.char_indices() {
        if before.is_some_and(ends_a_word) && begins_a_gap(c) {
            return Some(from + at);
        }
        before = Some(c);
    }
    None
}

/// Letters and digits that never combine with the next character of a gap.
fn ends_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

fn begins_a_gap(c: char) -> bool {
    match c {
        '\'' => false,
        ' ' | '\t' | '、' | '。' | '，' | '！' | '？' => true,
        _ => c.is_ascii_punctuation(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COUNTERS: [TiktokenCounter; 2] = [TiktokenCounter::cl100k(), TiktokenCounter::o200k()];

    fn whole(counter: TiktokenCounter, text: &str) -> u32 {
        u32::try_from(counter.encoding.bpe().encode_ordinary(text).len()).unwrap()
    }

    #[test]
    fn counts_what_the_reference_counts() {
        // Counts by the Python package tiktoken 0.14.0.
        for (text, cl100k, o200k) in REFERENCE {
            assert_eq!(TiktokenCounter::cl100k().count(text), *cl100k, "{text:?}");
            assert_eq!(TiktokenCounter::o200k().count(text), *o200k, "{text:?}");
        }
    }

    const REFERENCE: &[(&str, u32, u32)] = &[
        ("tiktoken is great!", 6, 6),
        ("hello world", 2, 2),
        ("<|endoftext|>", 7, 7),
        ("日本語の文章を数える。", 11, 8),
        ("fn main() {\n    println!(\"it's {}\", 1_000);\n}\n", 16, 15),
        ("antidisestablishmentarianism 1234567 don't WE'LL", 15, 14),
        ("\n\n   \t  x", 4, 4),
        ("naïve café 👍🏽", 9, 7),
        (" ", 1, 1),
    ];

    #[test]
    fn special_tokens_are_ordinary_text() {
        for counter in COUNTERS {
            assert_eq!(counter.count("<|endoftext|>"), whole(counter, "<|endoftext|>"));
            assert!(counter.count("<|endoftext|>") > 3);
        }
    }

    #[test]
    fn the_empty_text_costs_nothing() {
        assert_eq!(TiktokenCounter::cl100k().count(""), 0);
    }

    #[test]
    fn a_huge_run_is_counted_to_a_few_tokens() {
        for counter in COUNTERS {
            for unit in ["a", "aB", " ", "\n", " \n", "\t", "!", "é", "漢", "7", "👍", "\u{300}", "'s"] {
                let text = unit.repeat(LONGEST_WINDOW * 5 / 4 / unit.len());
                let off = counter.count(&text).abs_diff(whole(counter, &text));
                assert!(off <= 4, "{unit:?}: off by {off}");
            }
        }
    }

    #[test]
    fn a_long_document_is_counted_exactly() {
        let paragraph = "The cache was cold, so p99 rose to 412 ms.\n\n    fn main() { println!(\"it's {}\", 1_000); }\n日本語の文。\t";
        let text = paragraph.repeat(3 * WINDOW / paragraph.len());
        for counter in COUNTERS {
            assert_eq!(counter.count(&text), whole(counter, &text));
        }
    }

    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-zA-Z]{1,8}",
            "[0-9]{1,5}",
            "[ \t\r\n]{1,4}",
            "[!-/:-@\\[-`{-~]{1,3}",
            "[、。，！？ぁ-んァ-ヶ一-龥가-힣]{1,4}",
            "'(s|t|re|ve|m|ll|d|S|T)",
            "\\PC{1,3}",
            Just("\u{301}".to_owned()),
            Just("\u{3000}".to_owned()),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn cutting_at_seams_changes_no_count(text in texts(), window in 1usize..40) {
            for counter in COUNTERS {
                let pieces: Vec<&str> = Windows::new(&text, window, usize::MAX).collect();
                prop_assert_eq!(pieces.concat(), text.clone());
                let sum: u32 = pieces.iter().map(|piece| whole(counter, piece)).sum();
                prop_assert_eq!(sum, whole(counter, &text), "{:?}", pieces);
            }
        }

        #[test]
        fn windows_are_bounded_and_lose_nothing(text in "\\PC{0,200}", window in 1usize..20, longest in 1usize..20) {
            let pieces: Vec<&str> = Windows::new(&text, window, longest).collect();
            prop_assert_eq!(pieces.concat(), text.clone());
            prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
            prop_assert!(pieces.iter().all(|piece| piece.len() <= window.max(longest).max(4)));
        }
    }

    proptest! {
        #[test]
        fn parts_that_end_with_a_line_end_add_up(parts in prop::collection::vec((texts(), prop::sample::select(vec!["[", "N", "-", "Ü"])), 1..5)) {
            let parts: Vec<_> = parts.into_iter().map(|(text, begin)| format!("{begin}{text}\n")).collect();
            for counter in COUNTERS {
                let sum: u32 = parts.iter().map(|part| counter.count(part)).sum();
                prop_assert_eq!(sum, counter.count(&parts.concat()));
            }
        }
    }
}
