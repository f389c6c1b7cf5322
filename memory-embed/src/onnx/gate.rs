//! The quality gate of a quantized graph, which compares its vectors with those of the fp32 graph.

use memory_core::port::BoxError;

use super::{
    embedder::{LoadedModel, OnnxOptions},
    session::Chunk,
    splitter::Splitter,
    workers::{Engine, Priority},
};
use crate::{GateReport, ModelError, ModelFiles};

/// The required mean cosine.
const MIN_MEAN_COSINE: f64 = 0.99;

/// The required cosine of each text.
const MIN_COSINE: f64 = 0.95;

/// Statements, questions, code, tables, logs and other languages, short and long, one per line.
const SAMPLE: &str = include_str!("gate/sample.txt");

/// Compares the vectors of `quantized` with those of its fp32 graph `full` on a fixed sample of texts.
///
/// # Errors
/// [`ModelError::Gate`] if they differ too much; [`ModelError::Graph`] if a graph returns no vectors; the errors of
/// [`OnnxEmbedder::load`](crate::OnnxEmbedder::load).
pub fn check_quantized(full: &ModelFiles, quantized: &ModelFiles) -> Result<GateReport, ModelError> {
    let texts: Vec<&str> = SAMPLE.lines().filter(|line| !line.is_empty()).collect();
    let (full, found) = (vectors(full, &texts)?, vectors(quantized, &texts)?);
    let cosines: Vec<f64> = full.iter().zip(&found).map(|(full, found)| cosine(full, found)).collect();
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let least = cosines.iter().copied().fold(1.0, f64::min);
    if full.len() == found.len() && mean >= MIN_MEAN_COSINE && least >= MIN_COSINE {
        return Ok(GateReport::new(texts.len(), mean, least));
    }
    Err(ModelError::Gate {
        model: quantized.name.clone(),
        mean,
        least,
        required_mean: MIN_MEAN_COSINE,
        required_least: MIN_COSINE,
    })
}

/// The vectors of all chunks of all texts, in order.
fn vectors(files: &ModelFiles, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
    let LoadedModel { splitter, mut session, .. } = LoadedModel::open(files, &OnnxOptions::default())?;
    let mut vectors = Vec::with_capacity(texts.len());
    for text in texts {
        for chunk in chunks_of(&splitter, files, text)? {
            let failed = |error| ModelError::Graph { path: files.model.clone(), source: BoxError::from(error) };
            vectors.extend(session.run(&[chunk]).map_err(failed)?.into_iter().map(|vectors| vectors.whole));
        }
    }
    Ok(vectors)
}

/// The chunks of `text` as a document, and as a query if the model's prompts differ.
pub(super) fn chunks_of(splitter: &Splitter, files: &ModelFiles, text: &str) -> Result<Vec<Chunk>, ModelError> {
    let split = |priority| {
        let chunks = splitter.split(text, priority, false);
        chunks.map_err(|source| ModelError::Tokenizer { path: files.tokenizer.clone(), source })
    };
    let mut chunks = split(Priority::Indexing)?;
    if files.prompts.query != files.prompts.document {
        chunks.extend(split(Priority::Query)?);
    }
    Ok(chunks)
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
