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
    use std::{env, fs};

    use super::*;
    use crate::{
        ALL_MINILM_L6_V2, ModelStore, Precision, check_quantized,
        checksum::sha256_hex,
        convert::{Activations, CONVERTER, convert_quantized},
    };

    #[test]
    fn another_sample_is_another_converter() {
        let digest = sha256_hex(SAMPLE.as_bytes());
        assert_eq!(
            (CONVERTER, digest.get(..12)),
            (2, Some("e759f9f867e7")),
            "raise CONVERTER when the sample is changed"
        );
    }

    /// The way that serves MPNet, on the model that is at hand.
    #[test]
    fn a_scale_for_each_row_of_activations_is_nearer_to_floats() {
        let store = ModelStore::discover(None).unwrap();
        let files = |precision| store.locate_with(ALL_MINILM_L6_V2.name, precision);
        let (full, measured) = match (files(Precision::Full), files(Precision::Int8)) {
            (Ok(full), Ok(measured)) => (full, measured),
            (Err(error), _) | (_, Err(error)) if env::var_os("CI").is_some_and(|ci| ci == "true") => panic!("{error}"),
            (Err(error), _) | (_, Err(error)) => return eprintln!("skipped: {error}"),
        };
        let model = full.tokenizer.parent().unwrap();
        let ranges = measured_ranges(model, &full).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let graph = directory.path().join("by_row.onnx");
        fs::write(&graph, convert_quantized(model, &ranges, Activations::ByRow).unwrap()).unwrap();
        let by_row = ModelFiles { model: graph, model_sha256: None, ..measured.clone() };
        let by_row = check_quantized(&full, &by_row).unwrap();
        let measured = check_quantized(&full, &measured).unwrap();
        assert!(by_row.mean > measured.mean + 0.001 && by_row.mean < 0.99999, "{by_row:?} {measured:?}");
    }
}
