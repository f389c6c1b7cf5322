//! Tokenizes a text and splits it into the chunks of a model's input.

use std::ops::Range;

use memory_core::port::BoxError;
use tokenizers::{Encoding, Normalizer, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer, models::ModelWrapper};

use super::{session::Chunk, vocabulary::Vocabulary, workers::Priority};
use crate::{Prompts, chunk::plan_chunks};

/// Bytes of a text that are tokenized at once, because an encoding takes a hundred times the memory of its text.
const STEP: usize = 64 << 10;

/// Maximum bytes of a word. WordPiece maps a longer word to a single unknown token.
const MAX_WORD: usize = 100;

/// Mean letters of a piece, from which on a vocabulary knows a script: BERT's has 1.0 to 1.3 in Cyrillic, Arabic, Thai
/// and Hangul, where one of many languages has 2 to 4.
const LETTERS_OF_PIECE: f32 = 1.5;

/// Tokenizes texts and splits those that are too long for the model.
#[derive(Debug)]
pub(crate) struct Splitter {
    tokenizer: Tokenizer,
    /// The pieces, if they are compiled; `tokenizer` is without them then.
    vocabulary: Option<Vocabulary>,
    words: WordBoundary,
    /// The two special tokens around a text, if any.
    frame: Option<[u32; 2]>,
    pad: u32,
    /// Maximum tokens of a chunk, without special tokens.
    limit: usize,
    overlap: usize,
    lower_case: bool,
    /// Prompt tokens before each chunk of a query.
    query: Vec<u32>,
    /// Prompt tokens before each chunk of a document.
    document: Vec<u32>,
}

impl Splitter {
    /// Parses a `tokenizer.json`, or reads a compiled one, for a model with inputs of `max_tokens`.
    ///
    /// Ignores the tokenizer's padding and truncation. Encodes text such as `[SEP]` as ordinary text.
    pub(super) fn new(file: &[u8], max_tokens: usize, overlap: usize) -> Result<Self, BoxError> {
        let (vocabulary, json) = if Vocabulary::is_compiled(file) {
            let (vocabulary, rest) = Vocabulary::read(file)?;
            (Some(vocabulary), rest)
        } else {
            (None, file)
        };
        let splitter = Self { vocabulary, ..Self::unframed(json, max_tokens.saturating_sub(2), overlap)? };
        let frame = splitter.tokenizer.encode_fast("", true)?;
        let &[begin, end] = frame.get_ids() else {
            return Err(format!("it puts {} special tokens around a text, not 2", frame.len()).into());
        };
        Ok(Self { frame: Some([begin, end]), ..splitter })
    }

    /// A splitter without special tokens around a text, with chunks of at most `limit` tokens.
    pub(crate) fn unframed(json: &[u8], limit: usize, overlap: usize) -> Result<Self, BoxError> {
        let mut tokenizer = Tokenizer::from_bytes(json)?;
        let pad = tokenizer.get_padding().map_or(0, |padding| padding.pad_id);
        tokenizer.with_padding(None).with_truncation(None)?;
        tokenizer.set_encode_special_tokens(true);
        let (query, document) = (Vec::new(), Vec::new());
        let words = match tokenizer.get_model() {
            ModelWrapper::WordPiece(_) => WordBoundary::WordPiece,
            _ => WordBoundary::Blanks,
        };
        let (vocabulary, frame) = (None, None);
        Ok(Self { tokenizer, vocabulary, words, frame, pad, limit, overlap, lower_case: false, query, document })
    }

    pub(crate) fn unknown(&self) -> Option<u32> {
        ["[UNK]", "<unk>"].into_iter().find_map(|name| self.tokenizer.token_to_id(name))
    }

    pub(crate) fn lower_case(self, lower_case: bool) -> Self {
        Self { lower_case, ..self }
    }

    /// Sets the prompts before each chunk. Rejects a prompt that leaves less than half of the model's input for the
    /// text.
    pub(crate) fn prompts(mut self, prompts: &Prompts) -> Result<Self, BoxError> {
        let tokens = |prompt: &str| -> Result<Vec<u32>, BoxError> {
            // A trailing blank would belong to the next word.
            let (tokens, _) = self.tokens(prompt.trim_end())?;
            if tokens.len() > self.limit / 2 {
                return Err(format!("the prompt {prompt:?} takes more than half of the model's input").into());
            }
            Ok(tokens)
        };
        (self.query, self.document) = (tokens(&prompts.query)?, tokens(&prompts.document)?);
        Ok(self)
    }

    pub(super) fn pad(&self) -> u32 {
        self.pad
    }

    /// Chunks of `text`, at least one, with special tokens and within the model's limit. `with_tokens` requests the
    /// vector of each token of the text once, except punctuation (as in ColBERT).
    pub(crate) fn split(&self, text: &str, priority: Priority, with_tokens: bool) -> Result<Vec<Chunk>, BoxError> {
        let lower;
        let text = if self.lower_case {
            lower = text.to_lowercase();
            &lower
        } else {
            text
        };
        let prompt = match priority {
            Priority::Query => &self.query,
            Priority::Indexing => &self.document,
        };
        let limit = self.limit - prompt.len();
        let (ids, bytes) = self.tokens(text)?;
        let [begin, end] = self.frame.map_or([None, None], |[begin, end]| [Some(begin), Some(end)]);
        let has_content = |token: &usize| {
            let piece = bytes.get(*token).and_then(|place| text.get(place.clone()));
            piece.is_some_and(|piece| piece.chars().any(char::is_alphanumeric))
        };
        // The vector of a token in an overlap is requested in the first of its chunks.
        let mut covered = 0;
        let chunk = |inner: Range<usize>| {
            let before = begin.iter().len() + prompt.len();
            let new = covered.max(inner.start)..if with_tokens { inner.end } else { 0 };
            covered = covered.max(inner.end);
            let requested = new.filter(has_content).map(|token| token - inner.start + before).collect();
            let inner = ids.get(inner).unwrap_or_default().iter().copied();
            let all = begin.into_iter().chain(prompt.iter().copied()).chain(inner).chain(end);
            Chunk { ids: all.collect(), requested }
        };
        Ok(plan_chunks(text, &bytes, limit, self.overlap.min(limit / 2)).into_iter().map(chunk).collect())
    }

    /// The SHA-256 of the `tokenizer.json` that a compiled vocabulary was made from.
    pub(super) fn compiled_from(&self) -> Option<&str> {
        self.vocabulary.as_ref().map(|vocabulary| vocabulary.source.as_str())
    }

    /// The tokenizer, without padding and truncation.
    pub(super) fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// True if the vocabulary has pieces of the words of a text, not only its letters or nothing at all. Chinese and
    /// Japanese are known by letters, and a few foreign letters make no text foreign.
    pub(super) fn knows_script(&self, text: &str) -> Result<bool, BoxError> {
        let unknown = self.unknown();
        let (ids, bytes) = self.tokens(text)?;
        let (mut letters, mut pieces, mut others) = (0.0, 0.0, 0.0);
        // Several pieces may be of one character: the letters of a syllable of Hangul.
        let mut covered = 0;
        for (id, place) in ids.iter().zip(bytes) {
            let of_piece: f32 = text.get(place.clone()).unwrap_or_default().chars().map(alphabetic_weight).sum();
            letters += if place.start < covered { 0.0 } else { of_piece };
            covered = place.end;
            others += if of_piece > 0.0 { 0.0 } else { f32::from(u8::from(is_word(text, place.clone()))) };
            pieces += if Some(*id) == unknown { of_piece } else { f32::from(u8::from(of_piece > 0.0)) };
        }
        Ok(pieces <= others || letters >= LETTERS_OF_PIECE * pieces)
    }

    /// The ids of the text's tokens, without special tokens, and their byte ranges.
    pub(super) fn tokens(&self, text: &str) -> Result<(Vec<u32>, Vec<Range<usize>>), BoxError> {
        let (mut ids, mut bytes) = (Vec::new(), Vec::new());
        for (start, step) in steps(text, self.words) {
            let encoding = self.encode(step)?;
            ids.extend_from_slice(encoding.get_ids());
            bytes.extend(encoding.get_offsets().iter().map(|(from, to)| start + from..start + to));
        }
        Ok((ids, bytes))
    }

    /// The tokens of `text`, without special tokens.
    fn encode(&self, text: &str) -> Result<Encoding, BoxError> {
        let Some(vocabulary) = &self.vocabulary else { return self.tokenizer.encode(text, false) };
        let mut words = PreTokenizedString::from(text);
        if let Some(normalizer) = self.tokenizer.get_normalizer() {
            words.normalize(|text| normalizer.normalize(text))?;
        }
        if let Some(pre_tokenizer) = self.tokenizer.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut words)?;
        }
        words.tokenize(|word| Ok(vocabulary.tokens(word.get())))?;
        words.into_encoding(None, 0, OffsetType::Byte)
    }
}

/// True if a piece of `text` has a letter or a digit.
fn is_word(text: &str, place: Range<usize>) -> bool {
    text.get(place).is_some_and(|piece| piece.contains(char::is_alphanumeric))
}

/// 1 for a letter of an alphabet other than Latin, which every model knows; 2 for a syllable of Hangul, which is two
/// letters or three; 0 for others, such as Han.
fn alphabetic_weight(c: char) -> f32 {
    match c {
        '\0'..='\u{024F}' | '\u{1E00}'..='\u{1EFF}' => 0.0,
        '\u{AC00}'..='\u{D7AF}' => 2.0,
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}' => 0.0,
        c if c.is_alphabetic() => 1.0,
        _ => 0.0,
    }
}

/// Places where a text can be cut without changing its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordBoundary {
    /// WordPiece: next to any character that is not a letter or a digit.
    WordPiece,
    /// All others: before the first blank after a word. SentencePiece distinguishes words after a blank from others,
    /// and would treat the text after any other cut as the beginning of a word.
    Blanks,
}

impl WordBoundary {
    fn max_bytes(self) -> usize {
        match self {
            Self::WordPiece => MAX_WORD,
            Self::Blanks => STEP,
        }
    }

    /// True if a piece may end before `c`, a character between words. `after_word` is true if a word precedes `c`.
    fn may_end_before(self, c: char, after_word: bool) -> bool {
        match self {
            Self::WordPiece => true,
            Self::Blanks => c == ' ' && after_word,
        }
    }

    /// True if `c` is part of a word.
    fn contains(self, c: char) -> bool {
        match self {
            Self::WordPiece if c.is_ascii() => c.is_ascii_alphanumeric(),
            Self::WordPiece | Self::Blanks => !c.is_whitespace(),
        }
    }
}

/// Cuts a text into pieces of about [`STEP`] bytes without changing tokens, and cuts words that are too long, so that
/// none is lost. Returns each piece with its offset.
fn steps(text: &str, words: WordBoundary) -> Vec<(usize, &str)> {
    let mut cuts = Vec::new();
    let mut step = 0;
    let mut word = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if words.contains(c) {
            if end - word > words.max_bytes() {
                cuts.push(at);
                (step, word) = (at, at);
            }
        } else {
            // From 2 · STEP on, any character between words will do, for example in lines without blanks.
            if at - step >= STEP && words.may_end_before(c, at > word) || at - step >= 2 * STEP {
                cuts.push(at);
                step = at;
            }
            word = end;
        }
    }
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(text.len()));
    starts.zip(ends).filter_map(|(start, end)| Some((start, text.get(start..end)?))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// WordPiece over single letters, framed like BERT.
    const TOKENIZER: &str = r###"{
        "version": "1.0",
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 7, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [
            {"id": 0, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
            {"id": 1, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
        ],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [1], "tokens": ["[SEP]"]}}
        },
        "decoder": null,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "a": 3, "##a": 4, "b": 5, ".": 6, "[PAD]": 7, "[": 8, "]": 9, "sep": 10}
        }
    }"###;

    fn splitter(max_tokens: usize, overlap: usize) -> Splitter {
        Splitter::new(TOKENIZER.as_bytes(), max_tokens, overlap).unwrap()
    }

    /// The tokens of the chunks of a document.
    fn split(splitter: &Splitter, text: &str) -> Vec<Vec<u32>> {
        let chunks = splitter.split(text, Priority::Indexing, false).unwrap();
        for chunk in &chunks {
            assert_eq!((chunk.ids.first(), chunk.ids.last(), chunk.requested.len()), (Some(&0), Some(&1), 0));
        }
        chunks.into_iter().map(|chunk| chunk.ids).collect()
    }

    #[test]
    fn the_files_own_padding_and_truncation_are_dropped() {
        assert_eq!(split(&splitter(20, 0), "a b a b a b a"), [[0, 3, 5, 3, 5, 3, 5, 3, 1]]);
        assert_eq!(splitter(20, 0).pad(), 7);
    }

    #[test]
    fn the_empty_text_is_one_sequence() {
        assert_eq!(split(&splitter(20, 2), ""), [[0, 1]]);
    }

    #[test]
    fn names_of_special_tokens_are_text() {
        assert_eq!(split(&splitter(20, 2), "[SEP]"), [[0, 8, 10, 9, 1]]);
    }

    #[test]
    fn a_long_text_makes_several_sequences() {
        assert_eq!(split(&splitter(5, 1), "a b. b a."), [vec![0, 3, 5, 6, 1], vec![0, 6, 5, 1], vec![0, 5, 3, 6, 1]]);
    }

    #[test]
    fn a_word_beyond_the_vocabularys_limit_is_not_lost() {
        let word = "a".repeat(250);
        let sequences = split(&splitter(64, 0), &word);
        assert_eq!(sequences.iter().map(|sequence| sequence.len() - 2).sum::<usize>(), 250);
        assert!(!sequences.concat().contains(&2));
    }

    #[test]
    fn sentence_pieces_are_not_separated_from_the_blank_before_them() {
        const UNIGRAM: &str = r#"{
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
            "post_processor": null, "decoder": null,
            "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
                "vocab": [["<unk>", 0.0], ["▁", -3.0], ["会", -4.0], ["議", -4.0], ["会議", -2.0], ["▁会", -3.5], ["a", -4.0], [".", -4.0]]}
        }"#;
        let splitter = Splitter::unframed(UNIGRAM.as_bytes(), 64, 0).unwrap();
        let long = format!("{} {}", "会議".repeat(60), "a.a 会議. ".repeat(10_000));
        assert!(long.len() > STEP);
        let whole = Tokenizer::from_bytes(UNIGRAM).unwrap().encode(long.trim_end(), false).unwrap();
        let (ids, bytes) = splitter.tokens(long.trim_end()).unwrap();
        assert!(steps(&long, splitter.words).len() > 1);
        assert!(ids == whole.get_ids(), "{} tokens and {}", ids.len(), whole.len());
        assert_eq!(bytes.len(), ids.len());
    }

    #[test]
    fn prompts_stand_before_every_chunk_and_take_room() {
        let prompts = Prompts { query: "a a ".to_owned(), document: "b".to_owned() };
        let splitter = splitter(6, 0).prompts(&prompts).unwrap();
        assert_eq!(
            splitter.split("a b a", Priority::Query, true).unwrap(),
            [
                Chunk { ids: vec![0, 3, 3, 3, 5, 1], requested: vec![3, 4] },
                Chunk { ids: vec![0, 3, 3, 3, 1], requested: vec![3] },
            ]
        );
        let document = splitter.split("a b a", Priority::Indexing, false).unwrap();
        assert_eq!(document, [Chunk { ids: vec![0, 5, 3, 5, 3, 1], requested: Vec::new() }]);
        let long = Prompts { query: "a a a".to_owned(), document: String::new() };
        let error = super::Splitter::new(TOKENIZER.as_bytes(), 6, 0).unwrap().prompts(&long).unwrap_err();
        assert!(error.to_string().contains("more than half"), "{error}");
    }

    #[test]
    fn a_token_in_two_chunks_is_requested_once() {
        let chunks = splitter(6, 2).split("a b a b a b a", Priority::Indexing, true).unwrap();
        assert!(chunks.len() > 1);
        assert_eq!(chunks.iter().map(|chunk| chunk.requested.len()).sum::<usize>(), 7, "{chunks:?}");
        for chunk in &chunks {
            assert!(chunk.requested.iter().all(|place| [3, 5].contains(&chunk.ids[*place])), "{chunk:?}");
        }
    }

    #[test]
    fn a_text_may_be_lower_cased_first() {
        let json = TOKENIZER.replace(r#""lowercase": true"#, r#""lowercase": false"#);
        let splitter = |lower| Splitter::new(json.as_bytes(), 20, 0).unwrap().lower_case(lower);
        assert_eq!(split(&splitter(true), "A B"), [[0, 3, 5, 1]]);
        assert_eq!(split(&splitter(false), "A B"), [[0, 2, 2, 1]]);
    }

    #[test]
    fn another_frame_is_refused() {
        let json = TOKENIZER.replace(
            r#"[{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}"#,
            r#"[{"Sequence": {"id": "A", "type_id": 0}}"#,
        );
        let error = Splitter::new(json.as_bytes(), 20, 0).unwrap_err();
        assert!(error.to_string().contains("puts 1 special tokens"), "{error}");
    }

    #[test]
    fn a_text_without_blanks_is_taken_in_bounded_steps() {
        for unit in ["a", "ab.", "漢", "{\"k\":1}", "ab\n", "\n", " "] {
            let text = unit.repeat(4 * STEP / unit.len());
            for words in [WordBoundary::WordPiece, WordBoundary::Blanks] {
                let most = match words {
                    WordBoundary::WordPiece => STEP + MAX_WORD,
                    WordBoundary::Blanks => 3 * STEP,
                };
                assert!(steps(&text, words).iter().all(|(_, step)| step.len() <= most), "{unit}");
            }
        }
    }

    proptest! {
        #[test]
        fn steps_are_the_text(text in "(\\PC|[a-z]{60}|[ \n.]){0,40}") {
            for words in [WordBoundary::WordPiece, WordBoundary::Blanks] {
                let mut at = 0;
                for (start, step) in steps(&text, words) {
                    prop_assert_eq!(start, at);
                    at += step.len();
                }
                prop_assert_eq!(at, text.len());
            }
        }
    }
}
