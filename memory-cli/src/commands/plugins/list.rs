//! `memory plugins list`: shows all strategies with their versions.

use clap::Args as ClapArgs;
use memory_plugins::PluginInfo;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::registry;
use crate::globals::Globals;

/// Shows all strategies with their versions, and the files that could not be loaded.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let (registry, refused) = registry(globals);
    let refused: Vec<_> = refused.iter().map(ToString::to_string).collect();
    if globals.output.json {
        let strategies = registry.list().map(Strategy::of).collect();
        globals.output.value(&Answer { strategies, refused: &refused })?;
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

/// All strategies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    strategies: Vec<Strategy<'a>>,
    /// Files that could not be loaded, and why.
    refused: &'a [String],
}

/// A strategy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Strategy<'a> {
    /// Name of the strategy.
    name: &'a str,
    /// Kind: `summarizer` or `scorer`.
    kind: String,
    /// Version of the strategy.
    version: &'a str,
    /// Description of the strategy.
    description: &'a str,
    /// Source: `built in`, or the plugin's file.
    from: String,
    /// SHA-256 of the file.
    sha256: Option<String>,
    capabilities: Capabilities,
    /// JSON schema of the configuration; a text if the plugin gives no JSON; null without a configuration.
    configuration_schema: Option<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Capabilities {
    /// True if the strategy uses embeddings.
    embeddings: bool,
    /// True if a call can be cancelled.
    cancellable: bool,
    /// True if the strategy may answer one question in two ways.
    varies: bool,
}

impl<'a> Strategy<'a> {
    pub(super) fn of(info: &'a PluginInfo) -> Self {
        let schema = info.configuration_schema.as_deref();
        Self {
            name: &info.name,
            kind: info.kind.to_string(),
            version: &info.version,
            description: &info.description,
            from: info.origin.to_string(),
            sha256: info.sha256.map(|sha256| sha256.to_string()),
            capabilities: Capabilities {
                embeddings: info.capabilities.embeddings,
                cancellable: info.capabilities.cancellable,
                varies: info.capabilities.varies,
            },
            configuration_schema: schema.map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.into())),
        }
    }
}
