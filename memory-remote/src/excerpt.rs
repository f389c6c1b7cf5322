//! Excerpts of foreign messages for errors: one line, shortened and redacted.

use std::{error::Error, fmt::Display};

use crate::redact::redacted;

/// Maximum characters of an excerpt.
const EXCERPT: usize = 300;

/// Bytes that are redacted before the excerpt is cut, because redaction does not recognize a truncated key.
const READ: usize = 64 << 10;

/// Beginning of a service's message on one line. The message may be a whole page and may repeat the key.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let begin = text.get(..text.floor_char_boundary(READ)).unwrap_or_default();
    let mut words = redacted(begin).split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(EXCERPT) {
        words.truncate(end);
        words.push('…');
    }
    words
}

/// A decoding error with the beginning of the response.
#[must_use]
pub fn decode_error(error: &dyn Display, body: &[u8]) -> String {
    // The decoder's message may quote values in full.
    let body = String::from_utf8_lossy(body.get(..READ).unwrap_or(body));
    let begin: String = redacted(&body).chars().take(120).collect();
    excerpt(&format!("{error}, in `{begin}`"))
}

/// An error and its causes.
pub fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// An error and its causes on one line.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for line in causes(error).map(ToString::to_string) {
        if text.is_empty() {
            text = line;
        } else if !text.ends_with(&line) {
            text = format!("{text}: {line}");
        }
    }
    excerpt(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keep_secret;

    #[test]
    fn a_key_at_the_end_of_an_excerpt_is_not_cut_but_redacted() {
        keep_secret("sk-at-the-end-of-it");
        for before in 270..301 {
            let said = excerpt(&format!("{} sk-at-the-end-of-it", "x".repeat(before)));
            assert!(!said.contains("sk-"), "{said}");
        }
    }
}
