//! `memory sessions show`: the agents, conversations, state and last message of a session.

use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{ConversationId, Node, NodeId, NodeRange};
use memory_hooks::ListedConversation;
use serde_json::json;

use super::Session;
use crate::{
    Access,
    commands::{detail, list, resolve, show},
    globals::Globals,
    news, open,
    output::{known, shorten},
};

/// Shows the agents, conversations, state and last message of a session.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The session: a conversation by its name, the beginning of it or its title, `last`, or a session of agents by its
    /// name
    #[arg(value_name = "SESSION", default_value = "last")]
    session: String,
}

/// The session that a name means.
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
        let state = runtime.store.conversation(id).await?;
        let title = runtime.memory.conversation(id.clone()).title().await?;
        listed.push((agent.clone(), ListedConversation::new(state, title)));
    }
    listed.sort_by_key(|(_, one)| std::cmp::Reverse(one.state.last_at));
    let Some((_, latest)) = listed.first() else { return Ok(()) };
    let (id, nodes) = (latest.state.id.clone(), latest.state.nodes);
    let state = runtime.memory.conversation(id.clone()).state().await?;
    let last = last(&runtime, &id, nodes).await?;
    let output = globals.output;
    let news = news::of(state.notices.iter().cloned());
    if output.json {
        let conversations: Vec<_> = listed
            .iter()
            .map(|(agent, one)| {
                let mut value = list::to_json(one);
                if let Some(members) = value.as_object_mut() {
                    members.insert("agent".to_owned(), Some(agent.as_str()).filter(|agent| !agent.is_empty()).into());
                }
                value
            })
            .collect();
        let last = last.map(|node| {
            json!({"node": node.id.get(), "at": known(node.at), "speaker": node.message.voice(),
                   "text": node.message.text()})
        });
        return Ok(output.value(&json!({
            "session": session.name,
            "conversations": conversations,
            "last": last,
            "state": show::state_to_json(&state),
        }))?);
    }
    let rows = listed.iter().map(|(agent, one)| {
        let [id, title, messages, tokens, last, tags] = list::row(one);
        [agent.clone(), id, title, messages, tokens, last, tags]
    });
    output.line(&format!("session {}", session.name))?;
    output.table(["agent", "conversation", "title", "messages", "tokens", "last said", "tags"], rows)?;
    show::print_state(output, &state)?;
    if let Some(node) = last {
        output.line("")?;
        output.line(&format!("last: {}", detail::heading(&node)))?;
        output.line(&shorten(&node.message.text(), 400))?;
    }
    news::print(output, &news);
    Ok(())
}

/// The last message that can be read.
async fn last(runtime: &Parts, id: &ConversationId, nodes: u64) -> anyhow::Result<Option<Node>> {
    let Some(last) = NodeId::new(nodes) else { return Ok(None) };
    let read = runtime.store.readable_nodes(id, NodeRange::single(last)).await?;
    Ok(read.nodes.into_iter().next())
}
