//! `memory summaries`: lists the recorded summaries of a conversation, and repairs them.

mod list;
mod rewrite;

use clap::{Args as ClapArgs, Subcommand};
use memory_core::{ConversationId, SummaryId};
use memory_hooks::{Conversation, ListedSummary, RepairedSummary, SummariesRequest};

use super::resolve;
use crate::{
    Access,
    failure::NotFound,
    globals::Globals,
    open,
    output::{Of, Output, grouped},
};

/// Lists the recorded summaries of a conversation, or repairs one as a person wants it.
///
/// Without a subcommand it lists them. Nothing is lost by a repair: what stood there stays in the log, recorded views
/// show it as before, and `--replaced` lists it.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    list: list::Args,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the summaries with their numbers, messages, tokens and authors
    List(list::Args),
    /// Put your own words in the place of a summary
    Rewrite(rewrite::Args),
    /// Show the parts of a summary in its place, until it is rewritten
    Dissolve(Dissolve),
}

/// Shows the parts of a META or an ARCHIVE in its place, until it is rewritten.
///
/// For a summary that misleads and is worth no words of your own. A context then shows what it was made from, which
/// takes more tokens. What was made from it stays as it was written. `memory summaries rewrite` puts words there again,
/// and so does `memory resummarize --also-by-person`.
#[derive(Debug, ClapArgs)]
struct Dissolve {
    /// The number of the summary, as `memory summaries` lists it
    #[arg(value_name = "NUMBER", value_parser = resolve::summary)]
    summary: SummaryId,
    #[command(flatten)]
    conversation: resolve::One,
    /// Your name, to be recorded as the author
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    by: String,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    match &args.command {
        None => list::run(&args.list, globals).await,
        Some(Command::List(args)) => list::run(args, globals).await,
        Some(Command::Rewrite(args)) => rewrite::run(args, globals).await,
        Some(Command::Dissolve(Dissolve { summary, conversation, by })) => {
            let runtime = open(&globals.config(Access::Existing)?.without_model())?;
            let id = conversation.id(&runtime).await?;
            let repaired = runtime.memory.conversation(id.clone()).dissolve_summary(*summary, by).await?;
            print(globals.output, &id, &repaired)
        }
    }
}

/// Prints a summary whole.
pub(super) async fn print_whole(
    conversation: &Conversation,
    summary: SummaryId,
    raw: bool,
    output: Output,
) -> anyhow::Result<()> {
    let nodes = conversation.summary(summary).await?.body.span;
    let request =
        SummariesRequest::default().from(nodes.first()).to(Some(nodes.last())).replaced(true).limit(usize::MAX);
    let mut page = conversation.summaries(request).await?;
    page.summaries.retain(|one| one.summary == summary);
    (page.next, page.total) = (None, page.summaries.len() as u64);
    let id = conversation.id();
    if output.json && !raw {
        return Ok(output.value(&Of { conversation: id, answer: &page })?);
    }
    let ListedSummary { level, nodes, tokens, text, written_by, .. } = page
        .summaries
        .first()
        .ok_or_else(|| NotFound(format!("`{id}` has no summary {summary}: `memory summaries {id}` lists them")))?;
    let tokens = grouped(u64::from(*tokens));
    let by = written_by.as_ref().map_or_else(|| "(lost)".to_owned(), ToString::to_string);
    output.note(&format!("{id}, {level} {summary} of messages {nodes}, {tokens} tokens, written by {by}"));
    if raw { output.exactly(text) } else { Ok(output.text(text)?) }
}

/// Prints the outcome of a repair.
fn print(output: Output, id: &ConversationId, repaired: &RepairedSummary) -> anyhow::Result<()> {
    if output.json {
        return Ok(output.value(&Of { conversation: id, answer: repaired })?);
    }
    let RepairedSummary { summary, replaced, level, nodes, .. } = repaired;
    let [before, after] = [repaired.tokens_before, repaired.tokens].map(|tokens| grouped(u64::from(tokens)));
    output.line(&match (summary == replaced, repaired.text.is_empty()) {
        (true, _) => format!("{id}: {level} {summary} of {nodes} says so already"),
        (false, true) => {
            format!("{id}: {level} {replaced} of {nodes} is dissolved: its parts are shown (recorded as {summary})")
        }
        (false, false) => {
            format!("{id}: {level} {summary} of {nodes} replaces {replaced}: {after} tokens, {before} before")
        }
    })?;
    if repaired.is_redacted {
        output.note("note: words of messages that are kept out of summaries were removed");
    }
    if summary != replaced && repaired.above > 0 {
        let (above, are) = (grouped(repaired.above), if repaired.above == 1 { "is" } else { "are" });
        output.note(&format!(
            "note: {above} over it {are} as before: memory resummarize {id} --nodes {nodes} --level archive writes anew"
        ));
    }
    Ok(())
}
