//! `memory config path`: prints where the configuration file is.

use clap::Args as ClapArgs;
use serde_json::json;

use crate::{failure::Usage, globals::Globals};

/// Prints where the configuration file is, whether there is one or not.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {}

pub(super) fn run(_: &Args, globals: &Globals) -> anyhow::Result<()> {
    let (output, file) = (globals.output, &globals.file);
    let path = file.choice.path().map(|path| path.display().to_string());
    if output.json {
        return Ok(output.value(&json!({"file": path, "exists": file.exists}))?);
    }
    let path = path.ok_or_else(|| Usage("no file is read: --config or MEMORY_CONFIG names one".to_owned()))?;
    output.line(&path)?;
    if !file.exists {
        output.note("there is no such file: `memory config init` makes one");
    }
    Ok(())
}
