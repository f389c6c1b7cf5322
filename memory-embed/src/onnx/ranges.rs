//! Measures between which values the inputs of an encoder's linear layers lie.

use std::path::Path;

use super::{
    embedder::{Loaded, OnnxOptions},
    gate::chunks_of,
    prepare::PrepareError,
};
use crate::{
    ModelError, ModelFiles,
    convert::{Ranges, convert_watched},
};

/// As mixed as the sample that a quantized graph is checked on, but none of its texts: one a line.
const SAMPLE: &str = include_str!("ranges/sample.txt");

/// Runs the encoder in `directory` over a fixed sample of texts. `files` need not have a graph yet.
pub(super) fn measured_ranges(directory: &Path, files: &ModelFiles) -> Result<Ranges, PrepareError> {
    let graph = convert_watched(directory)?;
    let (splitter, _, open) = Loaded::without_graph(files, &OnnxOptions::default())?;
    let mut session = open(&graph)?;
    drop(graph);
    let mut ranges = Ranges::default();
    for text in SAMPLE.lines().filter(|line| !line.is_empty()) {
        for chunk in chunks_of(&splitter, files, text)? {
            let failed = |source| ModelError::Graph { path: files.model.clone(), source };
            session.watch(&chunk, &mut ranges).map_err(failed)?;
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
        let digest = sha256_hex(SAMPLE.as_bytes());
        assert_eq!(
            (CONVERTER, digest.get(..12)),
            (2, Some("e759f9f867e7")),
            "raise CONVERTER when the sample is changed"
        );
    }
}
