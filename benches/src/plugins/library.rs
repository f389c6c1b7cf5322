//! The libraries that are called, and a job for them.

use std::{env, env::consts, path::PathBuf};

use anyhow::{Context, Result};

/// The fixture's library.
pub(super) fn fixture() -> Result<PathBuf> {
    library("memory_plugin_fixture_misbehaves")
}

/// The library of an official plugin.
pub(super) fn official() -> Result<PathBuf> {
    library("memory_plugin_first_words")
}

/// The library of a crate, beside this binary or among its build outputs.
fn library(crate_name: &str) -> Result<PathBuf> {
    let file = format!("{}{crate_name}{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let binary = env::current_exe()?;
    let beside = binary.parent().context("a binary lies in a directory")?;
    let places = [beside.join("deps").join(&file), beside.join(&file)];
    places.iter().find(|place| place.is_file()).cloned().with_context(|| format!("no library at {places:?}"))
}

/// A message to summarize.
pub(super) const MESSAGE: &str = "After the tests we decided to ship version 2.4 on 12 March, if Priya agrees.";
