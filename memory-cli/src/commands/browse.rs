//! `memory browse`: a conversation level by level.

use clap::{Args as ClapArgs, ValueEnum};
use memory_core::{
    ConversationId, Level, Losses, Node, NodeId, NodeRange, Store, Summary, SummaryOutline,
    plan::{Tree, ViewPolicy},
};
use serde_json::json;

use super::resolve;
use crate::{
    Access,
    cli::Globals,
    open,
    output::{shorten, table},
};

/// A conversation level by level.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::One,
    /// One level alone [default: the top of the tree]
    #[arg(long, value_enum)]
    level: Option<LevelName>,
    /// First node to show
    #[arg(long, value_name = "NODE", value_parser = resolve::node, default_value = "1")]
    from: NodeId,
    /// The most entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelName {
    Full,
    Summary,
    Meta,
    Archive,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Full => Self::Full,
            LevelName::Summary => Self::Summary,
            LevelName::Meta => Self::Meta,
            LevelName::Archive => Self::Archive,
        }
    }
}

struct Entry {
    level: Level,
    nodes: NodeRange,
    lines: u64,
    tokens: u32,
    text: String,
    /// The strategy, where it is a summary.
    written_by: Option<String>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let store = runtime.store.as_ref();
    let id = args.conversation.id(store).await?;
    let summaries = store.summaries(&id).await?;
    let outline = store.outline(&id).await?;
    let mut tree = Tree::new(ViewPolicy::default());
    outline.into_iter().for_each(|node| tree.append(node));
    summaries.iter().for_each(|summary| tree.add(SummaryOutline::of(summary.id, &summary.body)));
    let shown = |span: NodeRange| span.last() >= args.from;
    let mut entries: Vec<Entry> = Vec::new();
    let mut losses = Losses::default();
    match args.level.map(Level::from) {
        Some(Level::Full) => {
            let last = NodeId::new(tree.total());
            let page = args.from.get().saturating_add(args.limit as u64);
            let page = last.and_then(|last| NodeRange::new(args.from, last.min(NodeId::new(page)?)));
            entries.extend(messages(store, &id, page, &mut losses).await?);
        }
        Some(level) => {
            let at_level = summaries.iter().filter(|s| s.body.level == level && tree.height(s.id).is_some());
            entries.extend(at_level.filter(|s| shown(s.body.span)).map(entry));
        }
        None => {
            let is_root = |summary: &&Summary| {
                tree.height(summary.id).is_some() && tree.parent(summary.id).is_none() && shown(summary.body.span)
            };
            entries.extend(summaries.iter().filter(is_root).map(entry));
            let mut found = 0;
            for run in tree.full().filter(|run| shown(*run)) {
                let mut left = NodeRange::new(run.first().max(args.from), run.last());
                // One more than are shown tells where the next page begins.
                while let Some(rest) = left.filter(|_| found <= args.limit) {
                    let page = NodeId::new(rest.first().get().saturating_add(args.limit as u64));
                    let page = page.map_or(rest.last(), |page| page.min(rest.last()));
                    let read = messages(store, &id, NodeRange::new(rest.first(), page), &mut losses).await?;
                    found += read.len();
                    entries.extend(read);
                    left = NodeId::new(page.get().saturating_add(1)).and_then(|next| NodeRange::new(next, rest.last()));
                }
            }
        }
    }
    entries.sort_by_key(|entry| entry.nodes);
    let next = entries.get(args.limit).map(|entry| entry.nodes.first());
    entries.truncate(args.limit);
    let output = globals.output;
    let notice = losses.notice(&id);
    if output.json {
        let rows: Vec<_> = entries
            .iter()
            .map(|e| {
                json!({"level": e.level.as_str(), "first": e.nodes.first().get(), "last": e.nodes.last().get(),
                            "lines": e.lines, "tokens": e.tokens, "text": e.text, "written_by": e.written_by})
            })
            .collect();
        let value = json!({"conversation": id.as_str(), "entries": rows, "next": next.map(NodeId::get),
                           "notices": Vec::from_iter(notice)});
        return Ok(output.value(&value)?);
    }
    let rows = entries.iter().map(|e| {
        let text = shorten(&e.text, 160);
        [e.level.to_string(), e.nodes.to_string(), e.lines.to_string(), e.tokens.to_string(), text]
    });
    output.line(&table(["level", "nodes", "lines", "tokens", "text"], rows).to_string())?;
    notice.iter().for_each(|notice| output.note(&format!("note: {notice}")));
    if let Some(next) = next {
        output.note(&format!("more from node {next}: --from {next}"));
    }
    Ok(())
}

fn entry(summary: &Summary) -> Entry {
    let body = &summary.body;
    let lines = body.metadata.line_count;
    Entry {
        level: body.level,
        nodes: body.span,
        lines,
        tokens: body.tokens,
        text: body.text.clone(),
        written_by: Some(body.written_by.to_string()),
    }
}

async fn messages(
    store: &dyn Store,
    id: &ConversationId,
    run: Option<NodeRange>,
    losses: &mut Losses,
) -> anyhow::Result<Vec<Entry>> {
    let Some(run) = run else { return Ok(Vec::new()) };
    let entry = |node: Node| Entry {
        level: Level::Full,
        nodes: NodeRange::single(node.id),
        lines: u64::from(node.line_count),
        tokens: node.tokens,
        text: format!("{}: {}", node.message.speaker_or_role(), node.message.text()),
        written_by: None,
    };
    let lost = |nodes: NodeRange| Entry {
        level: Level::Full,
        nodes,
        lines: 0,
        tokens: 0,
        text: "(lost)".to_owned(),
        written_by: None,
    };
    let read = store.readable_nodes(id, run).await?;
    losses.extend(&read.losses);
    Ok(read.nodes.into_iter().map(entry).chain(read.losses.runs().iter().copied().map(lost)).collect())
}
