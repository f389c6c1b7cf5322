//! Where a text longer than the model's input is cut.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// How good a place to cut is before a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    /// Inside a word, or between a word and a mark.
    Token,
    /// Between words.
    Word,
    /// Between sentences or lines.
    Sentence,
}

/// Splits a text into chunks of at most `limit` tokens, given as ranges of `tokens`: the bytes that each stands for.
///
/// A chunk ends with a sentence (Unicode Standard Annex 29), or, where a sentence is too long for that, with a word,
/// or, where there are no words either, with a token. It begins with the last sentences of the chunk before it, or, if
/// the last one is longer, with its last words: at most `overlap` tokens. Every token is in a chunk, and a text without
/// tokens is one empty chunk.
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
        // The last of the best borders. Any earlier than this, nothing new would stand beside the overlap.
        let cut = (start + overlap + 1..=start + limit).max_by_key(border).unwrap_or(start + limit);
        chunks.push(start..cut);
        // The first of the best borders, as `max_by_key` gives the last it meets.
        start = (cut - overlap..cut).rev().max_by_key(border).unwrap_or(cut);
    }
    chunks.push(start..tokens.len());
    chunks
}

/// For each token, what lies between it and the one before.
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
