//! `memory completions`: prints a script that completes the command line in a shell.

use clap::Args as ClapArgs;
use clap_complete::{Shell, generate};
use schemars::JsonSchema;
use serde::Serialize;

use crate::globals::Globals;

/// Prints a script that completes commands, options and their values in a shell.
///
/// bash: `memory completions bash > ~/.local/share/bash-completion/completions/memory`;
/// zsh: `memory completions zsh > _memory`, in a directory of `$fpath`;
/// fish: `memory completions fish > ~/.config/fish/completions/memory.fish`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The shell.
    shell: String,
    /// The script.
    script: String,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let (output, shell) = (globals.output, args.shell);
    let mut script = Vec::new();
    generate(shell, &mut (globals.definition)(), "memory", &mut script);
    let script = String::from_utf8(script)?;
    if output.json {
        return Ok(output.value(&Answer { shell: shell.to_string(), script })?);
    }
    Ok(output.text(script.trim_end())?)
}
