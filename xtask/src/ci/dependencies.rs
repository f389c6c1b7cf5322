//! Dependencies of libraries: feature sets that must compile alone and stay free of heavy crates, and the number of
//! crates and the Rust that the README states.

use std::collections::BTreeSet;
use std::{ffi::OsStr, fs};

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;

use crate::{invocation::Invocation, workspace::Workspace};

struct FeatureSet {
    package: &'static str,
    features: &'static [&'static str],
    /// Packages that must not be in its tree, by name or by the part before the first `-`.
    barred: &'static [&'static str],
    /// True if other steps compile the package.
    is_compiled: bool,
}

const SETS: &[FeatureSet] = &[
    FeatureSet { package: "memory-core", features: &[], barred: &["tokio", "ort", "aws"], is_compiled: false },
    FeatureSet { package: "memory-embed", features: &[], barred: &["ort", "aws"], is_compiled: false },
    FeatureSet { package: "memory-embed", features: &["tokens"], barred: &["ort", "aws"], is_compiled: false },
    FeatureSet { package: "memory-embed", features: &["bedrock", "openai"], barred: &["ort"], is_compiled: false },
    FeatureSet {
        package: "memory-cli",
        features: &["age", "hnsw-rs"],
        barred: &["aws", "reqwest", "rusqlite"],
        is_compiled: false,
    },
    // One TLS stack: rustls over ring, which builds in a tenth of the time of aws-lc-rs.
    FeatureSet {
        package: "memory-embed",
        features: &["bedrock", "hub", "openai"],
        barred: &["aws-lc-rs", "aws-lc-sys", "openssl-sys"],
        is_compiled: true,
    },
    FeatureSet { package: "memory", features: &[], barred: &["aws", "clap", "reqwest"], is_compiled: true },
];

impl FeatureSet {
    fn flags(&self) -> Vec<String> {
        vec!["--no-default-features".to_owned(), "--features".to_owned(), self.features.join(",")]
    }
}

pub(super) fn run(workspace: &Workspace) -> Result<()> {
    for set in SETS {
        let features = set.features.join(",");
        let tree = tree(workspace, set.package, &set.flags())?;
        let found = barred_in(&tree, set.barred);
        if !found.is_empty() {
            let found: Vec<_> = found.into_iter().collect();
            bail!("{} with only the features [{features}] pulls in {}", set.package, found.join(", "));
        }
    }
    readme(workspace)
}

/// Compiles each set that no other step compiles.
pub(super) fn compile(workspace: &Workspace) -> Result<()> {
    let mut sets = SETS.iter().filter(|set| !set.is_compiled);
    let check = || Invocation::cargo(workspace, "features").args(["check", "--locked", "-p"]);
    sets.try_for_each(|set| check().args([set.package]).args(set.flags()).run())
}

/// Compares each library's row in the README with the crates that it compiles and the Rust that it states.
fn readme(workspace: &Workspace) -> Result<()> {
    let readme = fs::read_to_string(workspace.root().join("README.md")).context("reading README.md")?;
    let mut faults = Vec::new();
    for library in workspace.libraries() {
        let count = |features: &[&str]| -> Result<usize> {
            Ok(others(&tree(workspace, library.name.as_str(), features)?).len())
        };
        let (least, usual) = (count(&["--no-default-features"])?, count(&[])?);
        let rust = library.rust_version.clone().unwrap_or(Version::new(0, 0, 0));
        let (begin, ending) = (format!("| `{}` |", library.name), row_ending(least, usual, &rust));
        if !readme.lines().any(|line| line.starts_with(&begin) && line.ends_with(&ending)) {
            faults.push(format!("the row of `{}` in README.md should end with {ending}", library.name));
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// The crates that are compiled for a package, one per line, including build dependencies and macros; the same
/// everywhere.
fn tree(workspace: &Workspace, package: &str, features: &[impl AsRef<OsStr>]) -> Result<String> {
    Invocation::cargo(workspace, "dependencies")
        .args(["tree", "--locked", "-p", package, "--edges", "normal,build", "--prefix", "none"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .args(features)
        .capture()
}

/// Foreign crates in a tree, by name and version; ours are listed with their paths.
fn others(tree: &str) -> BTreeSet<(&str, &str)> {
    let named = |line| -> Option<_> {
        let mut words = str::split_whitespace(line);
        Some((words.next()?, words.next()?)).filter(|_| words.next().is_none_or(|word| !word.starts_with("(/")))
    };
    tree.lines().filter_map(named).collect()
}

/// The packages of a tree that are barred.
fn barred_in<'a>(tree: &'a str, barred: &[&str]) -> BTreeSet<&'a str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| barred.contains(name) || barred.contains(&name.split('-').next().unwrap_or(name))).collect()
}

/// The last two cells of a library's row: crates without features and by default, and Rust.
fn row_ending(least: usize, usual: usize, rust: &Version) -> String {
    let crates = if least == usual { usual.to_string() } else { format!("{least}, by default {usual}") };
    let rust = rust.to_string();
    format!("| {crates} | {} |", rust.strip_suffix(".0").unwrap_or(&rust))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
memory-embed v0.1.0 (/checkout/memory-embed)
ort v2.0.0-rc.15
ort-sys v2.0.0-rc.15
aws-sdk-bedrockruntime v1.153.0
syn v2.0.1
syn v3.0.9
serde_derive v1.0.2 (proc-macro)
portable-atomic v1.0.0
ort v2.0.0-rc.15 (*)
";

    #[test]
    fn barred_packages_and_their_families_are_found_once() {
        let found: Vec<_> = barred_in(TREE, &["ort", "aws"]).into_iter().collect();
        assert_eq!(found, ["aws-sdk-bedrockruntime", "ort", "ort-sys"]);
        let tree = "tiktoken-rs v0.12.1\nportable-atomic v1.0.0\nawsome v1.0.0\n";
        assert!(barred_in(tree, &["ort", "aws"]).is_empty(), "a name that only begins alike");
    }

    #[test]
    fn crates_of_others_are_counted_once_and_by_version() {
        let found = others(TREE);
        assert_eq!(found.len(), 7, "{found:?}");
        assert!(found.contains(&("syn", "v2.0.1")) && found.contains(&("syn", "v3.0.9")));
    }

    #[test]
    fn a_row_of_the_readme_states_crates_and_rust() {
        assert_eq!(row_ending(31, 31, &Version::new(1, 89, 0)), "| 31 | 1.89 |");
        assert_eq!(row_ending(36, 133, &Version::new(1, 94, 1)), "| 36, by default 133 | 1.94.1 |");
    }
}
