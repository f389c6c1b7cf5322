//! `memory model list`: shows all models, their cost, and which are present.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args as ClapArgs;
use memory::models::{SHORT_NAMES, source_of};
use memory_embed::{
    ALL_MINILM_L6_V2, Backend, ModelDirectory, ModelError, ModelFiles, ModelSource, ModelStore, PINNED_MODELS,
    PinnedModel, Precision,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{globals::Globals, output::megabytes};

/// Shows all models, what they cost, and which are present.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {}

/// Approximate messages of 45 tokens a second on two cores, as measured; this machine may differ.
fn usual_speed(name: &str, precision: Precision) -> Option<u32> {
    match precision {
        Precision::Int8 if name == ALL_MINILM_L6_V2.name => Some(900),
        Precision::Full if name == ALL_MINILM_L6_V2.name => Some(270),
        _ => None,
    }
}

/// Models that are present or can be fetched.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Directory of the models.
    directory: String,
    models: &'a [Row],
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct Row {
    /// Name of the model.
    name: String,
    /// Number of components of a vector.
    dimensions: Option<usize>,
    /// Most tokens of a text; 0 for any number.
    max_tokens: Option<usize>,
    /// Bytes to fetch.
    #[serde(rename = "download_bytes")]
    download: Option<u64>,
    /// Bytes on disk.
    #[serde(rename = "disk_bytes")]
    on_disk: u64,
    /// Messages per second, as measured on two cores.
    #[serde(rename = "messages_per_s")]
    speed: Option<u32>,
    /// Licence of the model.
    licence: &'static str,
    /// State of the model, or the command that fetches it.
    state: String,
}

pub(super) fn run(_: &Args, globals: &Globals) -> anyhow::Result<()> {
    let store = globals.models()?;
    let here = store.models()?;
    let mut rows = Vec::new();
    for model in PINNED_MODELS {
        rows.extend(pinned(model, &store)?);
    }
    let unpinned = SHORT_NAMES.iter().map(|(_, id)| *id).filter(|id| !here.iter().any(|name| name == id));
    rows.extend(unpinned.map(|id| Row {
        name: id.to_owned(),
        licence: "Apache-2.0",
        state: "in no pinned package: `memory model fetch` takes it from the hub".to_owned(),
        ..Row::default()
    }));
    for name in here.iter().filter(|name| PINNED_MODELS.iter().all(|model| model.name != name.as_str())) {
        rows.extend(other(name, &store)?);
    }
    let output = globals.output;
    if output.json {
        return Ok(output.value(&Answer { directory: store.root().display().to_string(), models: &rows })?);
    }
    let text = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let lines = rows.into_iter().map(|row| {
        [
            row.name,
            text(row.dimensions.map(|dimensions| dimensions.to_string())),
            text(row.max_tokens.map(|tokens| if tokens == 0 { "any".to_owned() } else { tokens.to_string() })),
            text(row.download.map(megabytes)),
            text(Some(row.on_disk).filter(|bytes| *bytes > 0).map(megabytes)),
            text(row.speed.map(|speed| format!("{speed}/s"))),
            row.licence.to_owned(),
            row.state,
        ]
    });
    let header = ["model", "dimensions", "tokens", "download", "on disk", "messages", "licence", "state"];
    output.table(header, lines)?;
    output.line("messages: about so many a second on two cores; `memory model test NAME` measures it here")?;
    output.line("over a network: bedrock:ID and openai:NAME, as docs/remote-models.md lists them")?;
    Ok(output.line(&format!("models are kept in {}", store.root().display()))?)
}

fn pinned(model: &'static PinnedModel, store: &ModelStore) -> io::Result<Vec<Row>> {
    let directory = store.directory_of(model.name);
    let row = |precision: Precision, name: String, state: String| -> io::Result<Row> {
        Ok(Row {
            name,
            dimensions: Some(model.dimensions),
            max_tokens: Some(model.max_tokens),
            download: Some(model.packages.iter().map(|package| package.download_size()).sum()),
            on_disk: size(&directory, model.backend, precision)?,
            speed: usual_speed(model.name, precision),
            licence: model.licence,
            state,
        })
    };
    match model.backend {
        Backend::Onnx => [Precision::Int8, Precision::Full]
            .map(|precision| {
                let state = describe(store.locate_with(model.name, precision).map(drop));
                row(precision, format!("{}/{}", model.name, precision.name()), state)
            })
            .into_iter()
            .collect(),
        _ => {
            let is_here = directory.join("model.safetensors").is_file();
            let state = if is_here { "here" } else { "not here" };
            Ok(vec![row(Precision::Full, model.name.to_owned(), state.to_owned())?])
        }
    }
}

/// The rows of a model that is present but in no pinned package: one for each precision that it can run in.
fn other(name: &str, store: &ModelStore) -> io::Result<Vec<Row>> {
    let Ok(source) = name.parse::<ModelSource>();
    let directory = source.directory(store);
    let described = match ModelDirectory::read(&directory) {
        Ok(described) => described,
        Err(error) => return Ok(vec![Row { name: name.to_owned(), state: error.to_string(), ..Row::default() }]),
    };
    let is_static = described.backend == Backend::Static;
    let row = |precision: Precision, name: String| -> io::Result<Row> {
        Ok(Row {
            name,
            dimensions: described.dimensions,
            max_tokens: Some(if is_static { 0 } else { described.max_tokens }),
            on_disk: size(&directory, described.backend, precision)?,
            speed: usual_speed(&source.name(), precision),
            state: "here".to_owned(),
            ..Row::default()
        })
    };
    if is_static {
        return Ok(vec![row(Precision::Full, name.to_owned())?]);
    }
    let runtime = store.runtime().unwrap_or_default();
    let mut rows = Vec::new();
    for precision in [Precision::Int8, Precision::Full] {
        match ModelFiles::in_directory(&directory, name, &runtime, precision) {
            Ok(_) => rows.push(row(precision, format!("{name}/{}", precision.name()))?),
            // A model that came as a graph has only one precision.
            Err(ModelError::Missing { .. }) if precision == Precision::Int8 => {}
            Err(error) => {
                let state = describe(Err(error));
                rows.push(Row { state, ..row(precision, format!("{name}/{}", precision.name()))? });
            }
        }
    }
    Ok(rows)
}

/// Bytes of the weights of the model called `name`, in the precision that it runs in.
pub(super) fn size_of(name: &str, store: &ModelStore) -> anyhow::Result<u64> {
    let source = source_of(name, store);
    let directory = source.directory(store);
    Ok(size(&directory, ModelDirectory::read(&directory)?.backend, source.precision)?)
}

/// Bytes of the files that are read to run a model.
fn size(directory: &Path, backend: Backend, precision: Precision) -> io::Result<u64> {
    let named = |name: &str| -> PathBuf { directory.join(name) };
    let model = match (backend, precision) {
        (Backend::Static, _) => vec![named("model.safetensors")],
        (_, Precision::Int8) => vec![named("onnx/model_int8.onnx"), named("onnx/model_int8.words")],
        (_, _) => vec![named("onnx/model.onnx"), named("model.onnx")],
    };
    let mut bytes = 0;
    for path in model {
        match fs::metadata(&path) {
            Ok(found) => bytes += found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

fn describe(state: Result<(), ModelError>) -> String {
    match state {
        Ok(()) => "here".to_owned(),
        Err(ModelError::Missing { .. }) => "not here".to_owned(),
        Err(other) => other.to_string(),
    }
}
