//! `memory index`: brings the caches of recall up to the last message.

use clap::Args as ClapArgs;
use memory_core::{ConversationId, port::Notice};
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
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversations: resolve::OneOrAll,
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
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?)?;
    let ids = args.conversations.ids(&runtime).await?;
    // Two such commands at once would embed everything twice.
    let _lease = runtime.store.lease().await?;
    let output = globals.output;
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let bar = output.bar("embedding");
        let report = runtime.memory.conversation(id.clone()).index_with(&bar).await?;
        bar.finish();
        all.push((id, report));
    }
    let refused = all.iter().flat_map(|(_, report)| &report.notices).find_map(|notice| match notice {
        Notice::NotEmbedded { why } => Some(why.clone()),
        _ => None,
    });
    let mut news = news::of(all.iter().flat_map(|(_, report)| report.notices.clone()));
    news.dedup();
    globals.keep(&mut news);
    if output.json {
        let conversations = all.iter().map(|(id, report)| Indexed { conversation: id, embedded: report.embedded });
        output.value(&Answer { conversations: conversations.collect(), notices: &news })?;
    } else {
        news::print(output, &news);
        let rows = all.iter().map(|(id, report)| [id.to_string(), grouped(report.embedded)]);
        output.table(["conversation", "messages embedded"], rows)?;
    }
    match refused {
        // A script must not take partial work for success.
        Some(why) => Err(anyhow::anyhow!("not all messages were embedded: {why}")),
        None => Ok(()),
    }
}
