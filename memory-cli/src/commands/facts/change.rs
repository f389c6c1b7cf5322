//! `memory facts add`, `correct`, `disable`, `enable` and `erase`.

use clap::Args as ClapArgs;
use memory::erasing::EraseRequest;
use memory_core::NodeRange;
use memory_hooks::{EntryAuthor, EntryId, EntryKind, LedgerEntry, NewEntry};

use super::print;
use crate::{
    Access,
    commands::{erase as erasing, filter, resolve},
    failure::Usage,
    globals::Globals,
    open,
    output::Output,
};

/// Records an entry. Entries on the same subject that its words change are superseded.
#[derive(Debug, ClapArgs)]
pub(super) struct Add {
    /// Words of the entry
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    word: resolve::FirstWord,
    /// Kind of the entry
    #[arg(long, value_name = "KIND", value_parser = filter::kind())]
    kind: EntryKind,
    #[command(flatten)]
    how: How,
}

/// Records other words in the place of an entry, which stays as superseded.
#[derive(Debug, ClapArgs)]
pub(super) struct Correct {
    /// The entry, as `memory facts` lists it
    #[arg(value_name = "ENTRY")]
    id: EntryId,
    /// Words that hold
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, ClapArgs)]
struct How {
    #[command(flatten)]
    conversation: resolve::One,
    /// A message, or a run such as 7-12, that it comes from and is erased with; several may be given
    #[arg(long, value_name = "NODE", value_parser = resolve::nodes)]
    source: Vec<NodeRange>,
    /// Your name, to be recorded as the author
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    by: String,
}

/// An entry of a conversation.
#[derive(Debug, ClapArgs)]
pub(super) struct Entry {
    /// The entry, as `memory facts` lists it
    #[arg(value_name = "ENTRY")]
    id: EntryId,
    #[command(flatten)]
    conversation: resolve::One,
}

/// Erases a recorded entry for good, with a receipt.
#[derive(Debug, ClapArgs)]
pub(super) struct Erase {
    /// The entry, such as e7
    #[arg(value_name = "ENTRY")]
    id: EntryId,
    #[command(flatten)]
    conversation: resolve::One,
    #[command(flatten)]
    how: erasing::How,
}

pub(super) async fn add(args: &Add, globals: &Globals) -> anyhow::Result<()> {
    let parts = open(&globals.config(Access::Existing)?.without_model())?;
    let (named, text) = args.word.of(&parts.memory, &args.text, globals.output).await?;
    let id = match named {
        Some(id) => id,
        None => args.how.conversation.id(&parts).await?,
    };
    let by = EntryAuthor::Person(args.how.by.clone());
    let entry = NewEntry::new(args.kind, &text, by).sources(NodeRange::merge(args.how.source.clone()));
    print(globals.output, &parts.memory.conversation(id).add_entry(entry).await?)
}

pub(super) async fn correct(args: &Correct, globals: &Globals) -> anyhow::Result<()> {
    let parts = open(&globals.config(Access::Existing)?.without_model())?;
    let conversation = parts.memory.conversation(args.how.conversation.id(&parts).await?);
    let by = EntryAuthor::Person(args.how.by.clone());
    let sources = NodeRange::merge(args.how.source.clone());
    print(globals.output, &conversation.correct_entry(args.id, &args.text, by, sources).await?)
}

pub(super) async fn disable(args: &Entry, is_disabled: bool, globals: &Globals) -> anyhow::Result<()> {
    let parts = open(&globals.config(Access::Existing)?.without_model())?;
    let conversation = parts.memory.conversation(args.conversation.id(&parts).await?);
    let entry = match is_disabled {
        true => conversation.disable_entry(args.id).await?,
        false => conversation.enable_entry(args.id).await?,
    };
    print(globals.output, &entry)
}

pub(super) async fn erase(args: &Erase, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Existing)?.without_model();
    let parts = open(&config)?;
    let conversation = args.conversation.id(&parts).await?;
    if let EntryId::Said { node, .. } = args.id {
        let id = args.id;
        return Err(Usage(format!(
            "{id} is a sentence of message {node}: `memory facts disable {id}` hides it, `memory erase -c {conversation} \
             {node}` erases the message"
        ))
        .into());
    }
    let request = EraseRequest::Document { conversation, name: args.id.note_name() };
    erasing::erase(&parts, &config, request, &args.how, globals.output).await
}

/// Prints a changed entry, and what it replaces.
fn print(output: Output, entry: &LedgerEntry) -> anyhow::Result<()> {
    if output.json {
        return Ok(output.value(entry)?);
    }
    output.line(&print::line(entry))?;
    if !entry.replaces.is_empty() {
        let replaced: Vec<_> = entry.replaces.iter().map(ToString::to_string).collect();
        output.note(&format!("note: it replaces {}", replaced.join(", ")));
    }
    Ok(())
}
