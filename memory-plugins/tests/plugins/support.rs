//! Finds the libraries that cargo built as dev-dependencies.

use std::{
    env::{self, consts},
    fs,
    path::{Path, PathBuf},
};

/// The library of the package whose crate is `name`, beside the test binary or one directory above it.
///
/// # Panics
/// When there is none, naming where it was looked for.
#[expect(clippy::panic, reason = "a test cannot go on without it")]
pub(crate) fn library(name: &str) -> PathBuf {
    let file = format!("{}{name}{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let deps = deps();
    let places = [deps.join(&file), deps.parent().unwrap_or(&deps).join(&file)];
    let found = places.iter().find(|place| place.is_file());
    found.unwrap_or_else(|| panic!("no {file} at {places:?}; is its package a dev-dependency with a cdylib?")).clone()
}

/// The library of some procedural macro.
pub(crate) fn any_proc_macro() -> Option<PathBuf> {
    let file = |entry: fs::DirEntry| entry.path();
    let is_macro = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{}thiserror_impl-", consts::DLL_PREFIX)) && name.ends_with(consts::DLL_SUFFIX)
    };
    fs::read_dir(deps()).ok()?.filter_map(Result::ok).map(file).find(is_macro)
}

#[expect(clippy::expect_used, reason = "a test cannot go on without it")]
fn deps() -> PathBuf {
    let binary = env::current_exe().expect("a test binary has a path");
    binary.parent().unwrap_or(Path::new(".")).to_owned()
}
