//! `memory man`: pages of the manual.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{Args as ClapArgs, Command, ValueHint};
use clap_mangen::Man;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    failure::NotFound,
    globals::Globals,
    output::grouped,
    target::{Existing, Target},
};

/// Prints a page of the manual, or writes all pages.
///
/// `memory man search | man -l -` shows a page; `memory man --to ~/.local/share/man/man1` puts all of them where `man`
/// finds them.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The command whose page it is, as in `search` or `model fetch` [default: memory itself]
    #[arg(value_name = "COMMAND")]
    names: Vec<String>,
    /// Write all pages into this directory, which is made if it is missing; pages there are replaced
    #[arg(long, value_name = "DIR", conflicts_with = "names", value_hint = ValueHint::DirPath)]
    to: Option<PathBuf>,
}

/// Exit codes of the binary, as a section of the manual.
const EXIT_STATUS: &str = "\
.SH EXIT STATUS
.TP
0
It was done.
.TP
1
Anything that has no code of its own.
.TP
2
The command line or the configuration file is wrong.
.TP
3
What was asked for does not exist.
.TP
4
Something on disk is damaged: \\fBmemory doctor\\fR says what, and what to do.
.TP
5
Another process is using the store.
";

const SEE_ALSO: &str = "\
.SH SEE ALSO
\\fBmemory\\fR(1) has the options of every command, such as \\fB\\-\\-store\\fR, and the exit status.
";

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let mut root = (globals.definition)().disable_help_subcommand(true);
    root.build();
    match &args.to {
        Some(directory) => write_all(&root, directory, globals),
        None => print(args, &root, globals),
    }
}

/// A page of the manual.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// Name of the page.
    page: String,
    /// Text of the page.
    roff: String,
}

/// All pages of the manual.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Pages {
    /// Directory of the pages.
    directory: String,
    /// Names of the pages.
    pages: Vec<String>,
}

fn print(args: &Args, root: &Command, globals: &Globals) -> anyhow::Result<()> {
    let mut page = root;
    for name in &args.names {
        let below = page.find_subcommand(name);
        page = below.ok_or_else(|| {
            NotFound(format!("there is no command `{}`: `memory --help` lists them", args.names.join(" ")))
        })?;
    }
    let (name, text) = rendered(page)?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&Page { page: name, roff: text })?);
    }
    Ok(output.text(text.trim_end())?)
}

fn write_all(root: &Command, directory: &PathBuf, globals: &Globals) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let mut pages = Vec::new();
    let mut left = vec![root];
    while let Some(command) = left.pop() {
        let (name, text) = rendered(command)?;
        let path = directory.join(&name);
        let mut file = Target::of(&path, Existing::Overwritten)?.begin()?;
        file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        file.finish()?;
        pages.push(name);
        left.extend(command.get_subcommands().filter(|command| !command.is_hide_set()));
    }
    pages.sort_unstable();
    let (output, directory) = (globals.output, directory.display().to_string());
    if output.json {
        return Ok(output.value(&Pages { directory, pages })?);
    }
    Ok(output.line(&format!("{} pages are in {directory}", grouped(pages.len() as u64)))?)
}

/// The name of a page and its text.
fn rendered(command: &Command) -> io::Result<(String, String)> {
    let is_root = command.get_bin_name().is_none_or(|name| !name.contains(' '));
    let mut command = command.clone().subcommand_help_heading("COMMANDS");
    // Usage as `--help` shows it, with the arguments of one call instead of a list of all options.
    let usage = command.render_usage().to_string();
    command = command.override_usage(usage.trim_start_matches("Usage:").trim().to_owned());
    if !is_root {
        // Global options have a page of their own.
        command = command.mut_args(|argument| if argument.is_global_set() { argument.hide(true) } else { argument });
    }
    let page = Man::new(command).source(format!("memory {}", env!("CARGO_PKG_VERSION"))).manual("Manual of memory");
    let mut text = Vec::new();
    page.render(&mut text)?;
    text.extend(if is_root { format!("{EXIT_STATUS}{}", files()) } else { SEE_ALSO.to_owned() }.as_bytes());
    Ok((page.get_filename(), String::from_utf8(text).map_err(io::Error::other)?))
}

/// Default files that are read and written.
fn files() -> String {
    let files = [
        (
            "~/.config/memory/config.toml",
            "XDG_CONFIG_HOME",
            "The configuration, which \\fBmemory config init\\fR makes.",
        ),
        ("~/.local/share/memory/store", "XDG_DATA_HOME", "The store."),
        ("~/.cache/memory/models", "XDG_CACHE_HOME", "ONNX Runtime and the models."),
    ];
    let entry = |(path, directory, what): (&str, &str, &str)| {
        format!(".TP\n\\fI{path}\\fR, or below \\fI${directory}\\fR\n{what}\n")
    };
    format!(".SH FILES\n{}", files.map(entry).concat())
}
