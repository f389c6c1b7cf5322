//! `memory browse`: shows a conversation level by level.

#[cfg(feature = "tui")]
mod interactive;

use std::num::NonZeroUsize;

use clap::Args as ClapArgs;
use memory_core::{Level, NodeId};
use memory_hooks::LevelsRequest;

use super::{filter, resolve};
#[cfg(feature = "tui")]
use crate::terminal;
use crate::{
    Access,
    failure::NotFound,
    globals::Globals,
    news, open,
    output::{Noted, Of, shorten},
};

/// Shows a conversation level by level.
///
/// On a terminal it is moved through by keys (? lists them): one level down, source messages, find, rewrite or dissolve
/// a summary. With an option for a part of it, in a pipe, and with --plain or --json it is printed.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// Only this level [default: the top of the tree]
    #[arg(long, value_parser = filter::level(Level::Full))]
    level: Option<Level>,
    /// First node to show [default: 1]
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    from: Option<NodeId>,
    /// The most entries; ARCHIVEs that begin with the same node stay together, even beyond it [default: 50]
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    /// Print a table on a terminal, too
    #[arg(long)]
    plain: bool,
}

/// Entries that are printed without a limit.
const LIMIT: usize = 50;

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    #[cfg(feature = "tui")]
    if args.is_interactive(globals) {
        return interactive::run(&args.conversation, globals).await;
    }
    let from = args.from.unwrap_or(NodeId::FIRST);
    let limit = args.limit.map_or(LIMIT, NonZeroUsize::get);
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let request = LevelsRequest::default().level(args.level).from(from).limit(limit);
    let page = runtime.memory.conversation(id.clone()).levels(request).await?;
    if let Some(last) = NodeId::new(page.nodes).filter(|last| from > *last) {
        return Err(NotFound(format!("`{id}` ends with node {last}: nothing stands at {from} or after it")).into());
    }
    let output = globals.output;
    let news = news::of(page.losses.notice(&id));
    if output.json {
        let answer = Of { conversation: &id, answer: &page };
        return Ok(output.value(&Noted { answer, notices: &news })?);
    }
    let rows = page.entries.iter().map(|e| {
        let speaker = e.speaker.as_ref().map(|speaker| format!("{speaker}: ")).unwrap_or_default();
        let text = shorten(&format!("{speaker}{}", e.text), 160);
        [e.level.to_string(), e.nodes.to_string(), e.lines.to_string(), e.tokens.to_string(), text]
    });
    output.table(["level", "nodes", "lines", "tokens", "text"], rows)?;
    news::print(output, &news);
    if let Some(next) = page.next {
        output.note(&format!("more from node {next}: --from {next}"));
    }
    Ok(())
}

#[cfg(feature = "tui")]
impl Args {
    /// True if a person is at a terminal that can be drawn on, and no printed part is requested.
    fn is_interactive(&self, globals: &Globals) -> bool {
        let asks_for_part = self.level.is_some() || self.from.is_some() || self.limit.is_some();
        !self.plain && !globals.output.json && !asks_for_part && terminal::can_be_drawn_on()
    }
}
