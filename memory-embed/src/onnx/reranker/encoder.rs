//! Encodes a question and a text as one sequence.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Range,
};

use memory_core::port::BoxError;
use tokenizers::{TruncationDirection, TruncationParams, TruncationStrategy, utils::truncation::truncate_encodings};

use crate::{
    chunk::plan_chunks,
    onnx::{splitter::Splitter, workers::Sequence},
};

/// Bytes of a text that are encoded for each token of the model's limit. An encoding takes a hundred times the memory
/// of its text, and tokens of this many bytes are rare.
const BYTES_PER_TOKEN: usize = 64;

/// Bytes of a text from which passages are chosen.
const MAX_SCANNED: usize = 64 << 10;

/// Divisor of the model's limit that gives the minimum room for a passage.
const MIN_ROOM_SHARE: usize = 4;

/// Divisor of a passage that gives the overlap with the previous one, so that related words share a passage.
const OVERLAP_SHARE: usize = 16;

/// Tokens that a passage may gain when it is encoded without its surroundings.
const SLACK: usize = 2;

/// An encoded question and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) ids: Vec<u32>,
    /// Token types: 0 for the question, 1 for the text.
    pub(super) types: Vec<u32>,
}

impl Sequence for Pair {
    fn ids(&self) -> &[u32] {
        &self.ids
    }

    fn types(&self) -> &[u32] {
        &self.types
    }
}

#[derive(Debug)]
pub(super) struct PairEncoder {
    splitter: Splitter,
    max_tokens: usize,
    /// Number of special tokens around a pair.
    frame: usize,
}

impl PairEncoder {
    /// Parses a `tokenizer.json` for a model with inputs of `max_tokens`.
    ///
    /// Ignores the tokenizer's padding and truncation. Encodes text such as `[SEP]` as ordinary text.
    pub(super) fn new(json: &[u8], max_tokens: usize) -> Result<Self, BoxError> {
        let splitter = Splitter::unframed(json, max_tokens, 0)?;
        let frame = splitter.tokenizer().encode(("", ""), true)?.len();
        // At least one token of either text must fit.
        if max_tokens < frame + 2 {
            return Err(format!("{max_tokens} tokens are too few: {frame} stand around a pair").into());
        }
        Ok(Self { splitter, max_tokens, frame })
    }

    pub(super) fn pad(&self) -> u32 {
        self.splitter.pad()
    }

    /// Pairs to score: one, or up to `most` passages of a text that is too long.
    pub(super) fn best(&self, question: &str, text: &str, most: usize) -> Result<Vec<Pair>, BoxError> {
        let (whole, is_cut) = self.pair(question, text)?;
        if most < 2 || !is_cut {
            return Ok(vec![whole]);
        }
        let (asked, _) = self.splitter.tokens(prefix(question, self.max_bytes()))?;
        let room = self.max_tokens.saturating_sub(self.frame + asked.len() + SLACK);
        if room < self.max_tokens / MIN_ROOM_SHARE {
            return Ok(vec![whole]);
        }
        let text = prefix(text, MAX_SCANNED);
        let (tokens, places) = self.splitter.tokens(text)?;
        let passages = plan_chunks(text, &places, room, room / OVERLAP_SHARE);
        let passage = |range: &Range<usize>| {
            let (first, last) = (places.get(range.start)?, places.get(range.end.checked_sub(1)?)?);
            text.get(first.start..last.end)
        };
        let chosen = chosen(&asked, &tokens, &passages, most);
        let pairs = chosen.iter().filter_map(passage).map(|passage| Ok(self.pair(question, passage)?.0));
        let pairs: Vec<Pair> = pairs.collect::<Result<_, BoxError>>()?;
        // A long text of blanks has no passages.
        Ok(if pairs.is_empty() { vec![whole] } else { pairs })
    }

    /// Encodes a pair within the model's limit; returns true with it if it was truncated.
    fn pair(&self, question: &str, text: &str) -> Result<(Pair, bool), BoxError> {
        let tokenizer = self.splitter.tokenizer();
        let [asked, read] = [question, text].map(|text| prefix(text, self.max_bytes()));
        let (asked, mut encoded) = (tokenizer.encode(asked, false)?, tokenizer.encode(read, false)?);
        let is_cut = asked.len() + encoded.len() + self.frame > self.max_tokens || read.len() < text.len();
        // Token types as the tokenizer sets them for the second text of a pair.
        encoded.set_type_ids(vec![1; encoded.len()]);
        let params = TruncationParams {
            max_length: self.max_tokens - self.frame,
            strategy: TruncationStrategy::LongestFirst,
            direction: TruncationDirection::Right,
            stride: 0,
        };
        let (asked, encoded) = truncate_encodings(asked, Some(encoded), &params)?;
        let encoding = tokenizer.post_process(asked, encoded, true)?;
        Ok((Pair { ids: encoding.get_ids().to_vec(), types: encoding.get_type_ids().to_vec() }, is_cut))
    }

    /// Maximum bytes of a text that are encoded for a pair.
    fn max_bytes(&self) -> usize {
        self.max_tokens.saturating_mul(BYTES_PER_TOKEN)
    }
}

/// The first `bytes` bytes of a text, cut at a character boundary.
fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// The `most` best passages, as ranges of `tokens`: those with most of the tokens in `asked`, weighted by rarity among
/// the passages; ties go to the first.
fn chosen(asked: &[u32], tokens: &[u32], passages: &[Range<usize>], most: usize) -> Vec<Range<usize>> {
    let asked: HashSet<u32> = asked.iter().copied().collect();
    // Ordered, so that equal sets have equal floating-point sums.
    let held = |range: &Range<usize>| -> BTreeSet<u32> {
        let tokens = tokens.get(range.clone()).unwrap_or_default();
        tokens.iter().copied().filter(|token| asked.contains(token)).collect()
    };
    let held: Vec<BTreeSet<u32>> = passages.iter().map(held).collect();
    let mut holders: HashMap<u32, u32> = HashMap::new();
    held.iter().flatten().for_each(|token| *holders.entry(*token).or_default() += 1);
    let all = f64::from(u32::try_from(passages.len()).unwrap_or(u32::MAX));
    let rarity = |token: &u32| holders.get(token).map_or(0.0, |holders| (1.0 + all / f64::from(*holders)).ln());
    let mut ranked: Vec<(f64, &Range<usize>)> =
        held.iter().zip(passages).map(|(held, passage)| (held.iter().map(rarity).sum(), passage)).collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    ranked.truncate(most);
    ranked.into_iter().map(|(_, passage)| passage.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WordPiece over single letters, framed like BERT: `[CLS]` is 0, `[SEP]` 1, `a` 3, `##a` 4, `b` 5, `c` 6, `[PAD]`
    /// 7.
    const TOKENIZER: &str = include_str!("tokenizer.json");

    fn pairs(max_tokens: usize) -> PairEncoder {
        PairEncoder::new(TOKENIZER.as_bytes(), max_tokens).unwrap()
    }

    fn pair(max_tokens: usize, question: &str, text: &str) -> (Vec<u32>, Vec<u32>) {
        let (Pair { ids, types }, _) = pairs(max_tokens).pair(question, text).unwrap();
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
        // A short text stays whole.
        assert_eq!(pair(8, "c c c c c c", "a b").0, [0, 6, 6, 6, 1, 3, 5, 1]);
        // A question and a text of equal length lose the same number of tokens.
        let (ids, types) = pair(9, "a a a a a a", "b b b b b b");
        assert_eq!(ids, [0, 3, 3, 3, 1, 5, 5, 5, 1]);
        assert_eq!(types, [0, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn the_best_passages_of_a_long_text_are_read() {
        let ids = |text: &str, most| -> Vec<Vec<u32>> {
            pairs(16).best("a b", text, most).unwrap().into_iter().map(|pair| pair.ids).collect()
        };
        // The pair fits, to the token.
        assert_eq!(ids(&"c ".repeat(11), 3).len(), 1);
        // 16 tokens: 3 around the pair, 2 of the question, 2 for safety, 9 of a passage.
        let long = format!("{}{}{}", "c ".repeat(9), "b ".repeat(9), "a b c c ");
        let frame = |passage: &[u32]| [&[0, 3, 5, 1], passage, &[1]].concat();
        let (first, second, third) = (frame(&[6; 9]), frame(&[5; 9]), frame(&[3, 5, 6, 6]));
        // The passage with the rarest of the question's words comes first.
        assert_eq!(ids(&long, 3), [third.clone(), second.clone(), first]);
        assert_eq!(ids(&long, 2), [third, second]);
        // The beginning, as far as the model reads.
        assert_eq!(ids(&long, 1), [[frame(&[6; 9])[..13].to_vec(), vec![5, 5, 1]].concat()]);
        // A blank text.
        assert_eq!(ids(&" ".repeat(2_000), 3), [[0, 3, 5, 1, 1]]);
        // The question leaves no room for passages.
        let crowded = pairs(16).best(&"a ".repeat(9), &long, 3).unwrap();
        assert_eq!((crowded.len(), crowded[0].ids.len()), (1, 16));
    }

    #[test]
    fn every_passage_is_read_whole_where_there_are_few() {
        let text: String = (0..60).map(|n| ["a", "b", "c"][n * n % 3].to_owned() + [" ", ". "][n % 7 / 6]).collect();
        let pairs = pairs(24);
        let read = pairs.best("c", &text, 100).unwrap();
        let tokens: usize = read.iter().map(|pair| pair.types.iter().filter(|kind| **kind == 1).count() - 1).sum();
        assert!(tokens >= pairs.splitter.tokens(&text).unwrap().0.len());
        assert!(read.iter().all(|pair| pair.ids.len() <= 24) && read.len() > 2, "{read:?}");
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
        let error = PairEncoder::new(TOKENIZER.as_bytes(), 4).unwrap_err().to_string();
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
