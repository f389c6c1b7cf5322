//! Named feature sets: each must compile alone, and none may pull in the heavy dependencies that it exists to avoid.

use anyhow::{Result, bail};
use cargo_metadata::Package;

use crate::invocation::Invocation;
use crate::workspace::Workspace;

struct FeatureSet {
    package: &'static str,
    features: &'static [&'static str],
    /// Packages that must not be in its tree, by name or by the part before the first `-`.
    barred: &'static [&'static str],
}

const SETS: &[FeatureSet] = &[
    FeatureSet { package: "memory-core", features: &[], barred: &["tokio", "ort", "aws"] },
    FeatureSet { package: "memory-embed", features: &[], barred: &["ort", "aws"] },
    FeatureSet { package: "memory-embed", features: &["tokens"], barred: &["ort", "aws"] },
    FeatureSet { package: "memory-embed", features: &["bedrock", "openai"], barred: &["ort"] },
    FeatureSet { package: "memory-cli", features: &[], barred: &["aws", "reqwest", "rusqlite"] },
];

/// Sets that other steps compile.
const COMPILED: &[FeatureSet] = &[
    // One TLS stack: rustls over ring, which builds in a tenth of the time of aws-lc-rs.
    FeatureSet {
        package: "memory-embed",
        features: &["bedrock", "hub", "openai"],
        barred: &["aws-lc-rs", "aws-lc-sys", "openssl-sys"],
    },
    FeatureSet { package: "memory-runtime", features: &[], barred: &["aws", "clap", "reqwest"] },
];

pub(super) fn run(workspace: &Workspace) -> Result<()> {
    COMPILED.iter().try_for_each(|set| check_tree(workspace, set))?;
    SETS.iter().try_for_each(|set| {
        set.cargo(workspace, "check").run()?;
        check_tree(workspace, set)
    })
}

/// Compiles each library alone: without features, with each of its features, by default, and with all.
pub(crate) fn every(workspace: &Workspace) -> Result<()> {
    for library in workspace.libraries() {
        for features in combinations(library) {
            Invocation::cargo(workspace, "every feature")
                .args(["check", "--locked", "-p", library.name.as_str()])
                .args(features)
                .run()?;
        }
    }
    Ok(())
}

/// The arguments of cargo for each set of features of a package.
fn combinations(package: &Package) -> Vec<Vec<String>> {
    let none = || "--no-default-features".to_owned();
    let single = |feature: &String| vec![none(), "--features".to_owned(), feature.clone()];
    let mut sets = vec![vec![none()]];
    sets.extend(package.features.keys().filter(|feature| *feature != "default").map(single));
    if !package.features.is_empty() {
        sets.extend([Vec::new(), vec!["--all-features".to_owned()]]);
    }
    sets
}

fn check_tree(workspace: &Workspace, set: &FeatureSet) -> Result<()> {
    let tree = set.cargo(workspace, "tree").args(["--edges", "normal,build", "--prefix", "none"]).capture()?;
    let found = barred_in(&tree, set.barred);
    if !found.is_empty() {
        let features = set.features.join(",");
        bail!("{} with only the features [{features}] pulls in {}", set.package, found.join(", "));
    }
    Ok(())
}

impl FeatureSet {
    fn cargo(&self, workspace: &Workspace, command: &str) -> Invocation {
        Invocation::cargo(workspace, "features")
            .args([command, "--locked", "-p", self.package])
            .args(["--no-default-features", "--features"])
            .args([self.features.join(",")])
    }
}

/// The packages of a `cargo tree --prefix none` listing that are barred.
fn barred_in<'a>(tree: &'a str, barred: &[&str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| {
            let family = name.split('-').next().unwrap_or(name);
            barred.contains(name) || barred.contains(&family)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
memory-embed v0.1.0 (memory-embed)
ort v2.0.0-rc.15
ort-sys v2.0.0-rc.15
aws-sdk-bedrockruntime v1.153.0
portable-atomic v1.0.0
ort v2.0.0-rc.15 (*)
";

    #[test]
    fn barred_packages_and_their_families_are_found_once() {
        assert_eq!(barred_in(TREE, &["ort", "aws"]), ["aws-sdk-bedrockruntime", "ort", "ort-sys"]);
    }

    #[test]
    fn a_name_that_only_begins_alike_is_not_barred() {
        let tree = "tiktoken-rs v0.12.1\nportable-atomic v1.0.0\nawsome v1.0.0\n";
        assert!(barred_in(tree, &["ort", "aws"]).is_empty());
    }
}
