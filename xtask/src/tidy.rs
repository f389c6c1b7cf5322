//! Checks the layer rule, the manifests and the contents of the tree, and prints every fault.

mod bars;
mod contents;
mod cycles;
mod fault;
mod layers;
mod manifests;
mod packages;
mod sources;
mod tree;

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use self::fault::Fault;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let packages = layers::packages(workspace.metadata());
    let files = tree::read(workspace)?;
    let mut faults = BTreeSet::new();
    faults.extend(layers::check(&packages));
    faults.extend(manifests::check(&files));
    faults.extend(packages::check(&files)?);
    faults.extend(sources::check(&files));
    faults.extend(contents::check(&files)?);
    faults.extend(cycles::check(&files));
    faults.extend(bars::check(
        tree::optional(&workspace.shared("figures.toml"))?.as_deref(),
        tree::optional(&workspace.root().join("benches/figures.toml"))?.as_deref(),
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
