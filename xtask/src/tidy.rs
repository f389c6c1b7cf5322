//! Checks the layer rule, the manifests of libraries and the contents of the tree, and prints every fault.

mod contents;
mod files;
mod layers;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::{invocation::Invocation, workspace::Workspace};

/// A broken rule: the place, and the fault there.
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

/// A file that git tracks or would add, its path relative to the workspace root with forward slashes.
struct TreeFile {
    path: String,
    text: String,
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let files = read(workspace)?;
    let mut faults = BTreeSet::new();
    faults.extend(layers::check(workspace.metadata()));
    faults.extend(files::check(&files, workspace));
    faults.extend(contents::check(&files)?);
    report(&faults, workspace.metadata().workspace_members.len(), files.len())
}

/// Reads the files that git tracks or would add, including files that are not text.
fn read(workspace: &Workspace) -> Result<Vec<TreeFile>> {
    let listed = Invocation::program(workspace, "tidy", "git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .capture()?;
    let mut files = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        let place = workspace.root().join(path);
        // A deleted file that is still in the index has nothing to check.
        if place.is_file() {
            let bytes = fs::read(&place).with_context(|| format!("reading {}", place.display()))?;
            files.push(TreeFile { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(files)
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
