//! `memory sessions`: conversations and the agents' sessions that they belong to.

pub(crate) mod show;

use clap::{Args as ClapArgs, Subcommand};
use memory_core::{
    ConversationId, Mark, Message, NodeId,
    port::{ConversationState, StoreError},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::list;
use crate::{Access, failure::Usage, globals::Globals, open};

/// Lists, shows, begins and archives sessions: conversations, and agents' conversations that belong together.
///
/// Without a subcommand it lists them, as `memory list` does. `memory title`, `tag`, `mark`, `resume` and `export` take
/// the same names.
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
    Create(Create),
    /// Leave one out of lists and of `last`; searches and its name find it as before
    Archive(Archive),
    /// List an archived one again
    Unarchive(Archive),
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        None => list::run(&args.list, globals).await,
        Some(Command::List(args)) => list::run(args, globals).await,
        Some(Command::Show(args)) => show::run(args, globals).await,
        Some(Command::Create(args)) => create(args, globals).await,
        Some(Command::Archive(args)) => archive(args, true, globals).await,
        Some(Command::Unarchive(args)) => archive(args, false, globals).await,
    }
}

/// The conversations of one session.
struct Session {
    /// Name of the agents' session, or of the only conversation.
    name: String,
    /// Agents of the session, with the ids of their conversations.
    agents: Vec<(String, ConversationId)>,
}

impl Session {
    /// The session of an agent framework with this name, if any conversation belongs to it.
    fn of_agents(name: &str, all: &[ConversationState]) -> Option<Self> {
        let agent = |id: &ConversationId| {
            let (session, agent) = memory_transcripts::agent_of(id.as_str())?;
            (session == name).then_some((agent, id.clone()))
        };
        let agents: Vec<_> = all.iter().filter_map(|state| agent(&state.id)).collect();
        (!agents.is_empty()).then(|| Self { name: name.to_owned(), agents })
    }
}

/// Begins a session with its first message.
///
/// `memory append` does so, too; this command refuses a name that exists, and sets a title and tags with it.
#[derive(Debug, ClapArgs)]
struct Create {
    /// Its name
    #[arg(value_name = "NAME")]
    name: ConversationId,
    /// The first message of the user
    #[arg(value_name = "TEXT")]
    text: String,
    /// Its title [default: by the first message]
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// A tag; several may be given
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
}

async fn create(args: &Create, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Write)?.without_model())?;
    let id = &args.name;
    match runtime.store.conversation(id).await {
        Ok(_) => {
            return Err(Usage(format!("there is a session `{id}` already: `memory append -c {id}` goes on")).into());
        }
        Err(StoreError::UnknownConversation { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let conversation = runtime.memory.conversation(id.clone());
    let node = conversation.append(Message::user(args.text.clone())).await?.node;
    if node != NodeId::FIRST {
        let why = format!("another program began `{id}` meanwhile: the text is its message {node}");
        return Err(Usage(why).into());
    }
    if let Some(title) = &args.title {
        conversation.set_title(title).await?;
    }
    if !args.tag.is_empty() {
        conversation.set_tags(&args.tag).await?;
    }
    let output = globals.output;
    if output.json {
        return Ok(output.value(&list::listed(&runtime, id).await?)?);
    }
    output.line(id.as_str())?;
    output.note(&format!("`{id}` begins: `memory append -c {id}` goes on, `memory sessions show {id}` shows it"));
    Ok(())
}

/// Leaves a session out of lists and of `last`, or lists it again.
#[derive(Debug, ClapArgs)]
struct Archive {
    /// The session: a conversation by its name, the beginning of it or its title, or a session of agents by its name
    #[arg(value_name = "SESSION")]
    session: String,
}

/// An archived or unarchived session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Archived<'a> {
    /// Name of the session.
    session: &'a str,
    /// True if the session is archived now.
    archived: bool,
    /// Names of its conversations.
    conversations: Vec<&'a str>,
}

async fn archive(args: &Archive, is_set: bool, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?.without_model())?;
    let session = show::session(&runtime, &args.session).await?;
    for (_, id) in &session.agents {
        runtime.memory.conversation(id.clone()).mark(Mark::Archived, is_set).await?;
    }
    let output = globals.output;
    let ids: Vec<_> = session.agents.iter().map(|(_, id)| id.as_str()).collect();
    if output.json {
        return Ok(output.value(&Archived { session: &session.name, archived: is_set, conversations: ids })?);
    }
    let done = if is_set { "archived: `memory list --archived` lists it" } else { "listed again" };
    Ok(ids.iter().try_for_each(|id| output.line(&format!("{id}: {done}")))?)
}
