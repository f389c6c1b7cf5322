//! `memory stats`: shows the contents of a store, the savings of compression and the bytes on disk.

mod bytes;
pub(crate) mod over_time;

use std::collections::BTreeMap;

use clap::Args as ClapArgs;
use memory_core::{ConversationId, Level, time::Period};
use memory_hooks::ConversationStats;
use schemars::JsonSchema;
use serde::Serialize;

use self::bytes::Bytes;
use super::resolve;
use memory::{ArchiveLimits, DaySpending, Usage, answer::Archived, models, parts::derived};

use crate::{Access, globals::Globals, news, open, output::grouped};

/// Shows what is stored, what compression saves and what it takes on disk.
///
/// Bytes are those of the log and of everything derived from it, by all models. Messages are counted as they are
/// hashed, so their bytes are the same in every store and in every format of the log.
///
/// `in full` are the tokens of a view that shows every message word for word, `view` those of the smallest view that
/// covers every message; both count what a message costs beside its text.
///
/// Requests to chat models are counted by day (UTC), with the tokens as the providers count them.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversations: resolve::FirstOrAll,
    /// Show growth, compression and subjects over time instead
    #[arg(long)]
    over_time: bool,
    /// By day, week or month [default: what fits the time from the first to the last message]
    #[arg(long, value_name = "PERIOD", requires = "over_time")]
    by: Option<Period>,
}

/// Most days of the table of what was spent.
const DAYS: usize = 14;

/// Contents of a store, and their bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    conversations: Vec<OfOne<'a>>,
    /// Figures of the whole store; null if an owner sees only a part of it.
    store: Option<bytes::OfStore>,
    /// Requests to chat models by day, oldest first; null if an owner sees only a part of the store.
    spending: Option<&'a [DaySpending]>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OfOne<'a> {
    /// Name of the conversation.
    conversation: &'a ConversationId,
    #[serde(flatten)]
    figures: Figures<'a>,
    /// Bytes of its messages and of the data derived from them, by kind.
    bytes: BTreeMap<&'static str, u64>,
    /// Part of the conversation that recall finds.
    archive: Archived,
}

/// Figures of a conversation, with values computed from them.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Figures<'a> {
    #[serde(flatten)]
    stats: &'a ConversationStats,
    /// Tokens that the smallest view saves.
    tokens_saved: u64,
    /// Tokens of a view that shows every message, divided by those of the smallest view.
    compression_ratio: f64,
}

impl<'a> Figures<'a> {
    pub(super) fn of(stats: &'a ConversationStats) -> Self {
        Self { stats, tokens_saved: stats.tokens_saved(), compression_ratio: stats.compression_ratio() }
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Read)?.without_model();
    let runtime = open(&config)?;
    if args.over_time {
        let ids = args.conversations.ids(&runtime).await?;
        return over_time::run(&runtime, ids, args.by, globals).await;
    }
    let bytes = Bytes(Usage::of(&runtime.log, &derived(&config, &runtime.log), config.held_bytes).await?);
    // An owner must learn nothing of the others, not even how much they have.
    let sees_all = config.owner.is_none();
    let ids = args.conversations.ids(&runtime).await?;
    let (mut all, mut archived) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
    for id in ids {
        let conversation = runtime.memory.conversation(id.clone());
        let stats = conversation.stats().await?;
        let messages = bytes::of_messages(&*runtime.store, &id).await?;
        let state = runtime.store.conversation(&id).await?;
        archived.push(runtime.archive_limits(&state).archived(&*runtime.store, &state).await?);
        all.push((id, stats, messages));
    }
    let spending = models::spending(&config);
    let output = globals.output;
    if output.json {
        let conversations = all.iter().zip(&archived).map(|((id, stats, messages), archived)| OfOne {
            conversation: id,
            figures: Figures::of(stats),
            bytes: bytes.of_conversation(id, *messages),
            archive: *archived,
        });
        let conversations = conversations.collect();
        return Ok(output.value(&Answer {
            conversations,
            store: sees_all.then(|| bytes.of_store(&runtime.log)),
            spending: sees_all.then_some(&spending),
        })?);
    }
    let names = resolve::ShownNames::of(&runtime).await?;
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
            names.name(id),
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
    output.table_without(header, rows, &["days", "archive", "meta", "summary", "full", "user/AI"])?;
    output.line("")?;
    let messages: Vec<_> = all.iter().map(|(id, _, messages)| (id, names.name(id), *messages)).collect();
    bytes.print(output, &messages, sees_all)?;
    if runtime.log.is_encrypted() {
        output.line("encrypted")?;
    }
    news::print(output, &news::of_encryption(&runtime));
    if sees_all && !spending.is_empty() {
        output.line("")?;
        let rows = spending.iter().rev().take(DAYS).map(|day| {
            let models: Vec<_> = day.models.iter().map(|(model, requests)| format!("{model} {requests}")).collect();
            let numbers = [day.requests, day.prompt_tokens, day.cached_tokens, day.reply_tokens].map(grouped);
            let [requests, asked, cached, replied] = numbers;
            [day.day.clone(), requests, asked, cached, replied, models.join(", ")]
        });
        let header = ["chat models", "requests", "tokens asked", "cached", "replied", "requests by model"];
        output.table(header, rows)?;
    }
    let has_limits = config.archive_limits() != ArchiveLimits::default();
    if has_limits || archived.iter().any(|one| one.evicted > 0) {
        output.line("")?;
        let rows = all
            .iter()
            .zip(&archived)
            .map(|((id, ..), archived)| [names.name(id), grouped(archived.held), grouped(archived.evicted)]);
        output.table(["archive of", "held", "evicted"], rows)?;
        output.line(
            "Recall finds the messages that are held. The log keeps those that are evicted: they are expanded and verified as \
             before, and found again without the limit.",
        )?;
    }
    Ok(())
}
