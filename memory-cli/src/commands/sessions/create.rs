//! `memory sessions create`: begins a conversation with its first message.

use clap::Args as ClapArgs;
use memory_core::{ConversationId, Message, NodeId, port::StoreError};

use crate::{Access, commands::list, failure::Usage, globals::Globals, open};

/// Begins a session with its first message.
///
/// `memory append` does so, too; this command refuses a name that exists, and sets a title and tags with it.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Its name
    #[arg(value_name = "NAME")]
    name: ConversationId,
    /// What the user says first
    #[arg(value_name = "TEXT")]
    text: String,
    /// Its title [default: by the first message]
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// A tag; several may be given
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
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
