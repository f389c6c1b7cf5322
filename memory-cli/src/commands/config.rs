//! `memory config`: the configuration file.

pub(crate) mod show;

use std::{
    ffi::OsString,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args as ClapArgs, Subcommand, ValueHint};
use memory_files::create_dir_all;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    config_file::{Choice, ConfigFile, Fault, template},
    failure::Usage,
    globals::Globals,
    output::{grouped, shorten},
    target::{Existing, Target},
};

/// The configuration file: what holds and where it comes from, what is wrong, a template.
///
/// docs/configuration.md lists its keys. A flag comes before an environment variable, that before the file, and the
/// file before what is built in.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show every setting, its value and where that comes from
    ///
    /// That is a flag of this call, an environment variable, a line of the configuration file, or what is built in. A
    /// setting that has no value is shown as a dash. Of the tables of strategies and managers only switches and numbers
    /// are shown, since any text in them may be a secret.
    Show {
        /// Only what is not built in
        #[arg(long)]
        changed: bool,
    },
    /// Read a file and report all that is wrong, each with its line
    ///
    /// Exits with 2 if anything is. Without faults it prints the settings that the file makes. Plugins that the file
    /// names are loaded, which runs their code.
    Check {
        /// The file [default: the one that commands read]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<OsString>,
    },
    /// Write a file with every key, its meaning and its default
    ///
    /// All of them are commented out. The file goes where it is looked for (`memory config path`), and only this user
    /// can read it.
    Init {
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
    },
    /// Print where the file is, whether there is one or not
    Path,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        None => show::run(false, globals),
        Some(Command::Show { changed }) => show::run(*changed, globals),
        Some(Command::Check { file }) => check(file.as_ref(), globals),
        Some(Command::Init { force }) => init(Existing::of(*force), globals),
        Some(Command::Path) => path(globals),
    }
}

/// Where the file is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileLocation {
    /// The file; null where none is read.
    file: Option<String>,
    /// True if there is one.
    exists: bool,
}

impl FileLocation {
    fn of(file: &ConfigFile) -> Self {
        Self { file: file.choice.path().map(|path| path.display().to_string()), exists: file.exists }
    }
}

/// A file that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MadeFile {
    /// The file.
    file: String,
}

/// A file that was checked. The exit code is 2 where a fault was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Check<'a> {
    #[serde(flatten)]
    at: FileLocation,
    /// True if nothing is wrong.
    valid: bool,
    settings: Vec<CheckedSetting<'a>>,
    faults: &'a [Fault],
}

#[derive(Debug, Serialize, JsonSchema)]
struct CheckedSetting<'a> {
    /// The table; null at the top of the file.
    table: Option<&'a str>,
    /// The key.
    key: &'a str,
    /// The strategy, of a table of `configure`.
    strategy: Option<&'a str>,
    /// The value, without secrets.
    value: Value,
    /// The line.
    line: usize,
}

fn chosen(file: &ConfigFile) -> Result<&Path, Usage> {
    file.choice.path().ok_or_else(|| Usage("no file is read: --config or MEMORY_CONFIG names one".to_owned()))
}

fn path(globals: &Globals) -> anyhow::Result<()> {
    let (output, file) = (globals.output, &globals.file);
    if output.json {
        return Ok(output.value(&FileLocation::of(file))?);
    }
    output.line(&chosen(file)?.display().to_string())?;
    if !file.exists {
        output.note("there is no such file: `memory config init` makes one");
    }
    Ok(())
}

fn init(existing: Existing, globals: &Globals) -> anyhow::Result<()> {
    let path = chosen(&globals.file)?;
    let directory = path.parent().map(PathBuf::from).unwrap_or_default();
    // Checked first: a refusal makes no directory.
    let target = Target::of(path, existing)?;
    if !directory.is_dir() {
        create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let mut file = target.begin()?;
    let text = template(&(globals.definition)());
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    file.finish()?;
    let (output, path) = (globals.output, path.display().to_string());
    if output.json {
        return Ok(output.value(&MadeFile { file: path })?);
    }
    Ok(output.line(&format!("made {path}: every key is in it, none is set"))?)
}

fn check(file: Option<&OsString>, globals: &Globals) -> anyhow::Result<()> {
    /// Characters of a value that are shown; --json gives all of it.
    const SHOWN: usize = 100;
    let named = file.map(|file| {
        // Whatever its name is, it is a file.
        let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
        ConfigFile::read(Choice::Named(path), &(globals.definition)())
    });
    let (output, mut file) = (globals.output, named.unwrap_or_else(|| globals.file.clone()));
    file.check_strategies();
    if output.json {
        let settings = file.settings.iter().map(|setting| CheckedSetting {
            table: setting.key.table,
            key: setting.key.name,
            strategy: setting.strategy.as_deref(),
            value: setting.to_json(),
            line: setting.place.line,
        });
        output.value(&Check {
            at: FileLocation::of(&file),
            valid: file.faults.is_empty(),
            settings: settings.collect(),
            faults: &file.faults,
        })?;
        return Ok(file.check()?);
    }
    file.check()?;
    let path = file.path().display();
    if !file.exists {
        let why = if file.choice == Choice::Off { "no file is read" } else { "there is no such file, and need not be" };
        return Ok(output.line(&format!("{path}: {why}"))?);
    }
    for setting in &file.settings {
        let value = shorten(&setting.to_json().to_string(), SHOWN);
        output.line(&format!("{}: {} = {value}", setting.place.line, setting.shown()))?;
    }
    let settings = match file.settings.len() {
        1 => "one setting".to_owned(),
        settings => format!("{} settings", grouped(settings as u64)),
    };
    Ok(output.line(&format!("{path}: {settings}, nothing wrong"))?)
}
