//! What each library brings with it: the crates it needs and the Rust it needs, as the README states them.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, Package, semver::Version};

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// A crate of a tree: name and version.
type Crate = (String, String);

/// Compares each library's row in the README, and its `rust-version`, with what its dependencies make of it.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .other_options(["--locked".to_owned()])
        .exec()
        .context("reading `cargo metadata`")?;
    let readme = fs::read_to_string(workspace.root().join("README.md")).context("reading README.md")?;
    let mut faults = Vec::new();
    for library in workspace.libraries() {
        let least = crates(workspace, &metadata, library, &["--no-default-features"])?;
        let usual = crates(workspace, &metadata, library, &[])?;
        let stated = library.rust_version.clone().unwrap_or(Version::new(0, 0, 0));
        let floor = floor(&metadata, &usual);
        if let Some((needed, by)) = floor.filter(|(needed, _)| *needed > stated) {
            faults.push(format!("{} states Rust {stated}, but {by} needs {needed}", library.name));
        }
        let ending = row_ending(least.len(), usual.len(), &stated);
        if !has_row(&readme, &library.name, &ending) {
            faults.push(format!("the row of `{}` in README.md should end with {ending}", library.name));
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// The crates of others that are compiled for a library, its build dependencies and macros included.
fn crates(workspace: &Workspace, metadata: &Metadata, of: &Package, features: &[&str]) -> Result<BTreeSet<Crate>> {
    let tree = Invocation::cargo(workspace, "dependencies")
        .args(["tree", "--locked", "-p", of.name.as_str(), "--edges", "normal,build", "--prefix", "none"])
        // The same everywhere.
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .args(features)
        .capture()?;
    let ours: BTreeSet<&str> = metadata.workspace_packages().iter().map(|package| package.name.as_str()).collect();
    Ok(listed(&tree).into_iter().filter(|(name, _)| !ours.contains(name.as_str())).collect())
}

/// The crates of a `cargo tree --prefix none` listing, each once.
fn listed(tree: &str) -> BTreeSet<Crate> {
    tree.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned()))
        })
        .collect()
}

/// The newest Rust that one of the crates needs, and which does.
fn floor(metadata: &Metadata, crates: &BTreeSet<Crate>) -> Option<(Version, String)> {
    let in_tree = |package: &&Package| crates.contains(&(package.name.to_string(), package.version.to_string()));
    let needed = |package: &Package| Some((package.rust_version.clone()?, package.name.to_string()));
    metadata.packages.iter().filter(in_tree).filter_map(needed).max()
}

/// The last two cells of a library's row: crates without features and by default, and Rust.
fn row_ending(least: usize, usual: usize, rust: &Version) -> String {
    let crates = if least == usual { usual.to_string() } else { format!("{least}, by default {usual}") };
    let rust = rust.to_string();
    let rust = rust.strip_suffix(".0").unwrap_or(&rust);
    format!("| {crates} | {rust} |")
}

fn has_row(readme: &str, name: &str, ending: &str) -> bool {
    let begin = format!("| `{name}` |");
    readme.lines().any(|line| line.starts_with(&begin) && line.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_listed_once_and_by_version() {
        let tree =
            "memory-a v0.1.0 (memory-a)\nsyn v2.0.1\nsyn v3.0.9\nserde_derive v1.0.2 (proc-macro)\nsyn v3.0.9 (*)\n";
        let of = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let all = [of("memory-a", "0.1.0"), of("serde_derive", "1.0.2"), of("syn", "2.0.1"), of("syn", "3.0.9")];
        assert_eq!(listed(tree), BTreeSet::from(all));
    }

    #[test]
    fn a_row_of_the_readme_states_crates_and_rust() {
        let (same, more) = (row_ending(31, 31, &Version::new(1, 89, 0)), row_ending(36, 133, &Version::new(1, 94, 1)));
        assert_eq!((same.as_str(), more.as_str()), ("| 31 | 1.89 |", "| 36, by default 133 | 1.94.1 |"));
        let readme = "| `memory-a` | types | 31 | 1.89 |\n";
        assert!(has_row(readme, "memory-a", &same));
        assert!(!has_row(readme, "memory-a", &more) && !has_row(readme, "memory-b", &same));
    }
}
