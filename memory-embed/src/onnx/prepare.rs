//! Prepares a model: converts its weights to graphs and checks the quantized one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{calibration::measured_ranges, vocabulary::compile};
use crate::{
    GateReport, ModelError, ModelFiles, Precision, check_quantized,
    checksum::{sha256, sha256_hex, sha256_hex_of_file},
    convert::{CONVERTER, WORDS, convert, convert_quantized, unpack, weights_in},
    files::{self, if_there},
    models::{ConvertedFile, ConvertedGraph, ConvertedGraphs},
};

/// Options of preparing a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrepareOptions {
    /// True to convert up-to-date graphs again.
    pub force: bool,
}

impl PrepareOptions {
    memory_core::setters! { const force: bool }
}

/// Progress of preparing a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrepareEvent {
    /// A graph is being written.
    Converting(Precision),
    /// The ranges of the inputs of its linear layers are being measured.
    Measuring,
    /// The quantized graph is being compared with the fp32 graph.
    Checking,
}

/// The result of preparing a model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Prepared {
    /// True if graphs were converted; false if they were up to date.
    pub converted: bool,
    /// Quality of the quantized graph, or why it was refused.
    pub int8: Result<GateReport, ModelError>,
}

/// Converts the weights of the encoder `name` in `directory` to a graph in 32-bit floats and one in 8-bit integers, in
/// `onnx/` next to them. Removes the 8-bit graph if it does not pass [`check_quantized`]. Compiles the tokenizer if it is
/// a Unigram. Writes the configuration and the tokenizer of a packed model first.
///
/// Graphs of the model's authors are kept as `model_shipped.onnx` and `model_int8_shipped.onnx`. Does nothing if this
/// version has converted both graphs from these weights and checked them on a processor like this one, unless
/// [`PrepareOptions::force`] is set. Writes each file atomically, and their record last.
///
/// # Errors
/// [`ModelError`]. A quantized graph that does not pass is not an error; see [`Prepared::int8`].
pub fn prepare(
    directory: &Path,
    name: &str,
    runtime: &Path,
    options: &PrepareOptions,
    progress: &mut dyn FnMut(PrepareEvent),
) -> Result<Prepared, ModelError> {
    unpack(directory)?;
    let weights_sha256 = file_sha256(&weights_in(directory))?;
    let tokenizer_path = directory.join("tokenizer.json");
    let tokenizer_sha256 = file_sha256(&tokenizer_path)?;
    if !options.force
        && let Some(report) = present(directory, &weights_sha256, &tokenizer_sha256)?
    {
        return Ok(Prepared { converted: false, int8: Ok(report) });
    }
    let graphs = ConvertedGraphs::directory(directory);
    fs::create_dir_all(&graphs).map_err(failed(&graphs))?;
    let make = |bytes: &[u8], file: &str| -> Result<ConvertedFile, ModelError> {
        write(&graphs.join(file), bytes)?;
        Ok(ConvertedFile { file: file.to_owned(), size: bytes.len() as u64, sha256: sha256_hex(bytes) })
    };
    // Calibrates first, so that the old graphs stay if the runtime fails.
    progress(PrepareEvent::Measuring);
    let ranges = measured_ranges(directory, &ModelFiles::unconverted(directory, name, runtime, Precision::Full)?)?;
    progress(PrepareEvent::Converting(Precision::Full));
    let full = convert(directory)?;
    if ConvertedGraphs::read(directory)?.is_none() {
        keep_shipped(&graphs.join("model.onnx"), &graphs.join("model_shipped.onnx"), &full)?;
        // Without a record, an existing int8 graph is not ours: the record is written before such a graph.
        keep_shipped(&graphs.join("model_int8.onnx"), &graphs.join("model_int8_shipped.onnx"), &[])?;
    }
    let full = ConvertedGraph { graph: make(&full, "model.onnx")?, words: None, gate: None };
    let tokenizer = compiled(&tokenizer_path)?.map(|bytes| make(&bytes, "tokenizer.unigram")).transpose()?;
    let mut record =
        ConvertedGraphs { converter: CONVERTER, weights_sha256, tokenizer_sha256, tokenizer, full, int8: None };
    write_record(directory, &record)?;

    let full = ModelFiles::in_directory(directory, name, runtime, Precision::Full)?;
    progress(PrepareEvent::Converting(Precision::Int8));
    let int8 = convert_quantized(directory, &ranges)?;
    let words = int8.words.as_deref().map(|words| make(words, WORDS)).transpose()?;
    let mut int8 = ConvertedGraph { graph: make(&int8.bytes, "model_int8.onnx")?, words, gate: None };

    progress(PrepareEvent::Checking);
    let quantized = ModelFiles {
        name: format!("{name}/{}", Precision::Int8.name()),
        model: graphs.join(&int8.graph.file),
        model_sha256: Some(int8.graph.sha256.clone()),
        words_sha256: int8.words.as_ref().map(|words| words.sha256.clone()),
        ..full.clone()
    };
    let report = match check_quantized(&full, &quantized) {
        Ok(report) => {
            int8.gate = Some(report.clone());
            record.int8 = Some(int8);
            write_record(directory, &record)?;
            Ok(report)
        }
        Err(refused @ ModelError::Gate { .. }) => {
            for file in std::iter::once(&int8.graph).chain(&int8.words).map(|file| graphs.join(&file.file)) {
                fs::remove_file(&file).map_err(failed(&file))?;
            }
            Err(refused)
        }
        Err(other) => return Err(other),
    };
    Ok(Prepared { converted: true, int8: report })
}

/// Keeps the graph at `there` also under the name `aside`, unless it is our own conversion.
fn keep_shipped(there: &Path, aside: &Path, made: &[u8]) -> Result<(), ModelError> {
    if aside.exists() {
        return Ok(());
    }
    match if_there(sha256_hex_of_file(there)).map_err(failed(there))? {
        None => Ok(()),
        // Converted by an earlier, interrupted call.
        Some(sha256) if sha256 == sha256_hex(made) => Ok(()),
        // The graph keeps its name until it is replaced. Not every file system supports hard links.
        Some(_) if fs::hard_link(there, aside).is_ok() => Ok(()),
        Some(_) => write(aside, &files::read_weights(there).map_err(failed(there))?),
    }
}

/// The report on the existing graphs, if they are up to date.
fn present(directory: &Path, weights: &str, tokenizer: &str) -> Result<Option<GateReport>, ModelError> {
    let Some(record) = ConvertedGraphs::read(directory)? else { return Ok(None) };
    if record.converter != CONVERTER || record.weights_sha256 != weights || record.tokenizer_sha256 != tokenizer {
        return Ok(None);
    }
    let Some(int8) = record.int8 else { return Ok(None) };
    let graphs = [&record.full, &int8].into_iter().flat_map(|graph| std::iter::once(&graph.graph).chain(&graph.words));
    for file in graphs.chain(&record.tokenizer) {
        let path = ConvertedGraphs::directory(directory).join(&file.file);
        if if_there(sha256_hex_of_file(&path)).map_err(failed(&path))?.as_ref() != Some(&file.sha256) {
            return Ok(None);
        }
    }
    Ok(int8.gate.filter(GateReport::matches_this_processor))
}

/// The compiled tokenizer, if its vocabulary can be compiled.
fn compiled(path: &Path) -> Result<Option<Vec<u8>>, ModelError> {
    let json = files::read_text(path).map_err(|source| ModelError::reading("the tokenizer", path, source))?;
    compile(&json, sha256(&json)).map_err(|source| ModelError::Tokenizer { path: path.to_owned(), source })
}

fn file_sha256(path: &Path) -> Result<String, ModelError> {
    sha256_hex_of_file(path).map_err(|source| ModelError::reading("a file of the model", path, source))
}

fn write_record(directory: &Path, record: &ConvertedGraphs) -> Result<(), ModelError> {
    let path = ConvertedGraphs::path(directory);
    let json = serde_json::to_vec_pretty(record).map_err(|error| failed(&path)(error.into()))?;
    write(&path, &json)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    files::replace(path, bytes).map_err(failed(path))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ModelError {
    let path: PathBuf = path.to_path_buf();
    |source| ModelError::Disk { path, source }
}
