//! `memory demo`: shows all features on a sample conversation.

#[cfg(feature = "chat")]
pub(crate) mod needle;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args as ClapArgs;
use memory_capture::{Afterwards, Capture};
use memory_core::{ConversationId, Message, NodeId, NodeRange, Timestamp, port::Verification};
use memory_hooks::{NodeDetails, Piece, PieceKind, Prompt};
use schemars::JsonSchema;
use serde::Serialize;

use super::{context, import::Imported, message::Detail, stats::Figures, verify};
use crate::{
    Access,
    globals::Globals,
    import::jsonl,
    open,
    output::{Of, Output, grouped, shorten},
    target::Target,
};

const SAMPLE: &str = include_str!("../../assets/demo.jsonl");
const SAMPLE_NAME: &str = "demo.jsonl";
const QUESTION: &str = "What is the escrow ticket number?";

/// Shows all features on a sample conversation.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Keep the demo's store in this directory [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Play a chat that recalls a number which no summary holds, and end; with the model of --chat-model, or else a
    /// scripted one
    #[cfg(feature = "chat")]
    #[arg(long)]
    chat: bool,
}

/// Results of the demo.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Directory of the kept store, with `--keep`.
    store: Option<String>,
    import: DemoImport<'a>,
    /// Prompt for the demo's question.
    context: Of<'a, &'a Prompt>,
    found: DemoFound<'a>,
    /// The same message, verbatim.
    expand: Detail<'a>,
    /// Verification of everything on disk.
    verify: &'a Verification,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DemoImport<'a> {
    /// Number of messages in the sample.
    read: usize,
    #[serde(flatten)]
    figures: Figures<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DemoFound<'a> {
    /// Message with the number.
    node: NodeId,
    /// Number of summaries, none of which holds the number.
    summaries: usize,
    /// Piece of the prompt that shows the message.
    piece: &'a Piece,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir().context("cannot make a temporary directory")?;
    let directory = args.keep.clone().unwrap_or_else(|| temporary.path().join("store"));
    if let Some(kept) = &args.keep {
        Target::outside_of_stores(kept)?;
    }
    let output = globals.output;
    let config = globals.config_at(directory.clone(), Access::Write);
    #[cfg(feature = "chat")]
    if args.chat {
        return needle::run(&directory, config, args.keep.is_some(), output).await;
    }
    let runtime = open(&config)?;
    let id = ConversationId::new("tally")?;
    let messages = jsonl::parse(SAMPLE, Path::new(SAMPLE_NAME))?;
    let (secret, number) = secret(&messages)?;

    let capture = Capture::with_parts(runtime.clone(), &config);
    let mut appender = capture.conversation(id.clone(), messages.len(), &output);
    for (message, at) in messages {
        let bytes = message.text_bytes();
        appender.take(message, SAMPLE_NAME, at, bytes).await?;
    }
    let imported = Imported::from(appender.finish(Afterwards::default()).await?);
    if !output.json {
        print_imported(output, &imported)?;
    }

    let conversation = runtime.memory.conversation(id.clone());
    let asked = conversation.prompt(QUESTION).await?;
    if !output.json {
        print_asked(output, &asked)?;
    }

    let summaries = runtime.store.summaries(&id).await?;
    ensure!(
        summaries.iter().all(|summary| !summary.body.text.contains(&number)),
        "a summary holds what is excluded from summaries"
    );
    let found = conversation.details(NodeRange::single(secret)).await?;
    let details = found.nodes.into_iter().next().context("the message with the number cannot be read")?;
    let verification = runtime.store.verify(Some(&id)).await?;
    let piece = asked.pieces.iter().find(|piece| piece.text.contains(&number));
    let piece = piece.context("the number that was said early on is not in the context")?;
    let found = DemoFound { node: details.node.id, summaries: summaries.len(), piece };
    if output.json {
        // Members reuse the JSON types of the commands, so that both look alike.
        output.value(&Answer {
            store: args.keep.as_deref().map(|kept| kept.display().to_string()),
            import: DemoImport { read: imported.report.read, figures: Figures::of(&imported.report.stats) },
            context: Of { conversation: &id, answer: &asked },
            found,
            expand: Detail::of(&id, &details),
            verify: &verification,
        })?;
    } else {
        print_found(output, &found, &details)?;
        if args.keep.is_some() {
            output.note(&format!("the store stays in {}", directory.display()));
        }
        output.line(&verify::last_line(&verification))?;
    }
    ensure!(verification.is_whole(), "the demo's store is damaged");
    Ok(())
}

fn print_imported(output: Output, imported: &Imported) -> anyhow::Result<()> {
    output.line(&format!("1. A conversation of {} messages goes in, word for word.", imported.report.read))?;
    imported.news.iter().for_each(|news| output.note(&format!("   note: {news}")));
    let stats = &imported.report.stats;
    output.line(&format!(
        "   {} tokens in full; the smallest view that covers every message has {}: {:.1} times smaller",
        grouped(stats.shown_tokens),
        grouped(stats.view_tokens),
        stats.compression_ratio()
    ))?;
    let [full, summary, meta, archive] = stats.nodes_per_level;
    Ok(output
        .line(&format!("   {full} messages FULL, {summary} as SUMMARY, {meta} under META, {archive} under ARCHIVE"))?)
}

fn print_asked(output: Output, asked: &Prompt) -> anyhow::Result<()> {
    output.line("")?;
    output.line(&format!("2. What a model is shown for \"{QUESTION}\""))?;
    output.line(&format!("   {}", context::summary(asked)))?;
    let pieces: Vec<_> = asked.pieces.iter().filter(|piece| piece.kind != PieceKind::Recalled).take(4).collect();
    pieces.iter().try_for_each(|piece| output.line(&format!("   | {}", shorten(&piece.text, 110))))?;
    Ok(output.line("   | …")?)
}

fn print_found(output: Output, found: &DemoFound<'_>, details: &NodeDetails) -> anyhow::Result<()> {
    let DemoFound { node, summaries, piece } = found;
    output.line("")?;
    output.line(&format!(
        "3. The number was said once, in message {node}, and is excluded from all {summaries} summaries."
    ))?;
    output.line(&format!("   Recall finds it: {}", piece.reason))?;
    output.line(&format!("   | {}", shorten(&piece.text, 110)))?;

    output.line("")?;
    output.line(&format!("4. `memory expand {node}` gives the message exactly:"))?;
    let options = textwrap::Options::new(116).initial_indent("   | ").subsequent_indent("   | ");
    textwrap::wrap(&details.node.message.text(), options).iter().try_for_each(|line| output.line(line))?;

    output.line("")?;
    Ok(output.line("5. Everything is read back from disk and hashed again:")?)
}

/// The message that asks to be excluded from summaries, and the number in it.
fn secret(messages: &[(Message, Option<Timestamp>)]) -> anyhow::Result<(NodeId, String)> {
    let index = messages.iter().position(|(message, _)| message.keep_out_of_summaries);
    let index = index.context("the sample excludes no message from summaries")?;
    let text = messages.get(index).map(|(message, _)| message.text()).unwrap_or_default();
    let number = text
        .split(|c: char| c.is_whitespace() || ".,;:()".contains(c))
        .find(|word| word.contains('-') && word.chars().any(|c| c.is_ascii_digit()));
    let number = number.context("the marked message of the sample holds no number")?.to_owned();
    Ok((NodeId::from_index(index), number))
}
