//! Boundaries at which a text may be cut: the methods of `str` since Rust 1.91, for older versions.

/// The last boundary of a character that is at most `at`, in bytes.
#[must_use]
pub fn floor_char_boundary(text: &str, at: usize) -> usize {
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    if at >= text.len() { text.len() } else { (0..=at).rev().find(is_boundary).unwrap_or(0) }
}

/// The first boundary of a character that is at least `at`, or the end of the text, in bytes.
#[must_use]
pub fn ceil_char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_those_of_the_standard_library() {
        for text in ["", "a", "é", "日本 a", "a\u{1F600}b"] {
            for at in (0..text.len() + 3).chain([usize::MAX]) {
                assert_eq!(floor_char_boundary(text, at), text.floor_char_boundary(at), "{text:?} at {at}");
                assert_eq!(ceil_char_boundary(text, at), text.ceil_char_boundary(at), "{text:?} at {at}");
            }
        }
    }
}
