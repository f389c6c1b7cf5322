//! `memory hook install` and `uninstall`: the hooks in the settings of an agent.

use std::{
    env, fs,
    io::{self, BufRead, IsTerminal},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory_files::{Links, read_to_string};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{
    Agent,
    diff::diff,
    program::{is_call, own_path},
    replace::{ReplaceError, replace},
    settings,
};
use crate::{failure::Usage, globals::Globals, terminal::To};

/// Most bytes of settings.
const LARGEST: u64 = 16 << 20;
/// Seconds after which an agent ends a call that hangs.
const TIMEOUT: u32 = 30;

const CLAUDE_CODE: [&str; 7] =
    ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStop", "Stop", "SessionEnd"];
/// Events of Codex, which has none at the end of a session: the last turn's end comes last.
const CODEX: [&str; 6] = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStop", "Stop"];

/// Settings that change, and the way they do.
#[derive(Debug, ClapArgs)]
pub(super) struct Args {
    #[arg(value_enum)]
    agent: Agent,
    /// The settings of the project in the working directory, instead of this user's: `.claude/settings.local.json`,
    /// which is not committed, or `.codex/hooks.json`
    #[arg(long)]
    project: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Show what would change, and change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

pub(super) fn install(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let own = own_path()?;
    let program = own.to_str().context("this program's path is not UTF-8: the agent could not call it")?;
    let agent = args.agent;
    let command = format!("{} hook {}", globals.command_line(program), agent.as_str());
    let group = json!({"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]});
    let change = |text: Option<&str>| {
        // Calls with an earlier path or store are removed first.
        let without = match text {
            Some(text) => settings::remove(text, &|command| is_call(command, agent, &own))?,
            None => None,
        };
        let added = settings::add(without.as_deref(), args.events(), &group)?;
        let is_there = text.map(settings::commands).transpose()?.is_some_and(|commands| {
            let ours: Vec<_> = commands.iter().filter(|command| is_call(command, agent, &own)).collect();
            ours.len() == args.events().len() && ours.iter().all(|there| **there == command)
        });
        Ok(if is_there { text.map(str::to_owned) } else { Some(added) })
    };
    if apply(args, globals, "installed", "is installed", &change)? && agent == Agent::Codex {
        globals.output.note("Codex runs hooks that you trust: type /hooks in it, and look at these");
    }
    Ok(())
}

pub(super) fn uninstall(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let own = own_path()?;
    let change = |text: Option<&str>| match text {
        Some(text) => settings::remove(text, &|command| is_call(command, args.agent, &own)),
        None => Ok(None),
    };
    apply(args, globals, "uninstalled", "is not installed", &change).map(drop)
}

impl Args {
    const fn events(&self) -> &'static [&'static str] {
        match self.agent {
            Agent::ClaudeCode => &CLAUDE_CODE,
            Agent::Codex => &CODEX,
        }
    }

    fn file(&self) -> anyhow::Result<PathBuf> {
        settings_file(self.agent, self.project)
    }
}

/// The settings file of an agent, with links resolved: a link stays a link.
pub(in crate::commands) fn settings_file(agent: Agent, of_project: bool) -> anyhow::Result<PathBuf> {
    let (variable, directory) = match agent {
        Agent::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude"),
        Agent::Codex => ("CODEX_HOME", ".codex"),
    };
    let name = match (agent, of_project) {
        (Agent::ClaudeCode, true) => "settings.local.json",
        (Agent::ClaudeCode, false) => "settings.json",
        (Agent::Codex, _) => "hooks.json",
    };
    let named = env::var_os(variable).filter(|named| !named.is_empty()).map(PathBuf::from);
    let directory = match named {
        _ if of_project => env::current_dir().context("cannot find the working directory")?.join(directory),
        Some(named) => named,
        None => {
            let home = env::home_dir().ok_or_else(|| Usage(format!("this user has no home: set {variable}")))?;
            home.join(directory)
        }
    };
    let file = directory.join(name);
    Ok(fs::canonicalize(&file).unwrap_or(file))
}

/// Outcome for an agent's settings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Name of the agent: `claude-code` or `codex`.
    agent: &'static str,
    /// Path of the settings.
    file: &'a str,
    /// True if the settings were written.
    changed: bool,
    /// Lines that would change, with `--dry-run`.
    diff: Option<String>,
}

type Change<'a> = dyn Fn(Option<&str>) -> Result<Option<String>, settings::SettingsError> + 'a;

/// Shows a change and makes it. Returns true if it was made.
fn apply(args: &Args, globals: &Globals, done: &str, is_so: &str, change: &Change<'_>) -> anyhow::Result<bool> {
    let (output, file) = (globals.output, args.file()?);
    let before = text_of(&file)?;
    let refused = || format!("{} stays as it is", file.display());
    let after = change(before.as_deref()).map_err(|error| Usage(error.to_string())).with_context(refused)?;
    let shown = file.display().to_string();
    let is_changed = before != after;
    let answer =
        |changed: bool, diff: Option<String>| Answer { agent: args.agent.as_str(), file: &shown, changed, diff };
    if !is_changed {
        if output.json {
            output.value(&answer(false, None))?;
        } else {
            output.line(&format!("nothing to do: {} {is_so} in {shown}", args.agent.as_str()))?;
        }
        return Ok(false);
    }
    let difference = diff(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    if args.dry_run && output.json {
        output.value(&answer(false, Some(difference)))?;
        return Ok(false);
    }
    if !output.json {
        let what = match (&before, &after) {
            (None, _) => "would make",
            (_, None) => "would remove",
            _ => "would change",
        };
        output.line(&format!("{what} {shown}:"))?;
        output.text(&difference)?;
    }
    if args.dry_run {
        return Ok(false);
    }
    if !args.yes && !is_wanted()? {
        output.note("nothing was changed");
        return Ok(false);
    }
    replace(&file, before.as_deref(), after.as_deref()).map_err(|error| match error {
        ReplaceError::Io(error) => anyhow::Error::new(error).context(format!("cannot write {shown}")),
        refused => anyhow::anyhow!("{shown} {refused}"),
    })?;
    if output.json {
        output.value(&answer(true, None))?;
    } else {
        output.line(&format!("{done}: {shown}"))?;
    }
    Ok(true)
}

pub(in crate::commands) fn text_of(file: &Path) -> anyhow::Result<Option<String>> {
    match read_to_string(file, Links::Refuse, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Asks for confirmation on a terminal.
fn is_wanted() -> anyhow::Result<bool> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(Usage("there is no terminal to ask in: --yes writes, --dry-run only shows".to_owned()).into());
    }
    To::Errors.line("write this? [y/N]")?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
