//! Places at which a text may be cut without splitting a word, a number or an emoji.

use memory_core::text::{ceil_char_boundary, floor_char_boundary};
use unicode_segmentation::GraphemeCursor;

/// Bytes within which a cut avoids words and numbers.
const NEAR: usize = 48;

/// Last place up to byte `at` where a text may be cut: before a space near by, else outside of a number near by, else
/// between characters as people see them.
#[must_use]
pub fn cut_before(text: &str, at: usize) -> usize {
    let at = floor_char_boundary(text, at);
    let near = floor_char_boundary(text, at.saturating_sub(NEAR))..=at;
    let is_at_space = |(_, after): (&str, &str)| after.is_empty() || after.starts_with(char::is_whitespace);
    nearest(text, near.rev(), is_at_space)
        .or_else(|| (0..=at).rev().find(|at| is_between_characters(text, *at)))
        .unwrap_or_default()
}

/// First place from byte `at` on where a text may be cut, by the same rule.
#[must_use]
pub fn cut_after(text: &str, at: usize) -> usize {
    let at = ceil_char_boundary(text, at);
    let near = at..=ceil_char_boundary(text, at.saturating_add(NEAR));
    let is_at_space = |(before, after): (&str, &str)| {
        before.is_empty() || before.ends_with(char::is_whitespace) || after.starts_with(char::is_whitespace)
    };
    nearest(text, near, is_at_space)
        .or_else(|| (at..=text.len()).find(|at| is_between_characters(text, *at)))
        .unwrap_or(text.len())
}

/// The first of some places that is at a space, else the first outside of a number.
fn nearest(
    text: &str,
    places: impl Iterator<Item = usize> + Clone,
    is_at_space: impl Fn((&str, &str)) -> bool,
) -> Option<usize> {
    let mut places = places.filter(|at| is_between_characters(text, *at));
    let at_space = places.clone().find(|at| is_at_space(text.split_at(*at)));
    at_space.or_else(|| places.find(|at| !is_in_number(text.split_at(*at))))
}

fn is_between_characters(text: &str, at: usize) -> bool {
    text.is_char_boundary(at) && GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0) == Ok(true)
}

fn is_in_number((before, after): (&str, &str)) -> bool {
    let (Some(before), Some(after)) = (before.chars().next_back(), after.chars().next()) else { return false };
    let is_part = |c: char| c.is_numeric() || ".,:'/-".contains(c);
    is_part(before) && is_part(after) && (before.is_numeric() || after.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_splits_no_word_no_number_and_no_emoji() {
        let text = "the price is 1234567890 euros";
        assert_eq!((&text[..cut_before(text, 18)], &text[cut_after(text, 18)..]), ("the price is", " euros"));
        let joined = format!("{}4,711,042.50{}", "x".repeat(300), "y".repeat(300));
        for at in 300..312 {
            let (before, after) = (&joined[..cut_before(&joined, at)], &joined[cut_after(&joined, at)..]);
            assert!(before.ends_with('x') && (at == 300 || after.starts_with('y')), "{at}");
        }
        let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}";
        let emoji = family.repeat(9);
        for at in 0..emoji.len() {
            assert_eq!((cut_before(&emoji, at) % family.len(), cut_after(&emoji, at) % family.len()), (0, 0));
        }
    }

    #[test]
    fn a_text_that_has_no_good_place_is_cut_between_characters() {
        let numbers = "10,20,".repeat(90);
        assert_eq!((cut_before(&numbers, 200), cut_after(&numbers, 200)), (200, 200));
        assert_eq!((cut_before(&numbers, usize::MAX), cut_after(&numbers, usize::MAX)), (540, 540));
        assert_eq!((cut_before("", 3), cut_after("", 3)), (0, 0));
        let word = "a\u{301}".repeat(90);
        assert_eq!((cut_before(&word, 100), cut_after(&word, 100)), (99, 102));
    }
}
