//! Whether a quantized graph still says what its 32-bit original says.

use memory_core::BoxError;

use super::{
    embedder::{Loaded, OnnxOptions},
    session::Chunk,
    splitter::Splitter,
    workers::{Engine, Urgency},
};
use crate::{GateReport, ModelError, ModelFiles};

/// The least mean cosine that passes.
const LEAST_MEAN: f64 = 0.99;

/// The least cosine of a single text that passes.
const LEAST: f64 = 0.95;

/// Remarks, questions, code, tables, logs and other languages, short and long: one a line.
const SAMPLE: &str = include_str!("gate/sample.txt");

/// Compares the vectors that `quantized` gives with those of its original, `full`, on a fixed sample of texts.
///
/// # Errors
/// [`ModelError::Gate`] if they are too far apart; those of [`OnnxEmbedder::load`](crate::OnnxEmbedder::load); [`ModelError::Graph`] if one
/// of them gives no vectors.
pub fn check_quantized(full: &ModelFiles, quantized: &ModelFiles) -> Result<GateReport, ModelError> {
    let texts: Vec<&str> = SAMPLE.lines().filter(|line| !line.is_empty()).collect();
    let (full, found) = (vectors(full, &texts)?, vectors(quantized, &texts)?);
    let cosines: Vec<f64> = full.iter().zip(&found).map(|(full, found)| cosine(full, found)).collect();
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let least = cosines.iter().copied().fold(1.0, f64::min);
    if full.len() == found.len() && mean >= LEAST_MEAN && least >= LEAST {
        return Ok(GateReport::new(texts.len(), mean, least));
    }
    Err(ModelError::Gate { model: quantized.name.clone(), mean, least, wanted_mean: LEAST_MEAN, wanted_least: LEAST })
}

/// The vectors of all chunks of all texts, one after another.
fn vectors(files: &ModelFiles, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
    let Loaded { splitter, mut session, .. } = Loaded::open(files, &OnnxOptions::default())?;
    let mut vectors = Vec::with_capacity(texts.len());
    for text in texts {
        for chunk in chunks_of(&splitter, files, text)? {
            let failed = |error| ModelError::Graph { path: files.model.clone(), source: BoxError::from(error) };
            vectors.extend(session.run(&[chunk]).map_err(failed)?.into_iter().map(|vectors| vectors.whole));
        }
    }
    Ok(vectors)
}

/// What of `text` runs at once: as a document, and as a question where the model tells the two apart.
pub(super) fn chunks_of(splitter: &Splitter, files: &ModelFiles, text: &str) -> Result<Vec<Chunk>, ModelError> {
    let split = |urgency| {
        let chunks = splitter.split(text, urgency, false);
        chunks.map_err(|source| ModelError::Tokenizer { path: files.tokenizer.clone(), source })
    };
    let mut chunks = split(Urgency::Indexing)?;
    if files.prompts.query != files.prompts.document {
        chunks.extend(split(Urgency::Question)?);
    }
    Ok(chunks)
}

/// Of unit vectors.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
