//! Reads the tensors of a safetensors file, or of a packed one, as 32-bit floats.

use std::path::{Path, PathBuf};

use half::{bf16, f16};
use ndarray::{Array, Dimension, IntoDimension};
use safetensors::{Dtype, SafeTensors};

use super::packed::Packed;
use crate::ModelError;

/// A tensor that every encoder has. The text before it is the prefix of all names.
const KNOWN_TENSOR: &str = "embeddings.word_embeddings.weight";

#[derive(Debug)]
pub(super) struct Weights<'a> {
    path: PathBuf,
    tensors: Tensors<'a>,
    prefix: String,
}

#[derive(Debug)]
enum Tensors<'a> {
    Safe(SafeTensors<'a>),
    Packed(Packed<'a>),
}

impl<'a> Weights<'a> {
    /// Parses `bytes`, the content of the file at `path`.
    pub(super) fn read(path: &Path, bytes: &'a [u8]) -> Result<Self, ModelError> {
        let damaged = |source| ModelError::Weights { path: path.to_path_buf(), source };
        if Packed::is_packed(bytes) {
            let tensors = Tensors::Packed(Packed::read(bytes).map_err(damaged)?);
            return Ok(Self { path: path.to_path_buf(), tensors, prefix: String::new() });
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| damaged(error.into()))?;
        let prefix = tensors
            .names()
            .into_iter()
            .filter_map(|name| name.strip_suffix(KNOWN_TENSOR))
            .min_by_key(|prefix| prefix.len())
            .map(str::to_owned)
            .ok_or_else(|| missing(path, KNOWN_TENSOR))?;
        Ok(Self { path: path.to_path_buf(), tensors: Tensors::Safe(tensors), prefix })
    }

    /// The tensor `name`, which must have these dimensions and finite values.
    pub(super) fn tensor<D: IntoDimension>(&self, name: &str, dims: D) -> Result<Array<f32, D::Dim>, ModelError> {
        let dims = dims.into_dimension();
        let full = format!("{}{name}", self.prefix);
        let wrong = |what: String| ModelError::Tensor { path: self.path.clone(), name: full.clone(), what };
        let values = match &self.tensors {
            Tensors::Packed(packed) => packed.values(name).ok_or_else(|| missing(&self.path, &full))?,
            Tensors::Safe(tensors) => {
                let view = tensors.tensor(&full).map_err(|_| missing(&self.path, &full))?;
                if view.shape() != dims.slice() {
                    let (is, asked) = (view.shape(), dims.slice());
                    return Err(wrong(format!("has shape {is:?}, and the configuration asks for {asked:?}")));
                }
                floats(view.dtype(), view.data())
                    .ok_or_else(|| wrong(format!("holds {:?}, not floats of 32 or 16 bits", view.dtype())))?
            }
        };
        if values.iter().any(|value| !value.is_finite()) {
            return Err(wrong("holds values that are not finite".to_owned()));
        }
        Array::from_shape_vec(dims, values).map_err(|error| wrong(error.to_string()))
    }
}

/// Decodes little-endian floats; `None` for another type.
pub(crate) fn floats(dtype: Dtype, data: &[u8]) -> Option<Vec<f32>> {
    let pairs = || data.as_chunks::<2>().0.iter().copied();
    Some(match dtype {
        Dtype::F32 => data.as_chunks::<4>().0.iter().copied().map(f32::from_le_bytes).collect(),
        Dtype::F16 => pairs().map(|pair| f16::from_le_bytes(pair).to_f32()).collect(),
        Dtype::BF16 => pairs().map(|pair| bf16::from_le_bytes(pair).to_f32()).collect(),
        _ => return None,
    })
}

fn missing(path: &Path, name: &str) -> ModelError {
    ModelError::Tensor { path: path.to_path_buf(), name: name.to_owned(), what: "is missing".to_owned() }
}

#[cfg(test)]
mod tests {
    use safetensors::tensor::TensorView;

    use super::*;

    fn file(name: &str, dtype: Dtype, data: &[u8], shape: &[usize]) -> Vec<u8> {
        let view = TensorView::new(dtype, shape.to_vec(), data).unwrap();
        safetensors::serialize([(name.to_owned(), view)], None).unwrap()
    }

    fn what(error: ModelError) -> String {
        let ModelError::Tensor { what, .. } = error else { panic!("{error}") };
        what
    }

    #[test]
    fn sixteen_bits_are_widened_and_a_prefix_is_found() {
        let data: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect();
        let bytes = file(&format!("bert.{KNOWN_TENSOR}"), Dtype::BF16, &data, &[1, 2]);
        let weights = Weights::read(Path::new("w"), &bytes).unwrap();
        assert_eq!(weights.tensor(KNOWN_TENSOR, [1, 2]).unwrap(), ndarray::aview2(&[[1.5, -2.0]]));
    }

    #[test]
    fn what_is_not_as_configured_is_refused_by_name() {
        let bytes = file(KNOWN_TENSOR, Dtype::F32, &f32::NAN.to_le_bytes(), &[1, 1]);
        let weights = Weights::read(Path::new("w"), &bytes).unwrap();
        assert!(what(weights.tensor(KNOWN_TENSOR, [1, 1]).unwrap_err()).contains("not finite"));
        assert!(what(weights.tensor(KNOWN_TENSOR, [2, 1]).unwrap_err()).contains("shape"));
        assert!(what(weights.tensor("pooler", [1]).unwrap_err()).contains("missing"));
        let bytes = file(KNOWN_TENSOR, Dtype::I32, &[0; 4], &[1, 1]);
        let weights = Weights::read(Path::new("w"), &bytes).unwrap();
        assert!(what(weights.tensor(KNOWN_TENSOR, [1, 1]).unwrap_err()).contains("I32"));
        assert!(matches!(Weights::read(Path::new("w"), b"{}"), Err(ModelError::Weights { .. })));
    }
}
