//! The vocabulary of a Unigram tokenizer, compiled to a file that is read in milliseconds.
//!
//! `tokenizers` takes a second and 290 MB to read the 250,000 pieces of XLM-R from JSON. Here the pieces lie sorted, one
//! after the other. `tokenizers` still normalizes texts and splits them into words.
//!
//! The file, in little-endian: the magic, the SHA-256 of the `tokenizer.json`, the number of the unknown token, its
//! score, the bytes of the rest of the `tokenizer.json`, the number of pieces, their bytes; then the rest of the
//! `tokenizer.json`, and of all pieces, in order of their bytes, the scores, the numbers, the ends and the bytes.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use memory_core::port::BoxError;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokenizers::Token;

use crate::{bytes::Cursor, checksum::hex};

/// First bytes of the file; the last one is the version.
const MAGIC: &[u8; 8] = b"unigram\x01";

/// Score of an unknown character below that of the worst piece, as in SentencePiece.
const UNKNOWN_PENALTY: f64 = 10.0;

#[derive(Deserialize)]
struct UnigramConfig {
    unk_id: Option<u32>,
    #[serde(default)]
    byte_fallback: bool,
    vocab: Vec<(String, f64)>,
}

#[derive(Deserialize)]
struct AddedToken {
    content: String,
    #[serde(default)]
    special: bool,
}

/// Compiles a `tokenizer.json` with this SHA-256; `None` if it is of another kind, or needs more than a [`Vocabulary`].
pub(super) fn compile(json: &[u8], sha256: [u8; 32]) -> Result<Option<Vec<u8>>, BoxError> {
    let mut tokenizer: Map<String, Value> = serde_json::from_slice(json)?;
    let is_unigram = |model: &Value| model.get("type").is_some_and(|kind| kind == "Unigram");
    let rest = json!({ "type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]], "byte_fallback": false });
    let Some(model) = tokenizer.insert("model".to_owned(), rest).filter(is_unigram) else { return Ok(None) };
    let model: UnigramConfig = serde_json::from_value(model)?;
    let added: Vec<AddedToken> = match tokenizer.insert("added_tokens".to_owned(), json!([])) {
        Some(tokens @ Value::Array(_)) => serde_json::from_value(tokens)?,
        _ => Vec::new(),
    };
    let (Some(unknown), false) = (model.unk_id, model.byte_fallback) else { return Ok(None) };
    if added.iter().any(|token| !token.special) {
        return Ok(None);
    }
    // Texts are split without the names of special tokens, which then are text like any other.
    let names: HashSet<&str> = added.iter().map(|token| token.content.as_str()).collect();
    let mut pieces = BTreeMap::new();
    for (id, (piece, score)) in (0_u32..).zip(&model.vocab) {
        if !piece.is_empty() && id != unknown && !names.contains(piece.as_str()) {
            pieces.insert(piece.as_bytes(), (id, *score));
        }
    }
    let least = model.vocab.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    let rest = serde_json::to_vec(&tokenizer)?;

    let text: usize = pieces.keys().map(|piece| piece.len()).sum();
    let mut file = Vec::with_capacity(64 + rest.len() + 16 * pieces.len() + text);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&sha256);
    file.extend_from_slice(&unknown.to_le_bytes());
    file.extend_from_slice(&(least - UNKNOWN_PENALTY).to_le_bytes());
    for length in [rest.len(), pieces.len(), text] {
        file.extend_from_slice(&u32::try_from(length)?.to_le_bytes());
    }
    file.extend_from_slice(&rest);
    pieces.values().for_each(|(_, score)| file.extend_from_slice(&score.to_le_bytes()));
    pieces.values().for_each(|(id, _)| file.extend_from_slice(&id.to_le_bytes()));
    let mut end = 0;
    for piece in pieces.keys() {
        end += piece.len();
        file.extend_from_slice(&u32::try_from(end)?.to_le_bytes());
    }
    pieces.keys().for_each(|piece| file.extend_from_slice(piece));
    Ok(Some(file))
}

/// The pieces of a Unigram tokenizer (Kudo, 2018), and the most probable split of a word into them.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// The SHA-256 of the `tokenizer.json`, in lower-case hexadecimal.
    pub(super) source: String,
    unknown: u32,
    unknown_score: f64,
    scores: Vec<f64>,
    ids: Vec<u32>,
    /// Ends of the pieces in `text`, which is sorted by them.
    ends: Vec<u32>,
    text: Vec<u8>,
}

/// The best split of a word up to some byte.
#[derive(Clone, Copy, Default)]
struct Best {
    score: f64,
    /// The last piece, and where it starts.
    last: Option<(u32, usize)>,
}

impl Best {
    fn offer(&mut self, score: f64, id: u32, start: usize) {
        if self.last.is_none() || score > self.score {
            *self = Self { score, last: Some((id, start)) };
        }
    }
}

impl Vocabulary {
    /// True for the bytes of a compiled file.
    pub(super) fn is_compiled(file: &[u8]) -> bool {
        file.starts_with(MAGIC)
    }

    /// Reads a compiled file. Also returns the `tokenizer.json` without the pieces.
    pub(super) fn read(file: &[u8]) -> Result<(Self, &[u8]), BoxError> {
        let parse = || {
            let mut file = Cursor::new(file);
            if file.take(MAGIC.len())? != MAGIC {
                return None;
            }
            let source = hex(file.take(32)?);
            let (unknown, unknown_score) = (file.u32()?, file.f64()?);
            let [rest, pieces, text] = [file.length()?, file.length()?, file.length()?];
            let rest = file.take(rest)?;
            let (scores, ids, ends) = (file.f64s(pieces)?, file.u32s(pieces)?, file.u32s(pieces)?);
            let text = file.take(text)?.to_vec();
            Some((Self { source, unknown, unknown_score, scores, ids, ends, text }, rest))
        };
        parse().ok_or_else(|| "the compiled vocabulary is cut short or of another version".into())
    }

    /// The tokens of a word, as [`tokenizers::models::unigram::Unigram`] finds them.
    pub(super) fn tokens(&self, word: &str) -> Vec<Token> {
        let mut best = vec![Best::default(); word.len() + 1];
        for (start, first) in word.char_indices() {
            let score = best.get(start).map_or(0.0, |best| best.score);
            let mut offer = |length: usize, id, piece_score: f64| {
                if let Some(end) = best.get_mut(start + length) {
                    end.offer(piece_score + score, id, start);
                }
            };
            let mut is_known = false;
            for (length, at) in self.prefixes(word.as_bytes().get(start..).unwrap_or_default()) {
                if let (Some(id), Some(piece_score)) = (self.ids.get(at), self.scores.get(at)) {
                    offer(length, *id, *piece_score);
                }
                is_known |= length == first.len_utf8();
            }
            if !is_known {
                offer(first.len_utf8(), self.unknown, self.unknown_score);
            }
        }
        let mut tokens: Vec<(u32, Range<usize>)> = Vec::new();
        let mut end = word.len();
        while let Some((id, start)) = best.get(end).and_then(|best| best.last) {
            match tokens.last_mut() {
                // Unknown characters in a row are one token.
                Some((last, range)) if *last == id && id == self.unknown => range.start = start,
                _ => tokens.push((id, start..end)),
            }
            end = start;
        }
        let token = |(id, range): (u32, Range<usize>)| {
            Token::new(id, word.get(range.clone()).unwrap_or_default().to_owned(), (range.start, range.end))
        };
        tokens.into_iter().rev().map(token).collect()
    }

    /// Lengths and indices of the pieces that `text` begins with, the shortest first.
    fn prefixes<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let narrowed = |among: &mut Range<usize>, (depth, byte): (usize, &u8)| {
            // A piece that ends here comes before all that go on.
            let byte_of = |at: usize| self.piece(at).get(depth).copied();
            among.start = first(among.clone(), |at| byte_of(at) >= Some(*byte));
            among.end = first(among.clone(), |at| byte_of(at) > Some(*byte));
            (among.start < among.end).then(|| (depth + 1, among.start))
        };
        text.iter()
            .enumerate()
            .scan(0..self.ids.len(), narrowed)
            .filter(|(length, at)| self.piece(*at).len() == *length)
    }

    fn piece(&self, at: usize) -> &[u8] {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let start = at.checked_sub(1).map_or(0, end);
        self.text.get(start..end(at)).unwrap_or_default()
    }
}

/// The first index in `among` for which `is` holds, which it then does for all others, or its end.
fn first(among: Range<usize>, is: impl Fn(usize) -> bool) -> usize {
    let Range { mut start, mut end } = among;
    while start < end {
        let middle = start.midpoint(end);
        if is(middle) {
            end = middle;
        } else {
            start = middle + 1;
        }
    }
    start
}

#[cfg(test)]
mod tests;
