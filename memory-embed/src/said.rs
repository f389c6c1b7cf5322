//! What others said, as an error repeats it: on one line, not all of it, and without keys.

use std::error::Error;

use crate::redact::redacted;

/// Characters of a service's answer that an error repeats.
const EXCERPT: usize = 300;

/// Bytes that are looked at: a key that is cut is none that is found, and no form of one is longer.
const READ: usize = 64 << 10;

/// The beginning of what a service said, on one line: it may be a whole page, and it may repeat the key that it was sent.
pub(crate) fn excerpt(text: &str) -> String {
    let begin = text.get(..text.floor_char_boundary(READ)).unwrap_or_default();
    let mut words = redacted(begin).split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(EXCERPT) {
        words.truncate(end);
        words.push('…');
    }
    words
}

/// The beginning of an answer that is not what it should be, behind what is wrong with it.
#[cfg(feature = "remote")]
pub(crate) fn misread(error: &serde_json::Error, body: &[u8]) -> String {
    // The decoder repeats values in full.
    let body = String::from_utf8_lossy(body.get(..READ).unwrap_or(body));
    let begin: String = redacted(&body).chars().take(120).collect();
    excerpt(&format!("{error}, in `{begin}`"))
}

/// The error and its causes on one line.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let line = error.to_string();
        if !text.ends_with(&line) {
            text.push_str(": ");
            text.push_str(&line);
        }
        cause = error.source();
    }
    excerpt(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keep_secret;

    #[test]
    fn a_key_at_the_end_of_an_excerpt_is_not_cut_but_taken_out() {
        keep_secret("sk-at-the-end-of-it");
        for before in 270..301 {
            let said = excerpt(&format!("{} sk-at-the-end-of-it", "x".repeat(before)));
            assert!(!said.contains("sk-"), "{said}");
        }
    }
}
