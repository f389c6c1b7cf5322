//! `memory plugins info`: shows one strategy.

use std::path::Path;

use clap::Args as ClapArgs;
use memory_plugins::{Origin, PluginInfo, Registry};

use super::{list::Strategy, registry};
use crate::{failure::NotFound, globals::Globals};

/// Shows one strategy, including the schema of its configuration.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Its name, or a plugin's file
    #[arg(value_name = "NAME|FILE")]
    strategy: String,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
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
