//! An ONNX session that scores pairs.

use memory_core::port::BoxError;
use ort::environment::Environment;

use super::encoder::Pair;
use crate::onnx::{
    session::{Graph, TokenSession, width_of},
    workers::{Engine, WorkError},
};

const LOGITS: &str = "logits";

#[derive(Debug)]
pub(super) struct PairSession(TokenSession);

impl PairSession {
    /// Loads `graph`, running it on `threads` threads and padding rows with token `pad`.
    pub(super) fn open(environment: &Environment, graph: &[u8], threads: usize, pad: u32) -> Result<Self, BoxError> {
        let graph = Graph { bytes: graph, tensors: None };
        let (session, shape) = TokenSession::open(environment, graph, threads, pad, LOGITS)?;
        if !matches!(shape.as_deref(), Some(&[_, -1 | 1 | 2])) {
            return Err(format!("its output {LOGITS} has shape {shape:?}, not [batch, 1] or [batch, 2]").into());
        }
        Ok(Self(session))
    }
}

impl Engine<Pair, f32> for PairSession {
    fn run(&mut self, pairs: &[Pair]) -> Result<Vec<f32>, WorkError> {
        if width_of(pairs) == 0 {
            return Ok(Vec::new());
        }
        let outputs = self.0.run(pairs)?;
        let logits = outputs.get(LOGITS).ok_or_else(|| WorkError::BadOutput(format!("no {LOGITS}")))?;
        let (shape, values) = logits.try_extract_tensor::<f32>()?;
        scores(values, pairs.len()).ok_or_else(|| {
            let what = format!("{LOGITS} of shape {shape} for {} pairs, or values that are not finite", pairs.len());
            WorkError::BadOutput(what)
        })
    }
}

/// Score of each pair: its only logit, or the logit of the second class (relevant) minus that of the first.
///
/// `None` if there are not one or two logits per pair, or one is not finite.
fn scores(logits: &[f32], pairs: usize) -> Option<Vec<f32>> {
    let classes = logits.len().checked_div(pairs).filter(|classes| *classes > 0 && classes * pairs == logits.len())?;
    let score = |row: &[f32]| match *row {
        [only] => Some(only),
        [irrelevant, relevant] => Some(relevant - irrelevant),
        _ => None,
    };
    logits.chunks_exact(classes).map(|row| score(row).filter(|score| score.is_finite())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_class_is_the_score_and_two_are_its_difference() {
        assert_eq!(scores(&[1.5, -2.0], 2), Some(vec![1.5, -2.0]));
        assert_eq!(scores(&[1.0, 4.0, 2.0, 0.5], 2), Some(vec![3.0, -1.5]));
    }

    #[test]
    fn invalid_scores_are_refused() {
        assert_eq!(scores(&[1.0; 3], 1), None);
        assert_eq!(scores(&[1.0; 3], 2), None);
        assert_eq!(scores(&[], 2), None, "none at all");
        assert_eq!(scores(&[f32::NAN], 1), None);
        assert_eq!(scores(&[f32::INFINITY, f32::INFINITY], 1), None);
    }
}
