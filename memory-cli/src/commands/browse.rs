//! `memory browse`: shows a conversation level by level.

use std::{borrow::Cow, num::NonZeroUsize};

use clap::Args as ClapArgs;
use memory_core::{Level, NodeId};
use memory_hooks::{LevelEntry, LevelsRequest};
use serde_json::json;

use super::{level, resolve};
use crate::{
    Access,
    failure::NotFound,
    globals::Globals,
    news, open,
    output::{node_runs, shorten},
};

/// Shows a conversation level by level.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::One,
    /// Only this level [default: the top of the tree]
    #[arg(long, value_parser = level::from(Level::Full))]
    level: Option<Level>,
    /// First node to show
    #[arg(long, value_name = "NODE", value_parser = resolve::node, default_value = "1")]
    from: NodeId,
    /// The most entries; ARCHIVEs that begin with the same node stay together, even beyond it
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let request = LevelsRequest::default().level(args.level).from(args.from).limit(args.limit.get());
    let page = runtime.memory.conversation(id.clone()).levels(request).await?;
    if let Some(last) = NodeId::new(page.nodes).filter(|last| args.from > *last) {
        return Err(
            NotFound(format!("`{id}` ends with node {last}: nothing stands at {} or after it", args.from)).into()
        );
    }
    let output = globals.output;
    let news = news::of(page.losses.notice(&id));
    if output.json {
        let rows: Vec<_> = page
            .entries
            .iter()
            .map(|e| {
                json!({"level": e.level.as_str(), "nodes": node_runs([&e.nodes]), "lines": e.lines, "tokens": e.tokens,
                       "text": text(e), "written_by": e.written_by.as_ref().map(ToString::to_string)})
            })
            .collect();
        let value = json!({"conversation": id.as_str(), "entries": rows, "next": page.next.map(NodeId::get),
                           "notices": news::sentences(&news), "notice_codes": news::codes(&news)});
        return Ok(output.value(&value)?);
    }
    let rows = page.entries.iter().map(|e| {
        [e.level.to_string(), e.nodes.to_string(), e.lines.to_string(), e.tokens.to_string(), shorten(&text(e), 160)]
    });
    output.table(["level", "nodes", "lines", "tokens", "text"], rows)?;
    news::print(output, &news);
    if let Some(next) = page.next {
        output.note(&format!("more from node {next}: --from {next}"));
    }
    Ok(())
}

/// What an entry says, of a message with who said it.
fn text(entry: &LevelEntry) -> Cow<'_, str> {
    match &entry.speaker {
        Some(speaker) => format!("{speaker}: {}", entry.text).into(),
        None => entry.text.as_str().into(),
    }
}
