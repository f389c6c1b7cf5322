//! `memory plugins list` and `info`: show all strategies, or one.

use std::path::Path;

use clap::Args as ClapArgs;
use memory_plugins::{Origin, PluginInfo, Registry};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::registry;
use crate::{failure::NotFound, globals::Globals};

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
    fn of(info: &'a PluginInfo) -> Self {
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

/// Shows one strategy, including the schema of its configuration.
#[derive(Debug, ClapArgs)]
pub(crate) struct Info {
    /// Its name, or a plugin's file
    #[arg(value_name = "NAME|FILE")]
    strategy: String,
}

pub(crate) fn info(args: &Info, globals: &Globals) -> anyhow::Result<()> {
    let info = find(&args.strategy, globals)?;
    if globals.output.json {
        globals.output.value(&Strategy::of(&info))?;
        return Ok(());
    }
    globals.output.line(&format!("{} {}, {}: {}", info.name, info.version, info.kind, info.description))?;
    globals.output.line(&format!("from:          {}", info.origin))?;
    if let Some(sha256) = info.sha256 {
        globals.output.line(&format!("sha256:        {sha256}"))?;
    }
    if matches!(info.origin, Origin::File(_)) {
        globals.output.line(&format!("capabilities:  {}", info.capabilities))?;
    }
    let schema = info.configuration_schema.as_deref().unwrap_or("it takes none");
    globals.output.line(&format!("configuration: {schema}"))?;
    Ok(())
}

fn find(strategy: &str, globals: &Globals) -> anyhow::Result<PluginInfo> {
    let path = Path::new(strategy);
    // A name has no separator; a file in the current directory is recognized by its extension.
    if path.is_file() {
        return Ok(Registry::with_builtins().load(path)?);
    }
    let (registry, refused) = registry(globals);
    if let Some(info) = registry.get(strategy) {
        return Ok(info.clone());
    }
    let beside = match refused.len() {
        0 => String::new(),
        refused => format!("; {refused} files could not be loaded, see `memory plugins list`"),
    };
    Err(NotFound(format!("no strategy is called {strategy:?}{beside}")).into())
}
