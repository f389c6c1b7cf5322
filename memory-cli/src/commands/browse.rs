//! `memory browse`: a conversation level by level.

use clap::{Args as ClapArgs, ValueEnum};
use memory_core::{History, Level, NodeId, NodeRange, Store, Summary, plan::Tree};
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
    let tree = Tree::new(History { nodes: &outline, summaries: &summaries });
    let shown = |span: NodeRange| span.last() >= args.from;
    let mut entries: Vec<Entry> = Vec::new();
    match args.level.map(Level::from) {
        Some(Level::Full) => {
            let last = NodeId::new(tree.total());
            let page = args.from.get().saturating_add(args.limit as u64);
            let page = last.and_then(|last| NodeRange::new(args.from, last.min(NodeId::new(page)?)));
            entries.extend(messages(store, &id, page).await?);
        }
        Some(level) => {
            let at_level = summaries.iter().filter(|s| s.body.level == level && tree.height(s.id).is_some());
            entries.extend(at_level.filter(|s| shown(s.body.span)).map(entry));
        }
        None => {
            entries.extend(tree.roots().into_iter().filter(|root| shown(root.body.span)).map(entry));
            for run in tree.full().into_iter().filter(|run| shown(*run)) {
                entries.extend(messages(store, &id, NodeRange::new(run.first().max(args.from), run.last())).await?);
            }
        }
    }
    entries.sort_by_key(|entry| entry.nodes);
    let next = entries.get(args.limit).map(|entry| entry.nodes.first());
    entries.truncate(args.limit);
    let output = globals.output;
    if output.json {
        let rows: Vec<_> = entries
            .iter()
            .map(|e| {
                json!({"level": e.level.as_str(), "first": e.nodes.first().get(), "last": e.nodes.last().get(),
                            "lines": e.lines, "tokens": e.tokens, "text": e.text, "written_by": e.written_by})
            })
            .collect();
        let value = json!({"conversation": id.as_str(), "entries": rows, "next": next.map(NodeId::get)});
        return Ok(output.value(&value)?);
    }
    let rows = entries.iter().map(|e| {
        let text = shorten(&e.text, 160);
        [e.level.to_string(), e.nodes.to_string(), e.lines.to_string(), e.tokens.to_string(), text]
    });
    output.line(&table(["level", "nodes", "lines", "tokens", "text"], rows).to_string())?;
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
    id: &memory_core::ConversationId,
    run: Option<NodeRange>,
) -> anyhow::Result<Vec<Entry>> {
    let Some(run) = run else { return Ok(Vec::new()) };
    let entry = |node: memory_core::Node| Entry {
        level: Level::Full,
        nodes: NodeRange::single(node.id),
        lines: u64::from(node.line_count),
        tokens: node.tokens,
        text: format!("{}: {}", node.message.speaker_or_role(), node.message.text()),
        written_by: None,
    };
    Ok(store.nodes(id, run).await?.into_iter().map(entry).collect())
}
