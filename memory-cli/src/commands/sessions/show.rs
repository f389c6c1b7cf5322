//! `memory sessions show`: the agents, conversations, state and last message of a session.

use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{ConversationId, Node, NodeId, NodeRange};
use memory_hooks::{DerivedState, ListedConversation};
use schemars::JsonSchema;
use serde::Serialize;

use super::Session;
use crate::{
    Access,
    commands::{
        list,
        message::{self, Brief},
        resolve, show,
    },
    globals::Globals,
    news, open,
    output::shorten,
};

/// Shows the agents, conversations, state and last message of a session.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The session: a conversation by its name, the beginning of it or its title, `last`, or a session of agents by its
    /// name
    #[arg(value_name = "SESSION", default_value = "last")]
    session: String,
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Name of the session.
    session: &'a str,
    /// Conversations of the session, the most recent first.
    conversations: Vec<OfAgent>,
    /// Last message of the first conversation.
    last: Option<Brief<'a>>,
    /// State of the first conversation.
    state: &'a DerivedState,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OfAgent {
    /// Name of the agent, in a session of agents.
    agent: Option<String>,
    #[serde(flatten)]
    listed: ListedConversation,
}

/// The session that matches a name.
pub(super) async fn session(runtime: &Parts, name: &str) -> anyhow::Result<Session> {
    resolve::check_readable(runtime).await?;
    let all = runtime.store.conversations().await?;
    if let Some(session) = Session::of_agents(name, &all) {
        return Ok(session);
    }
    let id = resolve::conversation(runtime, Some(name)).await?;
    let of_agents = memory_transcripts::agent_of(id.as_str()).and_then(|(name, _)| Session::of_agents(&name, &all));
    Ok(of_agents.unwrap_or_else(|| Session { name: id.to_string(), agents: vec![(String::new(), id)] }))
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let session = session(&runtime, &args.session).await?;
    let mut listed = Vec::new();
    for (agent, id) in &session.agents {
        listed.push((agent.clone(), list::listed(&runtime, id).await?));
    }
    listed.sort_by_key(|(_, one)| std::cmp::Reverse(one.state.last_at));
    let Some((_, latest)) = listed.first() else { return Ok(()) };
    let (id, nodes) = (latest.state.id.clone(), latest.state.nodes);
    let state = runtime.memory.conversation(id.clone()).state().await?;
    let last = last(&runtime, &id, nodes).await?;
    let output = globals.output;
    let news = news::of(state.notices.iter().cloned());
    if output.json {
        let of_agent = |(agent, listed): (String, ListedConversation)| OfAgent {
            agent: Some(agent).filter(|agent| !agent.is_empty()),
            listed,
        };
        let conversations = listed.into_iter().map(of_agent).collect();
        let last = last.as_ref().map(Brief::of);
        return Ok(output.value(&Answer { session: &session.name, conversations, last, state: &state })?);
    }
    let names = resolve::ShownNames::of(&runtime).await?;
    let rows = listed.iter().map(|(agent, one)| {
        let [id, title, messages, tokens, last, tags] = list::row(one, &names);
        [agent.clone(), id, title, messages, tokens, last, tags]
    });
    output.line(&format!("session {}", session.name))?;
    let header = ["agent", "conversation", "title", "messages", "tokens", "last said", "tags"];
    output.table_without(header, rows, &["tokens", "tags", "messages"])?;
    show::print_state(output, &state)?;
    if let Some(node) = last {
        output.line("")?;
        output.line(&format!("last: {}", message::heading(&node)))?;
        output.line(&shorten(&node.message.text(), 400))?;
    }
    news::print(output, &news);
    Ok(())
}

/// The last message, if it can be read.
async fn last(runtime: &Parts, id: &ConversationId, nodes: u64) -> anyhow::Result<Option<Node>> {
    let Some(last) = NodeId::new(nodes) else { return Ok(None) };
    let read = runtime.store.readable_nodes(id, NodeRange::single(last)).await?;
    Ok(read.nodes.into_iter().next())
}
