//! The files of the tree.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// A file that git tracks or would add, its path relative to the workspace root with forward slashes.
pub(super) struct TreeFile {
    pub(super) path: String,
    pub(super) text: String,
}

/// Reads the files that git tracks or would add; also files that are not text are searched.
pub(super) fn read(workspace: &Workspace) -> Result<Vec<TreeFile>> {
    let listed = Invocation::program(workspace, "tidy", "git")
        .args(["ls-files", "-z", "--cached", "--others"])
        .args(["--exclude-standard", "--deduplicate"])
        .capture()?;
    let mut files = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        // A deleted file that is still in the index has nothing to check.
        if let Some(bytes) = optional(&workspace.root().join(path))? {
            files.push(TreeFile { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(files)
}

/// The bytes of a file, if it exists.
pub(super) fn optional(path: &Path) -> Result<Option<Vec<u8>>> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(Some(bytes))
}
