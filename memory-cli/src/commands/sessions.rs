//! `memory sessions`: conversations and the agents' sessions that they belong to.

pub(crate) mod archive;
mod create;
pub(crate) mod show;

use clap::{Args as ClapArgs, Subcommand};

use super::list;
use crate::globals::Globals;

/// Lists, shows, begins and archives sessions: conversations, and agents' conversations that belong together.
///
/// Without a subcommand it lists them, as `memory list` does. `memory title`, `tag`, `mark`, `resume` and `export` take the
/// same names.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    list: list::Args,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List them, the last one spoken in first
    List(list::Args),
    /// Show the agents, conversations, state and last message of one
    Show(show::Args),
    /// Begin one with its first message
    Create(create::Args),
    /// Leave one out of lists and of `last`; searches and its name find it as before
    Archive(archive::Args),
    /// List an archived one again
    Unarchive(archive::Args),
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        None => list::run(&args.list, globals).await,
        Some(Command::List(args)) => list::run(args, globals).await,
        Some(Command::Show(args)) => show::run(args, globals).await,
        Some(Command::Create(args)) => create::run(args, globals).await,
        Some(Command::Archive(args)) => archive::run(args, true, globals).await,
        Some(Command::Unarchive(args)) => archive::run(args, false, globals).await,
    }
}

/// The conversations of one session.
struct Session {
    /// Name of the agents' session, or of the only conversation.
    name: String,
    /// Agents of the session, with the ids of their conversations.
    agents: Vec<(String, memory_core::ConversationId)>,
}

impl Session {
    /// The session of an agent framework with this name, if any conversation belongs to it.
    fn of_agents(name: &str, all: &[memory_core::port::ConversationState]) -> Option<Self> {
        let agent = |id: &memory_core::ConversationId| {
            let (session, agent) = memory_transcripts::agent_of(id.as_str())?;
            (session == name).then_some((agent, id.clone()))
        };
        let agents: Vec<_> = all.iter().filter_map(|state| agent(&state.id)).collect();
        (!agents.is_empty()).then(|| Self { name: name.to_owned(), agents })
    }
}
