//! ONNX sessions: of any model that reads tokens, and of one that embeds chunks.

use std::path::Path;

use memory_core::port::{BoxError, TokenVectors};
use ndarray::{Array2, ArrayView2, Axis, Ix3, Slice};
use ort::{
    environment::Environment,
    session::{Session, SessionInputValue, SessionOutputs},
    value::TensorRef,
};

use super::{
    pooling::{pooled_unit_vector, token_unit_vectors},
    workers::{Engine, Sequence, WorkError},
};
use crate::{Pooling, convert::Ranges};

const IDS: &str = "input_ids";
const MASK: &str = "attention_mask";
const TYPES: &str = "token_type_ids";
const HIDDEN: &str = "last_hidden_state";

/// The runtime's fused operator of sum and normalization takes several times as long as the two.
const SLOW_REWRITE: &str = "SkipLayerNormFusion";

/// Setting of the directory with the tensors that a graph keeps in files of their own. The runtime maps the files, so
/// that processes share them and read what they use.
const TENSORS: &str = "session.model_external_initializers_file_folder_path";

/// A graph in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Graph<'a> {
    pub(super) bytes: &'a [u8],
    /// The directory with its tensors in files of their own, if any.
    pub(super) tensors: Option<&'a Path>,
}

/// A model that reads rows of tokens.
#[derive(Debug)]
pub(super) struct TokenSession {
    session: Session,
    takes_types: bool,
    pad: u32,
}

impl TokenSession {
    /// Loads `graph`, running it on `threads` threads and padding rows with token `pad`. Also returns the shape of
    /// `output`, in which a dynamic size is -1.
    pub(super) fn open(
        environment: &Environment,
        graph: Graph<'_>,
        threads: usize,
        pad: u32,
        output: &str,
    ) -> Result<(Self, Option<Vec<i64>>), BoxError> {
        let tensors = graph.tensors.map(|path| path.to_str().ok_or("the name of its directory is not Unicode"));
        let session = build(environment, graph.bytes, tensors.transpose()?, threads)?;
        let takes = |name: &str| session.inputs().iter().any(|input| input.name() == name);
        if let Some(missing) = [IDS, MASK].into_iter().find(|name| !takes(name)) {
            return Err(format!("it has no input {missing}").into());
        }
        let found = session.outputs().iter().find(|there| there.name() == output);
        let found = found.ok_or_else(|| format!("it has no output {output}"))?;
        let shape = found.dtype().tensor_shape().map(|shape| shape.to_vec());
        Ok((Self { takes_types: takes(TYPES), session, pad }, shape))
    }

    /// Runs sequences, padded to the longest.
    pub(super) fn run<S: Sequence>(&mut self, sequences: &[S]) -> ort::Result<SessionOutputs<'_>> {
        let width = width_of(sequences);
        let ones = vec![1; width];
        let ids = padded(sequences.iter().map(Sequence::ids), width, self.pad);
        let mask = padded(sequences.iter().map(|row| ones.get(..row.ids().len()).unwrap_or_default()), width, 0);
        let types = padded(sequences.iter().map(Sequence::types), width, 0);
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> =
            vec![(IDS, TensorRef::from_array_view(&ids)?.into()), (MASK, TensorRef::from_array_view(&mask)?.into())];
        if self.takes_types {
            inputs.push((TYPES, TensorRef::from_array_view(&types)?.into()));
        }
        self.session.run(inputs)
    }
}

fn build(environment: &Environment, graph: &[u8], tensors: Option<&str>, threads: usize) -> ort::Result<Session> {
    let mut builder = Session::builder(environment)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_intra_op_spinning(false)?
        // Memory patterns fit only one shape; batches differ in shape.
        .with_memory_pattern(false)?
        .with_disabled_optimizers(SLOW_REWRITE)?;
    if let Some(directory) = tensors {
        builder = builder.with_config_entry(TENSORS, directory)?;
    }
    builder.commit_from_memory(graph)
}

/// Tokens of the longest sequence.
pub(super) fn width_of<S: Sequence>(sequences: &[S]) -> usize {
    sequences.iter().map(|sequence| sequence.ids().len()).max().unwrap_or_default()
}

/// A row for each of `rows`, padded to `width` with `pad`.
fn padded<'a>(rows: impl ExactSizeIterator<Item = &'a [u32]>, width: usize, pad: u32) -> Array2<i64> {
    let mut padded = Array2::from_elem((rows.len(), width), i64::from(pad));
    for (mut places, row) in padded.outer_iter_mut().zip(rows) {
        places.iter_mut().zip(row).for_each(|(place, token)| *place = i64::from(*token));
    }
    padded
}

/// The tokens of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Token ids, including special tokens and prompt.
    pub(crate) ids: Vec<u32>,
    /// Indices of the tokens with requested vectors, in order.
    pub(super) requested: Vec<usize>,
}

impl Sequence for Chunk {
    fn ids(&self) -> &[u32] {
        &self.ids
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
    session: TokenSession,
    dimensions: usize,
    pooling: Pooling,
}

impl SentenceSession {
    /// Loads `graph`, running it on `threads` threads, padding rows with token `pad` and pooling with `pooling`.
    pub(super) fn open(
        environment: &Environment,
        graph: Graph<'_>,
        threads: usize,
        pad: u32,
        pooling: Pooling,
    ) -> Result<Self, BoxError> {
        let (session, shape) = TokenSession::open(environment, graph, threads, pad, HIDDEN)?;
        let dimensions = match shape.as_deref() {
            Some(&[_, _, last]) if last > 0 => usize::try_from(last)?,
            _ => {
                return Err(
                    format!("its output {HIDDEN} has shape {shape:?}, not [batch, sequence, dimensions]").into()
                );
            }
        };
        Ok(Self { session, dimensions, pooling })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Runs `chunk` through a calibration graph and merges its ranges into `ranges`.
    pub(super) fn calibrate(&mut self, chunk: &Chunk, ranges: &mut Ranges) -> Result<(), BoxError> {
        for (name, value) in &self.session.run(std::slice::from_ref(chunk))? {
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
        let width = width_of(chunks);
        if width == 0 {
            return Ok(Vec::new());
        }
        let (dimensions, pooling) = (self.dimensions, self.pooling);
        let outputs = self.session.run(chunks)?;
        let hidden = outputs.get(HIDDEN).ok_or_else(|| WorkError::BadOutput(format!("no {HIDDEN}")))?;
        let hidden = hidden.try_extract_array::<f32>()?;
        let of_chunk = |(rows, chunk): (ArrayView2<'_, f32>, &Chunk)| {
            let rows = rows.slice_axis(Axis(0), Slice::from(..chunk.ids.len()));
            let (whole, tokens) = (pooled_unit_vector(pooling, rows)?, token_unit_vectors(rows, chunk)?);
            Some(ChunkVectors { whole, tokens })
        };
        let fitting = hidden.view().into_dimensionality::<Ix3>().ok();
        let fitting = fitting.filter(|hidden| hidden.dim() == (chunks.len(), width, dimensions));
        let found = fitting.and_then(|hidden| hidden.outer_iter().zip(chunks).map(of_chunk).collect());
        found.ok_or_else(|| {
            WorkError::BadOutput(format!(
                "{HIDDEN} of shape {:?} for {} sequences of {width} tokens, or values without a direction",
                hidden.shape(),
                chunks.len()
            ))
        })
    }
}

impl From<ort::Error> for WorkError {
    fn from(error: ort::Error) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_padded() {
        let rows = [[1, 2].as_slice(), &[3], &[]];
        assert_eq!(padded(rows.into_iter(), 3, 9), ndarray::aview2(&[[1, 2, 9], [3, 9, 9], [9, 9, 9]]));
    }
}
