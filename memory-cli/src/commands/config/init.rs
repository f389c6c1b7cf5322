//! `memory config init`: writes a template of the configuration file.

use std::{io::Write as _, path::PathBuf};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_files::create_dir_all;
use serde_json::json;

use crate::{
    config_file::template,
    failure::Usage,
    globals::Globals,
    target::{Existing, Target},
};

/// Writes a configuration file with every key, its meaning and its default, all of them commented out.
///
/// It goes where the file is looked for (`memory config path`), and only this user can read it.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let path = globals.file.choice.path();
    let path = path.ok_or_else(|| Usage("no file is read: --config or MEMORY_CONFIG names one".to_owned()))?;
    let directory = path.parent().map(PathBuf::from).unwrap_or_default();
    // Checked first: a refusal makes no directory.
    let target = Target::of(path, Existing::of(args.force))?;
    if !directory.is_dir() {
        create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let mut file = target.begin()?;
    file.write_all(template(&(globals.definition)()).as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.finish()?;
    let (output, path) = (globals.output, path.display().to_string());
    if output.json {
        return Ok(output.value(&json!({"file": path}))?);
    }
    Ok(output.line(&format!("made {path}: every key is in it, none is set"))?)
}
