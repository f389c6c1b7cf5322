//! `memory plugins list`: shows all strategies with their versions.

use clap::Args as ClapArgs;
use memory_plugins::PluginInfo;
use serde_json::{Value, json};

use super::registry;
use crate::globals::Globals;

/// Shows all strategies with their versions, and the files that could not be loaded.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let (registry, refused) = registry(globals);
    let refused: Vec<_> = refused.iter().map(ToString::to_string).collect();
    if globals.output.json {
        let strategies: Vec<_> = registry.list().map(value).collect();
        globals.output.value(&json!({"strategies": strategies, "refused": refused}))?;
        return Ok(());
    }
    let row = |info: &PluginInfo| {
        [
            info.name.clone(),
            info.kind.to_string(),
            info.version.clone(),
            info.origin.to_string(),
            info.description.clone(),
        ]
    };
    let header = ["name", "kind", "version", "from", "what it does"];
    globals.output.table(header, registry.list().map(row))?;
    for refused in refused {
        globals.output.note(&format!("skipped: {refused}"));
    }
    Ok(())
}

/// A strategy as JSON.
pub(super) fn value(info: &PluginInfo) -> Value {
    let schema = info.configuration_schema.as_deref();
    json!({
        "name": info.name,
        "kind": info.kind.to_string(),
        "version": info.version,
        "description": info.description,
        "from": info.origin.to_string(),
        "sha256": info.sha256.map(|sha256| sha256.to_string()),
        "capabilities": {
            "embeddings": info.capabilities.embeddings,
            "cancellable": info.capabilities.cancellable,
            "varies": info.capabilities.varies,
        },
        // A schema that is not JSON is shown as text.
        "configuration_schema": schema.map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text))),
    })
}
