//! The embedder that averages static token vectors, without a neural network.

use std::path::Path;

use memory_core::{
    ModelId,
    port::{BoxError, BoxFuture, EmbedError, Embedder},
};
use ndarray::{Array1, Array2, Axis};
use safetensors::SafeTensors;

use crate::{
    ModelDirectory, ModelError,
    checksum::{model_id_of, sha256_hex},
    convert::weights::floats,
    files,
    onnx::{Priority, Splitter},
    unit::{unit, unit_sum},
};

/// Maximum tokens of a chunk, because a mean over more represents none of them well.
const CHUNK_TOKENS: usize = 256;

/// Maximum tokens that a chunk repeats from the previous one.
const OVERLAP_TOKENS: usize = 32;

/// Embeds texts with a table of token vectors, as model2vec distils them from an encoder (Tulkens and van Dongen,
/// 2024): the mean of the vectors of the known tokens, times each token's weight if the model has weights, scaled to
/// unit length.
///
/// Needs no ONNX Runtime, and is about a hundred times faster than an encoder, but ignores order and context of words.
/// A text without a known token gets the direction of the table's mean. Runs on the caller's thread, in microseconds
/// per text.
#[derive(Debug)]
pub struct StaticEmbedder {
    model: ModelId,
    splitter: Splitter,
    /// One row per token, multiplied by its weight.
    table: Array2<f32>,
    unknown: Option<u32>,
    /// Vector of a text without a known token.
    neutral: Vec<f32>,
}

impl StaticEmbedder {
    /// Loads the model `name` in `directory` from its `model.safetensors` and `tokenizer.json`.
    ///
    /// # Errors
    /// [`ModelError`], when a file is missing, damaged or not supported.
    pub fn load(directory: &Path, name: &str) -> Result<Self, ModelError> {
        let described = ModelDirectory::read(directory)?;
        let (weights, tokenizer) = (directory.join("model.safetensors"), directory.join("tokenizer.json"));
        let read = |what: &str, path: &Path| {
            files::read_weights(path).map_err(|source| ModelError::reading(what, path, source))
        };
        let bytes = read("the table of vectors", &weights)?;
        let table = table(&bytes).map_err(|source| ModelError::Graph { path: weights.clone(), source })?;
        let json = read("the tokenizer", &tokenizer)?;
        let damaged = |source| ModelError::Tokenizer { path: tokenizer.clone(), source };
        let splitter = Splitter::unframed(&json, CHUNK_TOKENS, OVERLAP_TOKENS)
            .and_then(|splitter| splitter.lower_case(described.lower_case).prompts(&described.prompts))
            .map_err(damaged)?;
        let (table_sha256, tokenizer_sha256) = (sha256_hex(&bytes), sha256_hex(&json));
        let lower_case = described.lower_case.to_string();
        let parts = [&*table_sha256, &*tokenizer_sha256, &*lower_case, &*described.prompts.document];
        let neutral = unit(table.sum_axis(Axis(0)))
            .ok_or_else(|| ModelError::Graph { path: weights, source: "its vectors cancel each other out".into() })?;
        Ok(Self { model: model_id_of(name, &parts), unknown: splitter.unknown(), splitter, table, neutral })
    }

    /// A vector for each chunk.
    fn chunks(&self, text: &str, priority: Priority) -> Result<Vec<Vec<f32>>, EmbedError> {
        let failed = |source| EmbedError::Backend { model: self.model.clone(), source };
        let chunks = self.splitter.split(text, priority, false).map_err(failed)?;
        Ok(chunks.iter().map(|chunk| self.mean(&chunk.ids)).collect())
    }

    fn mean(&self, tokens: &[u32]) -> Vec<f32> {
        let known = tokens.iter().filter(|token| Some(**token) != self.unknown);
        let rows = known.filter_map(|token| usize::try_from(*token).ok()).filter(|row| *row < self.table.nrows());
        unit(self.table.select(Axis(0), &rows.collect::<Vec<_>>()).sum_axis(Axis(0)))
            .unwrap_or_else(|| self.neutral.clone())
    }
}

impl Embedder for StaticEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.table.ncols()
    }

    fn embed_documents<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<Vec<f32>>>, EmbedError>> {
        Box::pin(async move { texts.iter().map(|text| self.chunks(text, Priority::Indexing)).collect() })
    }

    fn embed_query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Vec<f32>, EmbedError>> {
        Box::pin(async move {
            let chunks = self.chunks(text, Priority::Query)?;
            let sum = unit_sum(chunks.iter().map(Vec::as_slice), self.dimensions());
            Ok(sum.unwrap_or_else(|| self.neutral.clone()))
        })
    }
}

/// The table of weighted token vectors.
fn table(bytes: &[u8]) -> Result<Array2<f32>, BoxError> {
    let tensors = SafeTensors::deserialize(bytes)?;
    if tensors.tensor("mapping").is_ok() {
        return Err("tokens that share vectors (`mapping`) are not supported".into());
    }
    let view = tensors.tensor("embeddings")?;
    let &[tokens, dimensions] = view.shape() else {
        return Err(format!("its vectors have shape {:?}, not [tokens, dimensions]", view.shape()).into());
    };
    if tokens == 0 || dimensions == 0 {
        return Err("it holds no vectors".into());
    }
    let values = |name: &str| -> Result<Option<Vec<f32>>, BoxError> {
        let Ok(view) = tensors.tensor(name) else { return Ok(None) };
        let values = floats(view.dtype(), view.data()).ok_or("its vectors are not floats of 32 or 16 bits")?;
        if values.iter().any(|value| !value.is_finite()) {
            return Err("it holds values that are not finite".into());
        }
        Ok(Some(values))
    };
    let mut table = Array2::from_shape_vec((tokens, dimensions), values("embeddings")?.unwrap_or_default())?;
    if let Some(weights) = values("weights")? {
        if weights.len() != tokens {
            return Err(format!("it has {} weights for {tokens} tokens", weights.len()).into());
        }
        table *= &Array1::from(weights).insert_axis(Axis(1));
    }
    Ok(table)
}

#[cfg(test)]
mod tests;
