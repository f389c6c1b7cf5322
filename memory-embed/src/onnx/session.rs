//! An ONNX session that embeds chunks.

use memory_core::port::{BoxError, TokenVectors};
use ort::{
    environment::Environment,
    session::{Session, SessionInputValue, SessionOutputs},
    value::TensorRef,
};

use super::{
    pooling::{pooled_unit_vectors, token_unit_vectors},
    rows::{mask, padded},
    workers::{Engine, Sequence, WorkError},
};
use crate::{Pooling, convert::Ranges};

pub(super) const IDS: &str = "input_ids";
pub(super) const MASK: &str = "attention_mask";
pub(super) const TYPES: &str = "token_type_ids";
const HIDDEN: &str = "last_hidden_state";

/// The runtime's fused operator of sum and normalization takes several times as long as the two.
const SLOW_REWRITE: &str = "SkipLayerNormFusion";

/// The tokens of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Token ids, including special tokens and prompt.
    pub(crate) ids: Vec<u32>,
    /// Indices of the tokens with requested vectors, in order.
    pub(super) requested: Vec<usize>,
}

impl Sequence for Chunk {
    fn tokens(&self) -> usize {
        self.ids.len()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChunkVectors {
    /// Vector of the whole chunk, of unit length.
    pub(super) whole: Vec<f32>,
    /// Requested vectors of tokens.
    pub(super) tokens: TokenVectors,
}

#[derive(Debug)]
pub(super) struct SentenceSession {
    session: Session,
    takes_types: bool,
    dimensions: usize,
    pooling: Pooling,
    pad: u32,
}

impl SentenceSession {
    /// Loads `graph`, running it on `threads` threads, padding rows with token `pad` and pooling with `pooling`.
    pub(super) fn open(
        environment: &Environment,
        graph: &[u8],
        threads: usize,
        pad: u32,
        pooling: Pooling,
    ) -> Result<Self, BoxError> {
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
        Ok(Self { takes_types: takes(TYPES), session, dimensions, pooling, pad })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }
}

/// Creates a session with `threads` threads.
pub(super) fn build(environment: &Environment, graph: &[u8], threads: usize) -> ort::Result<Session> {
    Session::builder(environment)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_intra_op_spinning(false)?
        // Memory patterns fit only one shape; batches differ in shape.
        .with_memory_pattern(false)?
        .with_disabled_optimizers(SLOW_REWRITE)?
        .commit_from_memory(graph)
}

impl SentenceSession {
    /// Runs `chunks`, padded to `width` tokens.
    fn forward(&mut self, chunks: &[Chunk], lengths: &[usize], width: usize) -> ort::Result<SessionOutputs<'_>> {
        let shape = [chunks.len(), width];
        let ids = padded(chunks.iter().map(|chunk| chunk.ids.as_slice()), width, self.pad);
        let mask = mask(lengths, width);
        let types = vec![0_i64; if self.takes_types { ids.len() } else { 0 }];
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = vec![
            (IDS, TensorRef::from_array_view((shape, ids.as_slice()))?.into()),
            (MASK, TensorRef::from_array_view((shape, mask.as_slice()))?.into()),
        ];
        if self.takes_types {
            inputs.push((TYPES, TensorRef::from_array_view((shape, types.as_slice()))?.into()));
        }
        self.session.run(inputs)
    }

    /// Runs `chunk` through a calibration graph and merges its ranges into `ranges`.
    pub(super) fn calibrate(&mut self, chunk: &Chunk, ranges: &mut Ranges) -> Result<(), BoxError> {
        let width = chunk.ids.len();
        for (name, value) in &self.forward(std::slice::from_ref(chunk), &[width], width)? {
            if name != HIDDEN {
                let (_, values) = value.try_extract_tensor::<f32>()?;
                if !ranges.observe(name, values) {
                    return Err(format!("its output {name} is not a range").into());
                }
            }
        }
        Ok(())
    }
}

impl Engine<Chunk, ChunkVectors> for SentenceSession {
    fn run(&mut self, chunks: &[Chunk]) -> Result<Vec<ChunkVectors>, WorkError> {
        let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.ids.len()).collect();
        let Some(width) = lengths.iter().copied().max().filter(|width| *width > 0) else {
            return Ok(Vec::new());
        };
        let (dimensions, pooling) = (self.dimensions, self.pooling);
        let outputs = self.forward(chunks, &lengths, width)?;
        let hidden = outputs.get(HIDDEN).ok_or_else(|| WorkError::BadOutput(format!("no {HIDDEN}")))?;
        let (shape, values) = hidden.try_extract_tensor::<f32>()?;
        let bad = || {
            WorkError::BadOutput(format!(
                "{HIDDEN} of shape {shape} for {} sequences of {width} tokens, or values without a direction",
                lengths.len()
            ))
        };
        let wholes = pooled_unit_vectors(pooling, values, &lengths, width, dimensions).ok_or_else(bad)?;
        let rows = values.chunks_exact(width * dimensions);
        wholes
            .into_iter()
            .zip(chunks)
            .zip(rows)
            .map(|((whole, chunk), row)| {
                let tokens = token_unit_vectors(row, chunk, dimensions).ok_or_else(bad)?;
                Ok(ChunkVectors { whole, tokens })
            })
            .collect()
    }
}

impl From<ort::Error> for WorkError {
    fn from(error: ort::Error) -> Self {
        Self::Failed(error.into())
    }
}
