//! From a question and a text to the one sequence that the model reads.

use memory_core::BoxError;
use tokenizers::{Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy};

use crate::onnx::workers::Sequence;

/// Bytes for each token that the model reads, after which a text is not looked at: an encoding takes a hundred times
/// the memory of its text, and tokens of so many bytes are rare.
const BYTES_A_TOKEN: usize = 64;

/// A question and a text as the model reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    /// The tokens' numbers in the vocabulary.
    pub(super) ids: Vec<u32>,
    /// Which of the two each token belongs to.
    pub(super) types: Vec<u32>,
}

impl Sequence for Pair {
    fn tokens(&self) -> usize {
        self.ids.len()
    }
}

/// Encodes pairs.
#[derive(Debug)]
pub(super) struct Pairs {
    tokenizer: Tokenizer,
    pad: u32,
    longest: usize,
}

impl Pairs {
    /// Reads a `tokenizer.json` for a model that reads `max_tokens` at once.
    ///
    /// Its own padding and truncation are replaced, and text such as `[SEP]` is text.
    pub(super) fn new(json: &[u8], max_tokens: usize) -> Result<Self, BoxError> {
        let mut tokenizer = Tokenizer::from_bytes(json)?;
        let pad = tokenizer.get_padding().map_or(0, |padding| padding.pad_id);
        tokenizer.set_encode_special_tokens(true);
        tokenizer.with_padding(None).with_truncation(None)?;
        let frame = tokenizer.encode(("", ""), true)?.len();
        // A token of each of the two, at least.
        if max_tokens < frame + 2 {
            return Err(format!("{max_tokens} tokens are too few: {frame} stand around a pair").into());
        }
        tokenizer.with_truncation(Some(TruncationParams {
            max_length: max_tokens,
            strategy: TruncationStrategy::LongestFirst,
            direction: TruncationDirection::Right,
            stride: 0,
        }))?;
        Ok(Self { tokenizer, pad, longest: max_tokens.saturating_mul(BYTES_A_TOKEN) })
    }

    /// The token that fills up a row of a batch.
    pub(super) fn pad(&self) -> u32 {
        self.pad
    }

    /// The pair as one sequence, no longer than the model reads.
    pub(super) fn pair(&self, question: &str, text: &str) -> Result<Pair, BoxError> {
        let encoding = self.tokenizer.encode((self.begin(question), self.begin(text)), true)?;
        Ok(Pair { ids: encoding.get_ids().to_vec(), types: encoding.get_type_ids().to_vec() })
    }

    /// As much of a text as can matter.
    fn begin<'a>(&self, text: &'a str) -> &'a str {
        text.get(..text.floor_char_boundary(self.longest)).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WordPiece over single letters, framed like BERT: `[CLS]` is 0, `[SEP]` 1, `a` 3, `##a` 4, `b` 5, `c` 6, `[PAD]` 7.
    const TOKENIZER: &str = include_str!("tokenizer.json");

    fn pairs(max_tokens: usize) -> Pairs {
        Pairs::new(TOKENIZER.as_bytes(), max_tokens).unwrap()
    }

    fn pair(max_tokens: usize, question: &str, text: &str) -> (Vec<u32>, Vec<u32>) {
        let Pair { ids, types } = pairs(max_tokens).pair(question, text).unwrap();
        (ids, types)
    }

    #[test]
    fn a_pair_is_framed_and_typed_like_bert() {
        let (ids, types) = pair(16, "a b", "c a");
        assert_eq!(ids, [0, 3, 5, 1, 6, 3, 1]);
        assert_eq!(types, [0, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn either_may_be_empty() {
        assert_eq!(pair(16, "", "a"), (vec![0, 1, 3, 1], vec![0, 0, 1, 1]));
        assert_eq!(pair(16, "a", ""), (vec![0, 3, 1, 1], vec![0, 0, 0, 1]));
    }

    #[test]
    fn the_longer_of_the_two_is_cut_first() {
        // A short question stays whole.
        assert_eq!(pair(8, "a b", "c c c c c c").0, [0, 3, 5, 1, 6, 6, 6, 1]);
        // A short text does.
        assert_eq!(pair(8, "c c c c c c", "a b").0, [0, 6, 6, 6, 1, 3, 5, 1]);
        // Two that are equally long lose the same.
        let (ids, types) = pair(9, "a a a a a a", "b b b b b b");
        assert_eq!(ids, [0, 3, 3, 3, 1, 5, 5, 5, 1]);
        assert_eq!(types, [0, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn names_of_special_tokens_are_text() {
        let (ids, _) = pair(16, "[SEP]", "a");
        assert_eq!(ids.iter().filter(|id| **id == 1).count(), 2, "{ids:?}");
    }

    #[test]
    fn the_files_own_padding_and_truncation_are_replaced() {
        assert!(TOKENIZER.contains("\"max_length\": 4"));
        assert_eq!(pair(64, "a b a b a", "c a").0.len(), 10);
        assert_eq!(pairs(64).pad(), 7);
    }

    #[test]
    fn a_model_too_small_for_a_pair_is_refused() {
        let error = Pairs::new(TOKENIZER.as_bytes(), 4).unwrap_err().to_string();
        assert!(error.contains("3 stand around a pair"), "{error}");
    }

    #[test]
    fn a_huge_text_costs_no_more_than_the_model_reads() {
        let huge = "c ".repeat(4 << 20);
        assert_eq!(pair(8, "a", &huge).0, [0, 3, 1, 6, 6, 6, 6, 1]);
        let broken_inside_a_character = "漢".repeat(1000);
        pairs(8).pair("a", &broken_inside_a_character).unwrap();
    }
}
