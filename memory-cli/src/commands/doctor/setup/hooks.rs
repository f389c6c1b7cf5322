//! Installed hooks of agents, and the programs that they call.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    super::super::hook::{Agent, is_call, own_path, settings, settings_file, text_of, words},
    Item, State,
};

/// The hooks of each agent that this user has, in each of its settings files.
pub(super) fn look() -> Vec<Item> {
    let (mut items, own) = (Vec::new(), own_path().unwrap_or_default());
    for agent in [Agent::ClaudeCode, Agent::Codex] {
        for is_of_project in [false, true] {
            // A user without a home has no settings.
            let file = settings_file(agent, is_of_project).ok();
            items.extend(file.and_then(|file| item(agent, &file, is_of_project, &own)));
        }
    }
    items
}

/// The hooks in a file; `None` if the agent is not used there.
fn item(agent: Agent, file: &Path, is_of_project: bool, own: &Path) -> Option<Item> {
    let what = match agent {
        Agent::ClaudeCode => "hooks of Claude Code",
        Agent::Codex => "hooks of Codex",
    };
    let project = if is_of_project { " --project" } else { "" };
    let install = format!("memory hook install {}{project}", agent.as_str());
    let shown = file.display();
    let none = || format!("none in {shown}: its sessions are not taken in");
    let absent = || (!is_of_project).then(|| Item::new(what, State::Missing, none()).remedy(&install));
    let commands = match text_of(file) {
        Ok(Some(text)) => settings::commands(&text).map_err(anyhow::Error::from),
        // An agent that was never used has no directory.
        Ok(None) => return file.parent().filter(|directory| directory.is_dir()).and_then(|_| absent()),
        Err(error) => Err(error),
    };
    let commands = match commands {
        Ok(commands) => commands,
        Err(error) => return Some(Item::new(what, State::Wrong, format!("{shown}: {error}"))),
    };
    let programs: Vec<_> = commands
        .iter()
        .filter(|command| is_call(command, agent, own))
        .filter_map(|command| words(command)?.into_iter().next())
        .collect();
    let Some(first) = programs.first() else { return absent() };
    Some(match programs.iter().find(|program| !is_there(program)) {
        None => Item::new(what, State::Here, format!("{first}, by {shown}")),
        Some(gone) => {
            let detail = format!("{shown} calls {gone}, which does not exist: its sessions are not taken in");
            Item::new(what, State::Wrong, detail).remedy(install)
        }
    })
}

/// True if a shell finds a program.
fn is_there(program: &str) -> bool {
    if program.contains(['/', '\\']) {
        return Path::new(program).is_file();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory: PathBuf| directory.join(program).is_file())
}
