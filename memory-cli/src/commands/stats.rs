//! `memory stats`: shows what is stored, what compression saves, what it all takes on disk and what prompts cost.

mod bytes;
mod costs;
mod over_time;

use clap::Args as ClapArgs;
use memory_core::{ConversationId, Level, Period, plan::ViewPolicy};
use memory_hooks::{ConversationStats, MemoryError, PromptOptions};
use serde_json::{Value, json};

use self::{
    bytes::Bytes,
    costs::{CostArgs, Costs},
};
use super::resolve;
use memory::{ArchiveLimits, Archived, Usage, parts::derived};

use crate::{
    Access, Alternatives,
    globals::Globals,
    open,
    output::{decimal, grouped},
};

/// Shows what is stored, what compression saves, what it takes on disk and what prompts cost.
///
/// Bytes are those of the log and of everything derived from it, by all models. Messages are counted as they are hashed,
/// so their bytes are the same in every store and in every format of the log.
///
/// `in full` are the tokens of a view that shows every message word for word, `view` those of the smallest view that covers
/// every message; both count what a message costs beside its text.
///
/// The costs are computed from what is stored, with one prompt before each of the model's messages: how much of the
/// prompts a provider's cache saves, and what the same conversation would cost with a sliding window of as many tokens,
/// with its full history, and with one big summary that a model writes. Replies are not counted.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversations: resolve::OneOrAll,
    #[command(flatten)]
    costs: CostArgs,
    /// Show growth, compression, costs and subjects over time instead
    #[arg(long)]
    over_time: bool,
    /// By day, week or month [default: what fits the time from the first to the last message]
    #[arg(long, value_name = "PERIOD", requires = "over_time")]
    by: Option<Period>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Read)?.without_model();
    let runtime = open(&config)?;
    if args.over_time {
        let ids = args.conversations.ids(&runtime).await?;
        return over_time::run(&runtime, ids, args.by, &args.costs, globals).await;
    }
    let bytes = Bytes(Usage::of(&runtime.log, &derived(&config, &runtime.log), config.held_bytes).await?);
    // An owner learns nothing of the others, not even how much they have.
    let sees_all = config.owner.is_none();
    let ids = args.conversations.ids(&runtime).await?;
    let options = PromptOptions::new(args.costs.budget);
    let limits = config.archive_limits();
    let (mut all, mut archived) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
    for id in ids {
        let conversation = runtime.memory.conversation(id.clone());
        let stats = conversation.stats().await?;
        let cost = match conversation.spending(&options).await {
            Ok(spending) => {
                let outline = runtime.store.outline(&id).await?;
                let others = Alternatives::of(&outline, ViewPolicy::default().per_message, options.budget);
                Some(Costs { spending, others })
            }
            // A budget that is too small for one conversation may be enough for the others.
            Err(MemoryError::Plan(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let messages = bytes::of_messages(&*runtime.store, &id).await?;
        let state = runtime.store.conversation(&id).await?;
        archived.push(limits.archived(&*runtime.store, &state).await?);
        all.push((id, stats, cost, messages));
    }
    let output = globals.output;
    if output.json {
        let costs = |cost: &Option<Costs>| cost.as_ref().map(|cost| cost.to_json(&args.costs));
        let conversation = |((id, stats, cost, messages), archived): (&(_, _, _, u64), &Archived)| {
            to_json(id, stats, costs(cost), bytes.conversation_json(id, *messages), *archived)
        };
        let conversations: Vec<_> = all.iter().zip(&archived).map(conversation).collect();
        return Ok(
            output.value(&json!({"conversations": conversations, "store": sees_all.then(|| bytes.store_json())}))?
        );
    }
    let header = [
        "conversation",
        "messages",
        "user/AI",
        "full",
        "summary",
        "meta",
        "archive",
        "in full",
        "view",
        "smaller",
        "days",
    ];
    let rows = all.iter().map(|(id, stats, ..)| {
        [
            id.to_string(),
            grouped(stats.nodes),
            format!("{}/{}", stats.user_nodes, stats.ai_nodes),
            grouped(stats.at_level(Level::Full)),
            grouped(stats.at_level(Level::Summary)),
            grouped(stats.at_level(Level::Meta)),
            grouped(stats.at_level(Level::Archive)),
            grouped(stats.shown_tokens),
            grouped(stats.view_tokens),
            format!("{:.1} x", stats.compression_ratio()),
            format!("{:.1}", stats.days),
        ]
    });
    output.table(header, rows)?;
    output.line("")?;
    let messages: Vec<_> = all.iter().map(|(id, _, _, messages)| (id, *messages)).collect();
    bytes.print(output, &messages, sees_all)?;
    if limits != ArchiveLimits::default() {
        output.line("")?;
        let rows = all
            .iter()
            .zip(&archived)
            .map(|((id, ..), archived)| [id.to_string(), grouped(archived.held), grouped(archived.evicted)]);
        output.table(["archive of", "held", "evicted"], rows)?;
        output.line(
            "Recall finds the messages that are held. The log keeps those that are evicted: they are expanded and verified as \
             before, and found again without the limit.",
        )?;
    }
    let costs: Vec<_> = all.iter().filter_map(|(id, _, cost, _)| Some((id, cost.as_ref()?))).collect();
    if !costs.is_empty() {
        output.line("")?;
        let prices = &args.costs.prices;
        output.line(&format!(
            "prompts of {} tokens, at {} {} for a million tokens read, {} cached, {} written",
            grouped(u64::from(args.costs.budget)),
            args.costs.currency,
            prices.read,
            prices.cached,
            prices.written
        ))?;
        costs::print(output, &costs, prices)?;
    }
    Ok(())
}

fn to_json(
    id: &ConversationId,
    stats: &ConversationStats,
    costs: Option<Value>,
    bytes: Value,
    archived: Archived,
) -> Value {
    let [full, summary, meta, archive] = stats.nodes_per_level;
    json!({
        "conversation": id.as_str(),
        "nodes": stats.nodes,
        "user_nodes": stats.user_nodes,
        "ai_nodes": stats.ai_nodes,
        "nodes_per_level": {"full": full, "summary": summary, "meta": meta, "archive": archive},
        "summaries": stats.summaries,
        "superseded": stats.superseded,
        "tokens": stats.tokens,
        "shown_tokens": stats.shown_tokens,
        "view_tokens": stats.view_tokens,
        "tokens_saved": stats.tokens_saved(),
        "compression_ratio": decimal(stats.compression_ratio()),
        "days": decimal(stats.days),
        "bytes": bytes,
        "archive": {"held": archived.held, "evicted": archived.evicted},
        "costs": costs,
    })
}
