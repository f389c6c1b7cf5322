//! `memory summaries list`: lists the recorded summaries of a conversation.

use std::num::NonZeroUsize;

use clap::Args as ClapArgs;
use memory_core::{Level, NodeId, SummaryId};
use memory_hooks::{ListedSummary, SummariesRequest};

use crate::{
    Access,
    commands::{filter, resolve},
    failure::{NotFound, Usage},
    globals::Globals,
    open,
    output::{Of, grouped, shorten},
};

/// Lists the recorded summaries of a conversation, in order of the messages.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// A summary to print whole, by its number, such as s109 [default: a list of them]
    #[arg(value_name = "NUMBER", value_parser = resolve::summary)]
    summary: Option<SummaryId>,
    #[command(flatten)]
    conversation: resolve::One,
    /// Only those of this message or of later ones
    #[arg(long, value_name = "NODE", value_parser = resolve::node, default_value = "1")]
    from: NodeId,
    /// Only those of this message or of earlier ones [default: the last]
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    to: Option<NodeId>,
    /// Only this level [default: all]
    #[arg(long, value_parser = filter::level(Level::Summary))]
    level: Option<Level>,
    /// Also those that others have replaced
    #[arg(long)]
    replaced: bool,
    /// The most summaries
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
    /// Only those after this one in the list, for the next page
    #[arg(long, value_name = "NUMBER", value_parser = resolve::summary)]
    after: Option<SummaryId>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    if let Some(summary) = args.summary {
        return super::print_whole(&runtime.memory.conversation(id), summary, false, globals.output).await;
    }
    if let Some(to) = args.to.filter(|to| *to < args.from) {
        return Err(Usage(format!("--to {to} comes before --from {}", args.from)).into());
    }
    let nodes = runtime.store.conversation(&id).await?.nodes;
    if args.from.get() > nodes {
        return Err(
            NotFound(format!("`{id}` ends with node {nodes}: nothing stands at {} or after it", args.from)).into()
        );
    }
    let request = SummariesRequest::default()
        .level(args.level)
        .from(args.from)
        .to(args.to)
        .replaced(args.replaced)
        .after(args.after)
        .limit(args.limit.get());
    let page = runtime.memory.conversation(id.clone()).summaries(request).await?;
    let output = globals.output;
    if output.json {
        return Ok(output.value(&Of { conversation: &id, answer: &page })?);
    }
    if page.summaries.is_empty() {
        let is_narrowed =
            args.level.is_some() || args.to.is_some() || args.from > NodeId::FIRST || args.after.is_some();
        output.line(if is_narrowed { "no summary is so" } else { "no summary yet" })?;
    } else {
        let header = ["summary", "level", "messages", "tokens", "written by", "messages said", "text"];
        output.table_without(header, page.summaries.iter().map(row), &["written by", "messages said", "tokens"])?;
    }
    if let Some(next) = page.next {
        output.note(&format!("{} in all; more: --after {next}", grouped(page.total)));
    }
    Ok(())
}

fn row(summary: &ListedSummary) -> [String; 7] {
    let written_by = summary.written_by.as_ref().map_or_else(|| "(lost)".to_owned(), ToString::to_string);
    [
        if summary.is_current { summary.summary.to_string() } else { format!("{} (replaced)", summary.summary) },
        if summary.for_view { format!("{} (for a view)", summary.level) } else { summary.level.to_string() },
        summary.nodes.to_string(),
        grouped(u64::from(summary.tokens)),
        written_by,
        summary.said.map(said).unwrap_or_default(),
        if summary.is_dissolved { "(dissolved)".to_owned() } else { shorten(&summary.text, 160) },
    ]
}

/// The days of the first and the last message.
fn said([first, last]: [memory_core::Timestamp; 2]) -> String {
    let day = |at: memory_core::Timestamp| at.to_string().chars().take("2023-05-01".len()).collect::<String>();
    let (first, last) = (day(first), day(last));
    if first == last { first } else { format!("{first} to {last}") }
}
