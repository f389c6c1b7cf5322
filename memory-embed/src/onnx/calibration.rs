//! Calibration: measures the ranges of the inputs of an encoder's linear layers.

use std::path::Path;

use super::{
    embedder::{LoadedModel, OnnxOptions},
    gate::chunks_of,
};
use crate::{
    ModelError, ModelFiles,
    convert::{Ranges, convert_for_calibration},
};

/// Sample as varied as that of the quality gate, but disjoint from it; one text per line.
const SAMPLE: &str = include_str!("calibration/sample.txt");

/// Runs the encoder in `directory` on a fixed sample of texts. The graph of `files` need not exist.
pub(super) fn measured_ranges(directory: &Path, files: &ModelFiles) -> Result<Ranges, ModelError> {
    let graph = convert_for_calibration(directory)?;
    let (splitter, _, open) = LoadedModel::without_graph(files, &OnnxOptions::default())?;
    let mut session = open(&graph)?;
    drop(graph);
    let mut ranges = Ranges::default();
    for text in SAMPLE.lines().filter(|line| !line.is_empty()) {
        for chunk in chunks_of(&splitter, files, text)? {
            let failed = |source| ModelError::Graph { path: files.model.clone(), source };
            session.calibrate(&chunk, &mut ranges).map_err(failed)?;
        }
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{checksum::sha256_hex, convert::CONVERTER};

    #[test]
    fn another_sample_is_another_converter() {
        let sha256 = sha256_hex(SAMPLE.as_bytes());
        assert_eq!(
            (CONVERTER, sha256.get(..12)),
            (2, Some("e759f9f867e7")),
            "raise CONVERTER when the sample is changed"
        );
    }
}
