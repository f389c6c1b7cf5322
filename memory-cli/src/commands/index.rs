//! `memory index`: brings the caches of recall, and the summaries by a chat model, up to the last message.

use clap::Args as ClapArgs;
use memory_core::{
    ConversationId,
    port::{IndexReport, Notice},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::resolve;
use crate::{
    Access,
    globals::Globals,
    news::{self, News},
    open,
    output::grouped,
};

/// Brings the caches of recall up to the last message.
///
/// With a chat model (--chat-model) it also writes the summaries that are due, which prompts do not wait for.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversations: resolve::FirstOrAll,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    conversations: Vec<Indexed<'a>>,
    /// Notices about the work.
    notices: &'a [News],
}

#[derive(Debug, Serialize, JsonSchema)]
struct Indexed<'a> {
    /// Name of the conversation.
    conversation: &'a ConversationId,
    /// Number of messages that were embedded now.
    embedded: u64,
    /// Number of summaries that were written now; 0 without a chat model.
    summaries: u64,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Existing)?;
    let runtime = open(&config)?;
    let ids = args.conversations.ids(&runtime).await?;
    // Two such commands at once would embed everything twice.
    let _lease = runtime.store.lease().await?;
    let output = globals.output;
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let bar = output.bar("embedding");
        let conversation = runtime.memory.conversation(id.clone());
        let report = conversation.index_with(&bar).await?;
        bar.finish();
        let summaries = if config.asks_chat_model() {
            let bar = output.bar("summarizing");
            let compacted = conversation.compact_with(&bar).await?;
            bar.finish();
            compacted.summaries
        } else {
            0
        };
        all.push((id, report, summaries));
    }
    let refused = all.iter().flat_map(|(_, report, _)| &report.notices).find_map(|notice| match notice {
        Notice::NotEmbedded { why } => Some(why.clone()),
        _ => None,
    });
    let mut news = news::of(all.iter().flat_map(|(_, report, _)| report.notices.clone()));
    news.dedup();
    globals.keep(&mut news);
    if output.json {
        let indexed = all.iter().map(|(id, report, summaries)| Indexed {
            conversation: id,
            embedded: report.embedded,
            summaries: *summaries,
        });
        output.value(&Answer { conversations: indexed.collect(), notices: &news })?;
    } else {
        news::print(output, &news);
        let row = |(id, report, summaries): &(ConversationId, IndexReport, u64)| {
            [id.to_string(), grouped(report.embedded), grouped(*summaries)]
        };
        let rows = all.iter().map(row);
        if config.asks_chat_model() {
            output.table(["conversation", "messages embedded", "summaries written"], rows)?;
        } else {
            let rows = rows.map(|[id, embedded, _]| [id, embedded]);
            output.table(["conversation", "messages embedded"], rows)?;
        }
    }
    match refused {
        // A script must not take partial work for success.
        Some(why) => Err(anyhow::anyhow!("not all messages were embedded: {why}")),
        None => Ok(()),
    }
}
