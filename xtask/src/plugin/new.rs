//! Writes a complete plugin crate outside of this workspace.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::workspace::Workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The plugin's name, by which a configuration chooses it: a-z, 0-9 and '-', a letter first.
    name: String,
    /// Kind of strategy.
    #[arg(long)]
    kind: Kind,
    /// The directory to create [default: one of that name beside this workspace]
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Summarizer,
    Importance,
}

impl Kind {
    /// The source of a plugin of this kind; `{{name}}` and `{{Type}}` are placeholders for its names.
    const fn template(self) -> &'static str {
        match self {
            Self::Summarizer => include_str!("template/summarizer.rs.txt"),
            Self::Importance => include_str!("template/importance.rs.txt"),
        }
    }
}

const MANIFEST: &str = include_str!("template/Cargo.toml.txt");

pub(super) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    check_name(&args.name)?;
    let beside = workspace.root().parent().unwrap_or_else(|| workspace.root());
    let at = absolute(args.at.clone().unwrap_or_else(|| beside.join(&args.name)))?;
    ensure!(!at.starts_with(workspace.root()), "{} lies in this workspace: choose a place outside of it", at.display());
    ensure!(!at.exists(), "{} is there already", at.display());
    write(workspace.root(), &at, &args.name, args.kind).with_context(|| format!("writing {}", at.display()))?;
    println!("wrote {}", at.display());
    Ok(())
}

/// Checks that cargo accepts the name for a package and the ABI for a plugin.
fn check_name(name: &str) -> Result<()> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins_well || name.len() > 64 || name.ends_with('-') || !name.chars().all(good) {
        bail!("a plugin cannot be called {name:?}: use 1 to 64 of a-z, 0-9 and '-', a letter first");
    }
    Ok(())
}

fn write(root: &Path, at: &Path, name: &str, kind: Kind) -> Result<()> {
    let abi = root.join("memory-plugins/abi");
    // A literal string of TOML needs no escapes in a path.
    let fill = |template: &str| {
        let abi = abi.display().to_string();
        template.replace("{{name}}", name).replace("{{Type}}", &type_name(name)).replace("{{abi}}", &abi)
    };
    fs::create_dir_all(at.join("src"))?;
    fs::write(at.join("Cargo.toml"), fill(MANIFEST))?;
    fs::write(at.join("src/lib.rs"), fill(kind.template()))?;
    fs::write(at.join(".gitignore"), "/target\n")?;
    // The versions that this workspace was built with are on this machine, so the crate builds offline; cargo removes
    // entries that it does not need.
    fs::copy(root.join("Cargo.lock"), at.join("Cargo.lock"))?;
    Ok(())
}

/// Converts `last-words` to `LastWords`.
fn type_name(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
    };
    name.split('-').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_packages_and_types() {
        for bad in ["", "Upper", "9lives", "a b", "a-", "../x", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        assert!(check_name("last-words-2").is_ok());
        assert_eq!(type_name("last-words-2"), "LastWords2");
    }

    #[test]
    fn nothing_of_the_templates_is_left_open() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("Cargo.lock"), "version = 4\n").unwrap();
        for (kind, export) in [(Kind::Summarizer, "export_summarizer!"), (Kind::Importance, "export_scorer!")] {
            let at = root.path().join(format!("{kind:?}"));
            write(root.path(), &at, "my-plugin", kind).unwrap();
            let source = fs::read_to_string(at.join("src/lib.rs")).unwrap();
            let manifest = fs::read_to_string(at.join("Cargo.toml")).unwrap();
            assert!(source.contains(export) && source.contains("MyPlugin") && source.contains("\"my-plugin\""));
            assert!(manifest.parse::<toml::Table>().is_ok(), "{manifest}");
            assert!(!source.contains("{{") && !manifest.contains("{{"));
        }
    }
}
