//! `memory browse`: shows a conversation level by level.

use std::{cmp::Reverse, collections::HashMap, num::NonZeroUsize};

use clap::Args as ClapArgs;
use memory_core::{
    ConversationId, Level, Losses, Node, NodeId, NodeRange, Store, Summary, SummaryOutline,
    plan::{Tree, ViewPolicy},
};
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

struct Entry {
    level: Level,
    nodes: NodeRange,
    lines: u64,
    tokens: u32,
    text: String,
    /// The strategy of a summary.
    written_by: Option<String>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let store = runtime.store.as_ref();
    let id = args.conversation.id(&runtime).await?;
    let summaries = store.summaries(&id).await?;
    let outline = store.outline(&id).await?;
    let mut tree = Tree::new(ViewPolicy::default());
    outline.into_iter().for_each(|node| tree.append(node));
    summaries.iter().for_each(|summary| tree.add(SummaryOutline::of(summary.id, &summary.body)));
    let last = NodeId::new(tree.total());
    if let Some(last) = last.filter(|last| args.from > *last) {
        return Err(
            NotFound(format!("`{id}` ends with node {last}: nothing stands at {} or after it", args.from)).into()
        );
    }
    let mut losses = Losses::default();
    let words: HashMap<_, _> = summaries.iter().map(|summary| (summary.id, summary)).collect();
    let entry = |place: &Summary| entry(words.get(&tree.words_for(place.id)).copied().unwrap_or(place));
    let in_tree = summaries.iter().filter(|summary| tree.height(summary.id).is_some());
    let mut entries: Vec<Entry> = match args.level {
        Some(Level::Full) => {
            let all = last.and_then(|last| NodeRange::new(NodeId::FIRST, last));
            args.messages(store, &id, all.into_iter(), &mut losses).await?
        }
        Some(level) => {
            let at_level: Vec<_> = in_tree.filter(|summary| summary.body.level == level).collect();
            // Several ARCHIVEs may begin with the same node. A page that begins at such a node follows another page,
            // which showed the ARCHIVEs that began earlier.
            let follows = at_level.iter().any(|summary| summary.body.span.first() == args.from);
            let shown = |span: NodeRange| if follows { span.first() >= args.from } else { span.last() >= args.from };
            at_level.into_iter().filter(|summary| shown(summary.body.span)).map(entry).collect()
        }
        None => {
            let roots = in_tree.filter(|s| tree.parent(s.id).is_none() && s.body.span.last() >= args.from);
            let messages = args.messages(store, &id, tree.full(), &mut losses).await?;
            roots.map(entry).chain(messages).collect()
        }
    };
    entries.sort_by_key(|entry| (entry.nodes.first(), Reverse(entry.nodes.last())));
    let first = |at: usize| entries.get(at).map(|entry| entry.nodes.first());
    // The next page begins at a node: entries that begin at the same node cannot be separated.
    let end = (args.limit.get()..entries.len()).find(|&at| first(at) != first(at - 1));
    let next = end.and_then(first);
    entries.truncate(end.unwrap_or(entries.len()));
    let output = globals.output;
    let news = news::of(losses.notice(&id));
    if output.json {
        let rows: Vec<_> = entries
            .iter()
            .map(|e| {
                json!({"level": e.level.as_str(), "nodes": node_runs([&e.nodes]), "lines": e.lines, "tokens": e.tokens, "text": e.text, "written_by": e.written_by})
            })
            .collect();
        let value = json!({"conversation": id.as_str(), "entries": rows, "next": next.map(NodeId::get),
                           "notices": news::sentences(&news), "notice_codes": news::codes(&news)});
        return Ok(output.value(&value)?);
    }
    let rows = entries.iter().map(|e| {
        let text = shorten(&e.text, 160);
        [e.level.to_string(), e.nodes.to_string(), e.lines.to_string(), e.tokens.to_string(), text]
    });
    output.table(["level", "nodes", "lines", "tokens", "text"], rows)?;
    news::print(output, &news);
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

impl Args {
    /// The messages of `runs` that a page may show, and one more, which gives the start of the next page.
    async fn messages(
        &self,
        store: &dyn Store,
        id: &ConversationId,
        runs: impl Iterator<Item = NodeRange>,
        losses: &mut Losses,
    ) -> anyhow::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for run in runs {
            let mut left = NodeRange::new(run.first().max(self.from), run.last());
            while let Some(rest) = left.filter(|_| entries.len() <= self.limit.get()) {
                let end = rest.first().get().saturating_add(self.limit.get() as u64).min(rest.last().get());
                let Some(run) = NodeId::new(end).and_then(|end| NodeRange::new(rest.first(), end)) else { break };
                entries.extend(messages(store, id, run, losses).await?);
                left = NodeRange::new(run.last().next(), rest.last());
            }
        }
        Ok(entries)
    }
}

async fn messages(
    store: &dyn Store,
    id: &ConversationId,
    run: NodeRange,
    losses: &mut Losses,
) -> anyhow::Result<Vec<Entry>> {
    let entry = |node: Node| Entry {
        level: Level::Full,
        nodes: NodeRange::single(node.id),
        lines: u64::from(node.line_count),
        tokens: node.tokens,
        text: format!("{}: {}", node.message.voice(), node.message.text()),
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
