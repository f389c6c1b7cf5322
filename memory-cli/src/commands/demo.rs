//! `memory demo`: shows all features on a sample conversation.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args as ClapArgs;
use memory_core::{ConversationId, Message, NodeId};
use memory_hooks::{PieceKind, PromptOptions};

use super::{context, import, verify};
use crate::{
    Access,
    failure::Usage,
    globals::Globals,
    import::{ImportedConversation, jsonl},
    open,
    output::{grouped, shorten},
    target::Target,
};

const SAMPLE: &str = include_str!("../../assets/demo.jsonl");
const QUESTION: &str = "What is the escrow ticket number?";

/// Shows all features on a sample conversation.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Keep the demo's store in this directory [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    if globals.output.json {
        return Err(Usage("the demo shows text: leave --json out".to_owned()).into());
    }
    let temporary = tempfile::tempdir().context("cannot make a temporary directory")?;
    let directory = args.keep.clone().unwrap_or_else(|| temporary.path().join("store"));
    if let Some(kept) = &args.keep {
        Target::outside_of_stores(kept)?;
    }
    let output = globals.output;
    let runtime = open(&globals.config_at(directory.clone(), Access::Write))?;
    let id = ConversationId::new("tally")?;
    let messages = jsonl::parse(SAMPLE, Path::new("demo.jsonl"))?;
    let secret = secret(&messages)?;

    let imported = ImportedConversation { id: id.clone(), messages };
    let imported = import::import(&runtime.memory, imported, true, output).await?;
    output.line(&format!("1. A conversation of {} messages goes in, word for word.", imported.read))?;
    imported.news.iter().for_each(|news| output.note(&format!("   note: {news}")));
    let stats = &imported.stats;
    output.line(&format!(
        "   {} tokens in full; the smallest view that covers every message has {}: {:.1} times smaller",
        grouped(stats.shown_tokens),
        grouped(stats.view_tokens),
        stats.compression_ratio()
    ))?;
    let [full, summary, meta, archive] = stats.nodes_per_level;
    output
        .line(&format!("   {full} messages FULL, {summary} as SUMMARY, {meta} under META, {archive} under ARCHIVE"))?;

    let conversation = runtime.memory.conversation(id.clone());
    let asked = conversation.prompt(QUESTION, &PromptOptions::default()).await?;
    output.line("")?;
    output.line(&format!("2. What a model is shown for \"{QUESTION}\""))?;
    output.line(&format!("   {}", context::summary(&asked)))?;
    let pieces: Vec<_> = asked.pieces.iter().filter(|piece| piece.kind != PieceKind::Recalled).take(4).collect();
    pieces.iter().try_for_each(|piece| output.line(&format!("   | {}", shorten(&piece.text, 110))))?;
    output.line("   | …")?;

    let summaries = runtime.store.summaries(&id).await?;
    ensure!(
        summaries.iter().all(|summary| !summary.body.text.contains(&secret.number)),
        "a summary holds what is excluded from summaries"
    );
    let found = asked.pieces.iter().find(|piece| piece.text.contains(&secret.number));
    let found = found.context("the number that was said early on is not in the context")?;
    output.line("")?;
    output.line(&format!(
        "3. The number was said once, in message {}, and is excluded from all {} summaries.",
        secret.node,
        summaries.len()
    ))?;
    output.line(&format!("   Recall finds it: {}", found.reason))?;
    output.line(&format!("   | {}", shorten(&found.text, 110)))?;

    let node = conversation.expand(secret.node).await?;
    output.line("")?;
    output.line(&format!("4. `memory expand {}` gives the message exactly:", secret.node))?;
    let options = textwrap::Options::new(116).initial_indent("   | ").subsequent_indent("   | ");
    textwrap::wrap(&node.message.text(), options).iter().try_for_each(|line| output.line(line))?;

    let verification = runtime.store.verify(Some(&id)).await?;
    output.line("")?;
    output.line("5. Everything is read back from disk and hashed again:")?;
    if args.keep.is_some() {
        output.note(&format!("the store stays in {}", directory.display()));
    }
    output.line(&verify::last_line(&verification))?;
    ensure!(verification.is_whole(), "the demo's store is damaged");
    Ok(())
}

struct Secret {
    node: NodeId,
    number: String,
}

/// The message that asks to be excluded from summaries, and the number in it.
fn secret(messages: &[(Message, Option<memory_core::Timestamp>)]) -> anyhow::Result<Secret> {
    let index = messages.iter().position(|(message, _)| message.keep_out_of_summaries);
    let index = index.context("the sample excludes no message from summaries")?;
    let text = messages.get(index).map(|(message, _)| message.text()).unwrap_or_default();
    let number = text
        .split(|c: char| c.is_whitespace() || ".,;:()".contains(c))
        .find(|word| word.contains('-') && word.chars().any(|c| c.is_ascii_digit()));
    let number = number.context("the marked message of the sample holds no number")?.to_owned();
    Ok(Secret { node: NodeId::from_index(index), number })
}
