//! Truncates a text to a token limit.

use memory_core::{port::TokenCounter, text::floor_char_boundary};
use unicode_segmentation::UnicodeSegmentation;

/// Maximum bytes of a text that are read; no token limit of a summary allows more.
const LOOKED_AT: usize = 1 << 16;

/// `text` if it costs at most `max_tokens`, else its longest fitting prefix with `…`, cut after a clause if one ends
/// near, else after a word, else after a grapheme.
///
/// Blank only if `text` is, or if each of its characters costs more than `max_tokens`.
pub(crate) fn fit(text: &str, max_tokens: u32, counter: &dyn TokenCounter) -> String {
    let text = text.trim();
    let text = text.get(..floor_char_boundary(text, LOOKED_AT)).unwrap_or(text);
    if counter.count(text) <= max_tokens {
        return text.to_owned();
    }
    let fits = |candidate: &str| counter.count(candidate) <= max_tokens;
    longest(&word_ends(text), text, "…", &fits)
        .map(|end| at_clause(text, end, &fits))
        .or_else(|| {
            let ends: Vec<_> = text.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len()).collect();
            let bare = longest(&ends, text, "…", &fits).map(|end| with(text, end, "…"));
            bare.or_else(|| longest(&ends, text, "", &fits).map(|end| with(text, end, "")))
        })
        .or_else(|| text.chars().map(String::from).take(256).find(|c| !c.trim().is_empty() && fits(c)))
        .unwrap_or_default()
}

/// The greatest of `ends` up to which `text` with `sign` appended fits.
fn longest(ends: &[usize], text: &str, sign: &str, fits: &dyn Fn(&str) -> bool) -> Option<usize> {
    let fitting = ends.partition_point(|&end| fits(&with(text, end, sign)));
    // Counters are only nearly monotone: the result is checked, and slightly shorter ones are tried.
    ends.get(..fitting)?.iter().rev().take(4).copied().find(|&end| fits(&with(text, end, sign)))
}

fn with(text: &str, end: usize, sign: &str) -> String {
    let head = text.get(..end).unwrap_or_default().trim_end_matches([' ', ',', ';', ':', '-', '，', '、', '；']);
    format!("{head}{sign}")
}

/// Cuts at the last clause before `end` if that loses little.
fn at_clause(text: &str, end: usize, fits: &dyn Fn(&str) -> bool) -> String {
    let head = text.get(..end).unwrap_or_default();
    let clause = head.rfind([',', ';', ':', '，', '、', '；', '。']).filter(|&at| {
        let figure = head.get(at + 1..).is_some_and(|after| after.starts_with(char::is_numeric));
        at * 3 >= end * 2 && !figure
    });
    clause.map(|at| with(text, at, "…")).filter(|cut| fits(cut)).unwrap_or_else(|| with(text, end, "…"))
}

/// The ends of words by UAX #29; in scripts without spaces, nearly every character ends one.
fn word_ends(text: &str) -> Vec<usize> {
    text.unicode_word_indices().map(|(at, word)| at + word.len()).collect()
}

#[cfg(test)]
mod tests {
    use memory_core::testing::WordCounter;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_behind_a_clause_then_a_word_then_a_character() {
        assert_eq!(fit("aa bb cc dd, ee ff gg", 5, &WordCounter), "aa bb cc dd…");
        assert_eq!(fit("aaa bbb ccc ddd", 2, &WordCounter), "aaa bbb…");
        assert_eq!(fit("abcdefghijkl", 2, &WordCounter), "abcdefg…");
        assert_eq!(fit("it costs 4,200 euros now", 4, &WordCounter), "it costs…");
        assert_eq!(fit("short", 9, &WordCounter), "short");
    }

    #[test]
    fn a_family_is_not_parted() {
        let family = "👨‍👩‍👧".repeat(3);
        let cut = fit(&family, 2, &WordCounter);
        assert_eq!(cut, "👨‍👩‍👧…");
    }

    proptest! {
        #[test]
        fn the_bound_is_kept_and_something_is_said(text in "(.|\n){0,80}", max in 1u32..12) {
            let cut = fit(&text, max, &WordCounter);
            prop_assert!(WordCounter.count(&cut) <= max);
            prop_assert_eq!(cut.trim().is_empty(), text.trim().is_empty());
        }
    }
}
