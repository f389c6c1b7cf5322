//! `memory set`: the title, tags, marks and pinned messages of a conversation.

use clap::Args as ClapArgs;
use memory_core::{Mark, NodeId, NodeRange};

use super::{list, resolve, tag};
use crate::{Access, globals::Globals, open};

/// Sets the title, tags, marks and pinned messages of a conversation, or shows them.
///
/// `memory list --tag`, `--important` and `--archived` choose conversations by them. An archived one is left out of lists
/// and of `last`; searches and its name find it as before. A pinned message is shown word for word in every context that
/// it fits.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// The new title; an empty one takes back what was set
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// Add a tag; several may be given
    #[arg(long, value_name = "TAG", value_parser = tag::named)]
    tag: Vec<String>,
    /// Remove a tag; several may be given
    #[arg(long, value_name = "TAG")]
    untag: Vec<String>,
    /// Pin a message, by its number; several may be given
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    pin: Vec<NodeId>,
    /// Pin a message no longer
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    unpin: Vec<NodeId>,
    /// Mark it as important
    #[arg(long, conflicts_with = "unimportant")]
    important: bool,
    /// Take that mark back
    #[arg(long)]
    unimportant: bool,
    /// Mark it as archived
    #[arg(long, conflicts_with = "unarchive")]
    archive: bool,
    /// Take that mark back
    #[arg(long)]
    unarchive: bool,
}

impl Args {
    fn marks(&self) -> impl Iterator<Item = (Mark, bool)> {
        let marks = [
            (self.important, Mark::Important, true),
            (self.unimportant, Mark::Important, false),
            (self.archive, Mark::Archived, true),
            (self.unarchive, Mark::Archived, false),
        ];
        marks.into_iter().filter(|(is_given, ..)| *is_given).map(|(_, mark, is_set)| (mark, is_set))
    }

    fn changes_anything(&self) -> bool {
        let lists = [self.tag.len(), self.untag.len(), self.pin.len(), self.unpin.len(), self.marks().count()];
        self.title.is_some() || lists.iter().sum::<usize>() > 0
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let access = if args.changes_anything() { Access::Existing } else { Access::Read };
    let runtime = open(&globals.config(access)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    // Pins come first, since they fail if no message has the number.
    for (nodes, is_pinned) in [(&args.pin, true), (&args.unpin, false)] {
        for node in nodes {
            conversation.pin(*node, is_pinned).await?;
        }
    }
    if let Some(title) = &args.title {
        conversation.set_title(title).await?;
    }
    let [_, tags] = tag::change(&conversation, args.tag.iter(), &args.untag).await?;
    for (mark, is_set) in args.marks() {
        conversation.mark(mark, is_set).await?;
    }
    let listed = list::listed(&runtime, &id).await?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&listed)?);
    }
    let outline = runtime.store.outline(&id).await?;
    let pinned = (1..).zip(&outline).filter(|(_, node)| node.pinned).filter_map(|(number, _)| NodeId::new(number));
    let pinned: Vec<_> =
        NodeRange::merge(pinned.map(NodeRange::single).collect()).iter().map(ToString::to_string).collect();
    let marks: Vec<_> = Mark::ALL.into_iter().filter(|mark| listed.state.is_marked(*mark)).collect();
    let lines = [
        ("conversation", id.to_string()),
        ("title", list::title(&listed)),
        ("tags", tags.into_iter().collect::<Vec<_>>().join(", ")),
        ("marks", marks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        ("pinned", pinned.join(", ")),
    ];
    let lines = lines.iter().filter(|(_, value)| !value.is_empty());
    Ok(lines.into_iter().try_for_each(|(name, value)| output.line(&format!("{name}: {value}")))?)
}
