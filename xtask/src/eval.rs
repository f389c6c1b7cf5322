//! Runs the `eval` binary of the benches, and writes its tables into documents.

use std::ffi::OsString;

use anyhow::Result;

use crate::{document, invocation::Invocation, workspace::Workspace};

/// The flag that writes the output into a document; not passed to the binary.
const DOCUMENT: &str = "--document";

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Arguments of the binary, as `--help` lists it. `--document` writes what it prints in place of what the previous run
    /// wrote: the table of a run in both scopes into `README.md`, that of `--running` into `benches/RESULTS.md`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let has = |flag: &str| args.args.iter().any(|arg| arg == flag);
    let eval = Invocation::cargo(workspace, "eval")
        .here()?
        .args(["run", "--release", "--locked", "-p", "memory-benches", "--bin", "eval", "--"])
        .args(args.args.iter().filter(|arg| *arg != DOCUMENT));
    if !has(DOCUMENT) {
        return eval.run();
    }
    let printed = eval.capture()?;
    print!("{printed}");
    let (path, table) = match has("--running") {
        true => (document::RESULTS, ("eval running".to_owned(), format!("{}\n", printed.trim_end()))),
        false => ("README.md", ("eval".to_owned(), first_table(&printed))),
    };
    document::write(&workspace.root().join(path), &[table])
}

/// The lines up to the first empty one.
fn first_table(printed: &str) -> String {
    printed.lines().take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_table_ends_at_an_empty_line() {
        assert_eq!(first_table("| a |\n|---|\n\n| b |\n"), "| a |\n|---|\n");
    }
}
