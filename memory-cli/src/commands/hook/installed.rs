//! Looks at the installed hooks, and checks that the programs they call exist.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    Agent,
    install::{settings_file, text_of},
    program::{is_call, own_path, words},
    settings,
};

/// The hooks of one agent in one of its settings files.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) agent: &'static str,
    pub(crate) file: PathBuf,
    /// True if the file is that of the project in the working directory.
    pub(crate) is_of_project: bool,
    pub(crate) state: InstalledState,
}

/// Calls by the hooks of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InstalledState {
    /// The agent is used here, but has no hooks of this program.
    Absent,
    Calls(String),
    /// The hooks call a program that does not exist.
    CallsNothing(String),
    /// The settings cannot be read.
    Unreadable(String),
}

/// Installed hooks of each agent that this user has.
pub(crate) fn installed() -> Vec<Installed> {
    let (mut all, own) = (Vec::new(), own_path().unwrap_or_default());
    for agent in [Agent::ClaudeCode, Agent::Codex] {
        for is_of_project in [false, true] {
            // A user without a home has no settings.
            let Ok(file) = settings_file(agent, is_of_project) else { continue };
            if let Some(state) = state(agent, &file, is_of_project, &own) {
                all.push(Installed { agent: agent.as_str(), file, is_of_project, state });
            }
        }
    }
    all
}

fn state(agent: Agent, file: &Path, is_of_project: bool, own: &Path) -> Option<InstalledState> {
    let absent = || (!is_of_project).then_some(InstalledState::Absent);
    let text = match text_of(file) {
        Ok(Some(text)) => text,
        // An agent that was never used has no directory.
        Ok(None) => return file.parent().filter(|directory| directory.is_dir()).and_then(|_| absent()),
        Err(error) => return Some(InstalledState::Unreadable(error.to_string())),
    };
    let commands = match settings::commands(&text) {
        Ok(commands) => commands,
        Err(error) => return Some(InstalledState::Unreadable(error.to_string())),
    };
    let programs: Vec<_> = commands
        .iter()
        .filter(|(_, command)| is_call(command, agent, own))
        .filter_map(|(_, command)| words(command)?.into_iter().next())
        .collect();
    let Some(first) = programs.first() else { return absent() };
    Some(match programs.iter().find(|program| !is_there(program)) {
        Some(gone) => InstalledState::CallsNothing(gone.clone()),
        None => InstalledState::Calls(first.clone()),
    })
}

/// True if a shell finds a program.
fn is_there(program: &str) -> bool {
    if program.contains(['/', '\\']) {
        return Path::new(program).is_file();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
