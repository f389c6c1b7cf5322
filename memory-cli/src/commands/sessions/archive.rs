//! `memory sessions archive` and `unarchive`: leave a session out of lists, or list it again.

use clap::Args as ClapArgs;
use memory_core::Mark;
use schemars::JsonSchema;
use serde::Serialize;

use super::show;
use crate::{Access, globals::Globals, open};

/// Leaves a session out of lists and of `last`, or lists it again.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The session: a conversation by its name, the beginning of it or its title, or a session of agents by its name
    #[arg(value_name = "SESSION")]
    session: String,
}

/// An archived or unarchived session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Name of the session.
    session: &'a str,
    /// True if the session is archived now.
    archived: bool,
    /// Names of its conversations.
    conversations: Vec<&'a str>,
}

pub(crate) async fn run(args: &Args, is_set: bool, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?.without_model())?;
    let session = show::session(&runtime, &args.session).await?;
    for (_, id) in &session.agents {
        runtime.memory.conversation(id.clone()).mark(Mark::Archived, is_set).await?;
    }
    let output = globals.output;
    let ids: Vec<_> = session.agents.iter().map(|(_, id)| id.as_str()).collect();
    if output.json {
        return Ok(output.value(&Answer { session: &session.name, archived: is_set, conversations: ids })?);
    }
    let done = if is_set { "archived: `memory list --archived` lists it" } else { "listed again" };
    Ok(ids.iter().try_for_each(|id| output.line(&format!("{id}: {done}")))?)
}
