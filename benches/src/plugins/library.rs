//! The libraries that are called, and a job for them.

use std::{env, env::consts, path::PathBuf};

use anyhow::{Context, Result};

/// The fixture's library, beside this binary or among its build outputs.
pub(super) fn fixture() -> Result<PathBuf> {
    let file = format!("{}memory_plugin_fixture_misbehaves{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let binary = env::current_exe()?;
    let beside = binary.parent().context("a binary lies in a directory")?;
    let places = [beside.join("deps").join(&file), beside.join(&file)];
    places.iter().find(|place| place.is_file()).cloned().with_context(|| format!("no library at {places:?}"))
}

/// A message to summarize.
pub(super) const MESSAGE: &str = "After the tests we decided to ship version 2.4 on 12 March, if Priya agrees.";
