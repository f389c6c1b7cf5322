//! Draws the output of `memory demo` as an SVG, for README.

use std::fs;

use anstyle_svg::Term;
use anyhow::{Context, Result};

use crate::invocation::Invocation;
use crate::setup;
use crate::workspace::Workspace;

const PICTURE: &str = "docs/demo.svg";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let memory = setup::run(workspace)?;
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
