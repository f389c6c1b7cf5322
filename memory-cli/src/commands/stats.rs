//! `memory stats`: what is stored and what compression saves.

use clap::Args as ClapArgs;
use memory_core::{ConversationId, Level};
use memory_hooks::ConversationStats;
use serde_json::{Value, json};

use super::resolve;
use crate::{
    Access,
    cli::Globals,
    open,
    output::{grouped, table},
};

/// What is stored and what compression saves.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversations: resolve::OneOrAll,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let ids = args.conversations.ids(&runtime.store).await?;
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let stats = runtime.memory.conversation(id.clone()).stats().await?;
        all.push((id, stats));
    }
    let output = globals.output;
    if output.json {
        let conversations: Vec<_> = all.iter().map(|(id, stats)| to_json(id, stats)).collect();
        return Ok(output.value(&json!({"conversations": conversations}))?);
    }
    let header = [
        "conversation",
        "messages",
        "user/AI",
        "full",
        "summary",
        "meta",
        "archive",
        "tokens",
        "view",
        "smaller",
        "days",
    ];
    let rows = all.iter().map(|(id, stats)| {
        [
            id.to_string(),
            grouped(stats.nodes),
            format!("{}/{}", stats.user_nodes, stats.ai_nodes),
            grouped(stats.at_level(Level::Full)),
            grouped(stats.at_level(Level::Summary)),
            grouped(stats.at_level(Level::Meta)),
            grouped(stats.at_level(Level::Archive)),
            grouped(stats.tokens),
            grouped(stats.view_tokens),
            format!("{:.1} x", stats.compression_ratio()),
            format!("{:.1}", stats.days),
        ]
    });
    output.line(&table(header, rows).to_string())?;
    Ok(())
}

fn to_json(id: &ConversationId, stats: &ConversationStats) -> Value {
    let [full, summary, meta, archive] = stats.nodes_per_level;
    json!({
        "conversation": id.as_str(),
        "nodes": stats.nodes,
        "user_nodes": stats.user_nodes,
        "ai_nodes": stats.ai_nodes,
        "nodes_per_level": {"full": full, "summary": summary, "meta": meta, "archive": archive},
        "summaries": stats.summaries,
        "tokens": stats.tokens,
        "view_tokens": stats.view_tokens,
        "tokens_saved": stats.tokens_saved(),
        "compression_ratio": stats.compression_ratio(),
        "days": stats.days,
    })
}
