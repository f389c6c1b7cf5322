//! Check that a path lies outside of every store, so that other files may be made there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use memory_files::Links;

use super::rescue::RescueError;
use crate::log::{
    failure::io_error,
    read::directory::{FORMAT_BYTES, FORMAT_FILE, is_format},
};

/// The store that `path` lies in, or is: the nearest directory above whose `FORMAT` is one of ours. The path need not
/// exist; links are followed as far as it does.
///
/// # Errors
/// If the working directory is unknown.
pub fn enclosing_store(path: &Path) -> io::Result<Option<PathBuf>> {
    let has_format = |dir: &&Path| {
        let format = memory_files::read(&dir.join(FORMAT_FILE), Links::Follow, FORMAT_BYTES);
        format.is_ok_and(|text| is_format(&text))
    };
    Ok(resolved(path)?.ancestors().find(has_format).map(Path::to_owned))
}

/// Checks that a directory to be made lies outside every store, including one that may have lost its `FORMAT`.
pub(crate) fn check_outside(store: Option<&Path>, target: &Path) -> Result<(), RescueError> {
    let found = |path| resolved(path).map_err(io_error("find", path));
    let inside = || RescueError::Inside { path: target.to_owned() };
    if let Some(store) = store
        && found(target)?.starts_with(found(store)?)
    {
        return Err(inside());
    }
    match enclosing_store(target).map_err(io_error("find", target))? {
        Some(_) => Err(inside()),
        None => Ok(()),
    }
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let there = path.ancestors().find_map(|dir| Some((fs::canonicalize(dir).ok()?, path.strip_prefix(dir).ok()?)));
    Ok(match there {
        // Joining nothing would end the path in a slash.
        Some((dir, rest)) if rest.as_os_str().is_empty() => dir,
        Some((dir, rest)) => dir.join(rest),
        None => path,
    })
}
