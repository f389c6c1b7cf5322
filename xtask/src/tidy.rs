//! Checks the layer rule, the manifests and the contents of the tree, and prints every fault.

mod bars;
mod contents;
mod layers;
mod manifests;
mod sources;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// One broken rule: where, and what is wrong there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    place: String,
    what: String,
}

impl Fault {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// A file that git has or would take, its path relative to the workspace root with forward slashes.
struct TreeFile {
    path: String,
    text: String,
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let packages = layers::packages(workspace.metadata());
    let files = read_files(workspace)?;
    let mut faults = BTreeSet::new();
    faults.extend(layers::check(&packages));
    faults.extend(manifests::check(&files));
    faults.extend(sources::check(&files));
    faults.extend(contents::check(&files)?);
    faults.extend(bars::check(
        optional(&workspace.shared("figures.toml"))?.as_deref(),
        optional(&workspace.root().join("benches/figures.toml"))?.as_deref(),
    ));
    report(&faults, packages.len(), files.len())
}

fn report(faults: &BTreeSet<Fault>, packages: usize, files: usize) -> Result<()> {
    for fault in faults {
        eprintln!("{fault}");
    }
    match faults.len() {
        0 => println!("tidy: {packages} packages and {files} files, no fault"),
        1 => bail!("tidy found a fault"),
        many => bail!("tidy found {many} faults"),
    }
    Ok(())
}

/// What git tracks and what it would add; bytes that are no text are searched all the same.
fn read_files(workspace: &Workspace) -> Result<Vec<TreeFile>> {
    let listed = Invocation::program(workspace, "tidy", "git")
        .args(["ls-files", "-z", "--cached", "--others"])
        .args(["--exclude-standard", "--deduplicate"])
        .capture()?;
    let mut files = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        // A file that is deleted but still in the index has nothing to check.
        if let Some(bytes) = optional(&workspace.root().join(path))? {
            files.push(TreeFile { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(files)
}

fn optional(path: &Path) -> Result<Option<Vec<u8>>> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_fault_fails_the_run() {
        let mut faults = BTreeSet::new();
        assert!(report(&faults, 1, 1).is_ok());
        faults.insert(Fault::new("here", "wrong"));
        assert!(report(&faults, 1, 1).is_err());
        faults.insert(Fault::new("there", "wrong"));
        let error = report(&faults, 1, 1).unwrap_err().to_string();
        assert_eq!(error, "tidy found 2 faults");
    }
}
