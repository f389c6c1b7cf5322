//! `memory find`: finds text by a regular expression.

use std::time::Duration;

use clap::Args as ClapArgs;
use memory_core::{NodeId, NodeRange, one_line};
use memory_search::{FindRequest, LeftOut, find};
use serde_json::json;

use super::resolve;
use crate::{
    Access,
    failure::{Picture, Usage},
    globals::Globals,
    news::{self, News},
    open,
};

/// Finds text by a regular expression.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The regular expression
    pattern: String,
    #[command(flatten)]
    conversation: resolve::One,
    /// First node to look at
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    from: Option<NodeId>,
    /// Last node to look at
    #[arg(long, value_name = "NODE", value_parser = resolve::node)]
    to: Option<NodeId>,
    /// The most matches
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// The time limit of the search, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    max_seconds: u64,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let conversation = args.conversation.id(&runtime).await?;
    let range = match (args.from, args.to) {
        (None, None) => None,
        (from, to) => {
            let from = from.unwrap_or(NodeId::FIRST);
            let to = to.or_else(|| NodeId::new(u64::MAX)).unwrap_or(from);
            Some(NodeRange::new(from, to).ok_or_else(|| Usage(format!("--from {from} comes after --to {to}")))?)
        }
    };
    let max_time = Duration::from_secs(args.max_seconds);
    let request = FindRequest::new(&conversation, &args.pattern).range(range).limit(args.limit).max_time(max_time);
    let found = find(&*runtime.store, &request).await.map_err(|error| match error {
        // The text marks the place below the pattern; a pattern of several lines is shown with line numbers.
        memory_search::FindError::Pattern { pattern, why } => {
            anyhow::Error::new(Picture(format!("`{}` cannot be searched for: {why}", one_line(&pattern))))
        }
        other => anyhow::Error::new(other),
    })?;
    let output = globals.output;
    let left_out = |LeftOut { node, from, length, .. }: LeftOut| News::EndLeftOut { node, from, length };
    let mut news = news::of(found.losses.notice(&conversation));
    news.extend(found.left_out.map(left_out));
    news.extend(found.stopped_at.map(News::OutOfTime));
    if output.json {
        let matches: Vec<_> = found
            .matches
            .iter()
            .map(|m| {
                json!({"node": m.node.get(), "line": m.line, "start": m.span.start, "end": m.span.end,
                            "before": m.before, "matched": m.matched, "after": m.after})
            })
            .collect();
        let value = json!({"conversation": conversation.as_str(), "matches": matches, "more": found.more,
                           "stopped_at": found.stopped_at.map(NodeId::get), "scanned": found.scanned,
                           "left_out": found.left_out.map(|end| json!({"node": end.node.get(), "from": end.from,
                                                                       "length": end.length})),
                           "notices": news::sentences(&news), "notice_codes": news::codes(&news)});
        return Ok(output.value(&value)?);
    }
    for found in &found.matches {
        output.line(&format!("{}:{}: {}{}{}", found.node, found.line, found.before, found.matched, found.after))?;
    }
    news::print(output, &news);
    let more = if found.more { "; there are more: raise --limit" } else { "" };
    output.note(&format!("{} matches in {} messages{more}", found.matches.len(), found.scanned));
    Ok(())
}
