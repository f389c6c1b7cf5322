//! One ONNX session: sequences of token numbers become unit vectors.

use memory_core::BoxError;
use ort::{
    environment::Environment,
    session::{Session, SessionInputValue},
    value::TensorRef,
};

use super::{
    pooling::mean_unit_vectors,
    workers::{Engine, WorkError},
};

const IDS: &str = "input_ids";
const MASK: &str = "attention_mask";
const TYPES: &str = "token_type_ids";
const HIDDEN: &str = "last_hidden_state";

/// Without this rewrite of the graph it runs 10 to 20 % faster.
const SLOW_REWRITE: &str = "SkipLayerNormFusion";

/// A loaded graph.
#[derive(Debug)]
pub(super) struct SentenceSession {
    session: Session,
    takes_types: bool,
    dimensions: usize,
    pad: i64,
}

impl SentenceSession {
    /// Loads `graph`, which will use `threads` threads and fill up rows with token `pad`.
    pub(super) fn open(environment: &Environment, graph: &[u8], threads: usize, pad: u32) -> Result<Self, BoxError> {
        let session = build(environment, graph, threads)?;
        let takes = |name: &str| session.inputs().iter().any(|input| input.name() == name);
        if let Some(missing) = [IDS, MASK].into_iter().find(|name| !takes(name)) {
            return Err(format!("it has no input {missing}").into());
        }
        let hidden = session.outputs().iter().find(|output| output.name() == HIDDEN);
        let hidden = hidden.ok_or_else(|| format!("it has no output {HIDDEN}"))?;
        let dimensions = match hidden.dtype().tensor_shape().map(|shape| shape.to_vec()).as_deref() {
            Some(&[_, _, last]) if last > 0 => usize::try_from(last)?,
            shape => {
                return Err(
                    format!("its output {HIDDEN} has shape {shape:?}, not [batch, sequence, dimensions]").into()
                );
            }
        };
        Ok(Self { takes_types: takes(TYPES), session, dimensions, pad: i64::from(pad) })
    }

    /// Components of its vectors.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }
}

fn build(environment: &Environment, graph: &[u8], threads: usize) -> ort::Result<Session> {
    Session::builder(environment)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_intra_op_spinning(false)?
        // Plans memory for one shape; batches differ in shape.
        .with_memory_pattern(false)?
        .with_disabled_optimizers(SLOW_REWRITE)?
        .commit_from_memory(graph)
}

impl Engine<Vec<u32>, Vec<f32>> for SentenceSession {
    fn run(&mut self, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, WorkError> {
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let Some(width) = lengths.iter().copied().max().filter(|width| *width > 0) else {
            return Ok(Vec::new());
        };
        let shape = [sequences.len(), width];
        let mut ids = vec![self.pad; sequences.len() * width];
        let mut mask = vec![0_i64; ids.len()];
        for ((ids, mask), sequence) in ids.chunks_exact_mut(width).zip(mask.chunks_exact_mut(width)).zip(sequences) {
            for ((id, mask), token) in ids.iter_mut().zip(mask).zip(sequence) {
                *id = i64::from(*token);
                *mask = 1;
            }
        }
        let types = vec![0_i64; if self.takes_types { ids.len() } else { 0 }];
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = vec![
            (IDS, TensorRef::from_array_view((shape, ids.as_slice()))?.into()),
            (MASK, TensorRef::from_array_view((shape, mask.as_slice()))?.into()),
        ];
        if self.takes_types {
            inputs.push((TYPES, TensorRef::from_array_view((shape, types.as_slice()))?.into()));
        }
        let outputs = self.session.run(inputs)?;
        let hidden = outputs.get(HIDDEN).ok_or_else(|| WorkError::BadOutput(format!("no {HIDDEN}")))?;
        let (shape, values) = hidden.try_extract_tensor::<f32>()?;
        mean_unit_vectors(values, &lengths, width, self.dimensions).ok_or_else(|| {
            WorkError::BadOutput(format!(
                "{HIDDEN} of shape {shape} for {} sequences of {width} tokens, or values that are no direction",
                lengths.len()
            ))
        })
    }
}

impl From<ort::Error> for WorkError {
    fn from(error: ort::Error) -> Self {
        Self::Failed(error.into())
    }
}
