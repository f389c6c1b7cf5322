//! The binary for a user: its build, with the files for run time, its demonstration, and a picture of that.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anstyle_svg::Term;
use anyhow::{Context, Result};

use crate::{invocation::Invocation, steps, workspace::Workspace};

const PICTURE: &str = "docs/demo.svg";

/// Builds the release binary, fetches its model, and returns the binary's path.
pub(crate) fn run(workspace: &Workspace) -> Result<PathBuf> {
    let started = Instant::now();
    Invocation::cargo(workspace, "setup").args(["build", "--release", "--locked", "-p", "memory-cli"]).run()?;
    let memory = workspace.memory_binary("release");
    Invocation::program(workspace, "setup", &memory).args(["model", "fetch"]).run()?;
    println!("setup: ready in {}", steps::shown(started.elapsed()));
    Ok(memory)
}

/// Runs `memory demo` on the sample conversation, from nothing.
pub(crate) fn demo(workspace: &Workspace) -> Result<()> {
    let memory = run(workspace)?;
    Invocation::program(workspace, "demo", memory).args(["demo"]).run()
}

/// Draws the output of `memory demo` as an SVG, for README.
pub(crate) fn picture(workspace: &Workspace) -> Result<()> {
    let memory = run(workspace)?;
    let printed = Invocation::program(workspace, "picture", memory).args(["demo"]).capture()?;
    let path = workspace.root().join(PICTURE);
    fs::write(&path, draw(&printed)).with_context(|| format!("writing {}", path.display()))?;
    println!("picture: {}", path.display());
    Ok(())
}

/// The terminal with the command and its output.
fn draw(printed: &str) -> String {
    let lines: String = printed.lines().map(colored).collect();
    let session = format!("\x1b[1;32m$\x1b[0m \x1b[1mmemory demo\x1b[0m\n{lines}");
    let mut svg = Term::new().render_svg(&session);
    if !svg.ends_with('\n') {
        svg.push('\n');
    }
    svg
}

/// Colors the headings and the last line; `memory` itself writes no colors to a pipe.
fn colored(line: &str) -> String {
    let heading = line.split_once(". ").is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    match line {
        _ if heading => format!("\x1b[1;36m{line}\x1b[0m\n"),
        _ if line.starts_with("verified ") => format!("\x1b[1;32m{line}\x1b[0m\n"),
        _ if line.trim_start().starts_with('|') => format!("\x1b[2m{line}\x1b[0m\n"),
        _ => format!("{line}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn every_line_is_drawn_and_markup_is_escaped() {
        let svg = draw("1. A heading\n   | a < b & c\nverified 2 of 2 nodes");
        for text in ["memory demo", "1. A heading", "a &lt; b &amp; c", "verified 2 of 2 nodes"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(svg.starts_with("<svg"), "{svg}");
    }
}
