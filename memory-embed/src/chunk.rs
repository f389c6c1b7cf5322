//! Splits a text that is longer than the model's input.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Quality of a cut before a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    /// Inside a word, or between a word and a mark.
    Token,
    /// Between words.
    Word,
    /// Between sentences or lines.
    Sentence,
}

/// Splits a text into chunks of at most `limit` tokens. `tokens` are the byte ranges of the tokens; chunks are ranges
/// of their indices.
///
/// A chunk ends at a sentence boundary (Unicode Standard Annex 29), otherwise at a word boundary, otherwise at a token.
/// A chunk repeats at most `overlap` tokens of the previous one: whole sentences, otherwise whole words. Every token is
/// in a chunk. A text without tokens is one empty chunk.
///
/// `overlap` must be less than `limit`.
pub(crate) fn plan_chunks(text: &str, tokens: &[Range<usize>], limit: usize, overlap: usize) -> Vec<Range<usize>> {
    if tokens.len() <= limit {
        return std::iter::once(0..tokens.len()).collect();
    }
    let borders = borders(text, tokens);
    let border = |at: &usize| borders.get(*at).copied().unwrap_or(Border::Token);
    let mut chunks = Vec::new();
    let mut start = 0;
    while tokens.len() - start > limit {
        // The last of the best borders. A cut before this range would only extend the overlap.
        let cut = (start + overlap + 1..=start + limit).max_by_key(border).unwrap_or(start + limit);
        chunks.push(start..cut);
        // The first of the best borders: `max_by_key` returns the last maximum, and the range is reversed.
        start = (cut - overlap..cut).rev().max_by_key(border).unwrap_or(cut);
    }
    chunks.push(start..tokens.len());
    chunks
}

fn borders(text: &str, tokens: &[Range<usize>]) -> Vec<Border> {
    let mut sentences = text.split_sentence_bound_indices().map(|(start, _)| start).peekable();
    let mut before = 0..0;
    tokens
        .iter()
        .map(|token| {
            let mut border = if token.start > before.end { Border::Word } else { Border::Token };
            while let Some(start) = sentences.next_if(|start| *start <= token.start) {
                if start > before.start {
                    border = Border::Sentence;
                }
            }
            before = token.clone();
            border
        })
        .collect()
}

#[cfg(test)]
mod tests;
