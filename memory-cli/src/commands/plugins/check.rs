//! `memory plugins check`: runs the conformance kit in a process of its own, because a plugin may end it.

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod here;
#[cfg(unix)]
mod signed;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::globals::Globals;

/// Run a plugin's file against the contract of its kind, in a process of its own.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The library
    file: PathBuf,
    /// Its configuration, JSON text
    #[arg(long, value_name = "JSON")]
    configuration: Option<String>,
    /// Deadline of each call
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    deadline: u32,
    /// Run the checks here, for the process of this number
    #[arg(long, hide = true, value_name = "PARENT")]
    here: Option<u32>,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    #[cfg(unix)]
    if let Some(parent) = args.here {
        return here::run(args, parent);
    }
    let findings = findings(args)?;
    if globals.output.json {
        globals.output.value(&json!({"file": args.file.display().to_string(), "checks": findings}))?;
    } else {
        let row =
            |finding: &Value| ["check", "verdict", "why"].map(|key| finding[key].as_str().unwrap_or("").to_owned());
        globals.output.table(["check", "verdict", "why"], findings.iter().map(row))?;
    }
    let broken: Vec<_> =
        findings.iter().filter(|finding| finding["verdict"] == "broken").filter_map(|f| f["check"].as_str()).collect();
    if !broken.is_empty() {
        bail!("{} breaks its contract: {}", args.file.display(), broken.join(", "));
    }
    Ok(())
}

/// Returns a verdict for each check.
#[cfg(unix)]
fn findings(args: &Args) -> anyhow::Result<Vec<Value>> {
    child::findings(args)
}

#[cfg(not(unix))]
fn findings(_args: &Args) -> anyhow::Result<Vec<Value>> {
    bail!("plugins are checked on Unix alone, where a process can be kept apart")
}
