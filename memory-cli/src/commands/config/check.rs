//! `memory config check`: reports all that is wrong in a configuration file.

use std::ffi::OsString;

use clap::{Args as ClapArgs, ValueHint};
use serde_json::{Value, json};

use crate::{
    config_file::{Choice, ConfigFile, Fault, Kind, Setting, keys},
    globals::Globals,
    output::{grouped, shorten},
};

/// Reads a configuration file and reports all that is wrong in it, each fault with its line and column.
///
/// Exits with 2 if anything is. Without faults it prints the settings that the file makes.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The file [default: the one that commands read]
    #[arg(value_hint = ValueHint::FilePath)]
    file: Option<OsString>,
}

/// Characters of a value that are shown; --json gives all of it.
const SHOWN: usize = 100;

pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let command = (globals.definition)();
    let named = args.file.as_ref().map(|file| {
        // Whatever its name is, it is a file.
        let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
        ConfigFile::read(Choice::Named(path), &command)
    });
    let file = named.as_ref().unwrap_or(&globals.file);
    let keys = keys(&command);
    let value_of = |setting: &Setting| {
        let key = keys.iter().find(|key| key.table == setting.table && key.name == setting.name);
        setting.to_json(key.map_or(Kind::Text, |key| key.kind()))
    };
    let output = globals.output;
    if output.json {
        let settings: Vec<Value> = file
            .settings
            .iter()
            .map(|setting| {
                json!({
                    "table": setting.table, "key": setting.name, "strategy": setting.strategy,
                    "value": value_of(setting), "line": setting.place.line,
                })
            })
            .collect();
        output.value(&json!({
            "file": file.choice.path().map(|path| path.display().to_string()),
            "exists": file.exists,
            "valid": file.faults.is_empty(),
            "settings": settings,
            "faults": file.faults.iter().map(Fault::to_json).collect::<Vec<_>>(),
        }))?;
        return Ok(file.check()?);
    }
    file.check()?;
    let path = file.path().display();
    if !file.exists {
        let why = if file.choice == Choice::Off { "no file is read" } else { "there is no such file, and need not be" };
        return Ok(output.line(&format!("{path}: {why}"))?);
    }
    for setting in &file.settings {
        let value = shorten(&value_of(setting).to_string(), SHOWN);
        output.line(&format!("{}: {} = {value}", setting.place.line, setting.shown()))?;
    }
    let settings = file.settings.len();
    let settings =
        if settings == 1 { "one setting".to_owned() } else { format!("{} settings", grouped(settings as u64)) };
    Ok(output.line(&format!("{path}: {settings}, nothing wrong"))?)
}
