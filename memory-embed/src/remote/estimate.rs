//! Estimates tokens for models without a local tokenizer, and cuts texts by them.

use std::ops::Range;

use crate::chunk::plan_chunks;

/// Embedded instead of a blank text, because services refuse an empty one.
const PLACEHOLDER: &str = ".";

/// Maximum letters of a natural word; vocabularies contain few longer ones.
const MAX_WORD: usize = 20;

/// Method of counting tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenCount {
    /// An estimate: somewhat more than tokenizers count for prose and code in the Latin alphabet, and about the same
    /// for others.
    Estimated,
    /// One token per byte, which no tokenizer exceeds.
    Bytes,
}

/// Cuts a text into overlapping chunks of at most `limit` tokens at sentence boundaries, with [`plan_chunks`]. Every
/// character except blanks is in a chunk. There is at least one chunk, and none is blank.
pub(super) fn chunks_of(text: &str, count: TokenCount, limit: usize, overlap: usize) -> Vec<&str> {
    let pieces = match count {
        TokenCount::Estimated => estimated(text),
        TokenCount::Bytes => bytes(text),
    };
    let chunks: Vec<&str> = plan_chunks(text, &pieces, limit, overlap.min(limit / 2))
        .into_iter()
        .filter_map(|chunk| {
            let (first, last) = (pieces.get(chunk.start)?, pieces.get(chunk.end.checked_sub(1)?)?);
            let chunk = text.get(first.start..last.end)?.trim();
            (!chunk.is_empty()).then_some(chunk)
        })
        .collect();
    if chunks.is_empty() { vec![PLACEHOLDER] } else { chunks }
}

pub(super) fn estimated_tokens(text: &str) -> usize {
    estimated(text).len()
}

/// One token per byte. All tokens of a character end where it ends, so that cuts are between characters.
fn bytes(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        push_char(&mut pieces, at, c, c.len_utf8());
    }
    pieces
}

fn push_char(pieces: &mut Vec<Range<usize>>, at: usize, c: char, tokens: usize) {
    let end = at + c.len_utf8();
    pieces.push(at..end);
    pieces.extend((1..tokens).map(|_| end..end));
}

/// Estimated tokens: at most 3 letters and a blank each, so that a chunk has at most 4 characters per token.
fn estimated(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(text.len() / 3);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let word = if first.is_ascii_alphanumeric() {
            rest.bytes().take_while(u8::is_ascii_alphanumeric).count()
        } else if first.is_whitespace() {
            rest.chars().take_while(|c| c.is_whitespace()).map(char::len_utf8).sum()
        } else {
            first.len_utf8()
        };
        let (run, after) = rest.split_at(word);
        rest = after;
        if first.is_whitespace() {
            push_blanks(&mut pieces, at, run);
        } else if first.is_ascii_alphanumeric() {
            let end = at + word;
            let step = letters_per_token(run);
            pieces.extend((at..end).step_by(step).map(|start| start..end.min(start + step)));
        } else {
            // Outside of ASCII a character has about one token fewer than bytes. An ASCII mark is one token.
            push_char(&mut pieces, at, first, first.len_utf8().saturating_sub(1).max(1));
        }
    }
    pieces
}

/// Characters per token of a run of letters and digits.
fn letters_per_token(run: &str) -> usize {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 && run.len() <= MAX_WORD {
        3
    } else if digits == run.len() {
        2
    } else {
        // Hexadecimal, base64 and made-up names: vocabularies contain hardly any of their pairs of letters.
        1
    }
}

/// A single blank belongs to the next word. Several blanks, and line ends, are tokens of some models.
fn push_blanks(pieces: &mut Vec<Range<usize>>, at: usize, run: &str) {
    if run == " " {
        return;
    }
    let ends: Vec<usize> = run.char_indices().map(|(offset, c)| at + offset + c.len_utf8()).collect();
    let mut start = at;
    for four in ends.chunks(3) {
        let end = four.last().copied().unwrap_or(start);
        pieces.push(start..end);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_estimate_is_not_below_a_real_tokenizer() {
        #[cfg(feature = "tokens")]
        {
            use memory_core::port::TokenCounter;
            let counter = crate::TiktokenCounter::cl100k();
            for text in [
                "The deploy failed because the disk was full, and nobody had looked at the dashboards since May.",
                "fn f(x: u8) -> u8 {\n    x.wrapping_add(1)\n}\n",
                "f81d4fae-7dec-11d0-a765-00a0c91e6bf6 QmFzZTY0IGlzIGEgZ3JvdXAgb2YgYmluYXJ5",
                "会議は月曜日に延期されました。",
                "Совещание перенесено на понедельник.",
                "👍🏽 done 🎉🎉",
                "{\"k\":1,\"list\":[12345678,2.5e-7]}",
                "   \n\n\n\t\t x",
                "Donaudampfschifffahrtsgesellschaftskapitaen",
            ] {
                let exact = usize::try_from(counter.count(text)).unwrap();
                let estimate = estimated_tokens(text);
                assert!(estimate >= exact, "{text:?}: {estimate} estimated, {exact} counted");
                assert!(estimate <= 4 * exact, "{text:?}: {estimate} estimated, {exact} counted");
            }
        }
    }

    #[test]
    fn a_blank_text_becomes_a_full_stop() {
        for text in ["", " ", "\n\t \n"] {
            assert_eq!(chunks_of(text, TokenCount::Estimated, 16, 2), ["."]);
            assert_eq!(chunks_of(text, TokenCount::Bytes, 16, 2), ["."]);
        }
    }

    #[test]
    fn cuts_stand_between_sentences() {
        let text = "Ann went. Bob came home. Cy is in the house.";
        assert_eq!(chunks_of(text, TokenCount::Estimated, 10, 0), ["Ann went. Bob came home.", "Cy is in the house."]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_chunk_is_too_long(
            text in "([a-z]{1,30}|[0-9a-f]{1,40}|[ \n]{1,9}|[.,;{}]|\\PC){0,60}",
            limit in 16usize..60,
        ) {
            for count in [TokenCount::Estimated, TokenCount::Bytes] {
                let chunks = chunks_of(&text, count, limit, 4);
                for chunk in &chunks {
                    prop_assert!(!chunk.trim().is_empty());
                    match count {
                        TokenCount::Estimated => prop_assert!(chunk.chars().count() <= 4 * limit),
                        // A cut may fall among the tokens of one character.
                        TokenCount::Bytes => prop_assert!(chunk.len() <= limit + 3),
                    }
                }
                if !text.trim().is_empty() {
                    let mut covered = 0;
                    for chunk in chunks {
                        let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
                        prop_assert!(start <= covered || text[covered..start].trim().is_empty(), "a gap");
                        covered = covered.max(start + chunk.len());
                    }
                    prop_assert!(text[covered..].trim().is_empty(), "the end is lost");
                }
            }
        }
    }
}
