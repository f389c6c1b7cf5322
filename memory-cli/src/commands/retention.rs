//! `memory retention`: how much of which conversations recall finds, and what is erased when it is older.

use clap::{Args as ClapArgs, Subcommand};
use memory::{
    erasing::ErasurePlan,
    retention::{self, OwnedPolicy, RetentionPolicy, RetentionReport, RetentionScope},
};
use memory_core::{ConversationId, OwnerId};
use schemars::JsonSchema;
use serde::Serialize;

use super::{erase, receipt, resolve};
use crate::{
    Access,
    globals::Globals,
    open,
    output::{Output, counted, grouped},
};

/// Limits what recall finds of old messages, or has them erased.
///
/// A limit is one of each conversation. Messages over it, oldest first, are no longer found; the log keeps them, and
/// they are found again without the limit. With --erase they are erased: by `memory retention run`, and once a day by a
/// memory that stays open.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the policies
    Show,
    /// Set the policy of the store, an owner, a conversation or a tag; without a limit it ends
    Set(Set),
    /// Apply the policies now: erase what those with --erase cover
    Run(Run),
}

#[derive(Debug, ClapArgs)]
struct Set {
    /// The conversation: its name or the beginning of it, its title, or `last` [default: all]
    #[arg(long, short, value_name = "ID")]
    conversation: Option<String>,
    /// All conversations with a tag
    #[arg(long, value_name = "TAG", conflicts_with = "conversation")]
    tag: Option<String>,
    /// All conversations of an owner
    #[arg(long, value_name = "NAME", value_parser = OwnerId::new, conflicts_with_all = ["conversation", "tag"])]
    of: Option<OwnerId>,
    /// The most messages of a conversation
    #[arg(long, value_name = "N")]
    messages: Option<u64>,
    /// The most bytes of a conversation's messages
    #[arg(long, value_name = "N")]
    bytes: Option<u64>,
    /// The most days since a message was said
    #[arg(long, value_name = "N")]
    days: Option<u32>,
    /// Erase what is over a limit, for good
    #[arg(long)]
    erase: bool,
}

#[derive(Debug, ClapArgs)]
struct Run {
    /// Write nothing: show what would be erased
    #[arg(long)]
    dry_run: bool,
}

/// The policies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// Policies of all owners; those without an owner come first.
    policies: &'a [OwnedPolicy],
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    match &args.command {
        None | Some(Command::Show) => {
            let config = globals.config(Access::Read)?.without_model();
            let parts = open(&config)?;
            show(output, &retention::policies(&parts, &config).await?)
        }
        Some(Command::Set(set)) => {
            let config = globals.config(Access::Existing)?.without_model();
            let parts = open(&config)?;
            let named = match &set.conversation {
                Some(name) => Some(resolve::conversation(&parts, Some(name)).await?),
                None => None,
            };
            let policy = set.policy(named);
            let policies = retention::set_policy(&parts, &config, policy).await?;
            show(output, &policies)?;
            if !output.json {
                effect(output, &retention::run(&parts, &config, true).await?);
            }
            Ok(())
        }
        Some(Command::Run(run)) => {
            let access = if run.dry_run { Access::Read } else { Access::Existing };
            let config = globals.config(access)?.without_model();
            let parts = open(&config)?;
            let report = retention::run(&parts, &config, run.dry_run).await?;
            if output.json { Ok(output.value(&report)?) } else { print(output, &report) }
        }
    }
}

impl Set {
    fn policy(&self, named: Option<ConversationId>) -> RetentionPolicy {
        let scope = match (named, &self.tag, &self.of) {
            (Some(conversation), ..) => RetentionScope::Conversation(conversation),
            (None, Some(tag), _) => RetentionScope::Tag(tag.clone()),
            (None, None, Some(owner)) => RetentionScope::Owner(owner.clone()),
            (None, None, None) => RetentionScope::Store,
        };
        RetentionPolicy::new(scope).messages(self.messages).bytes(self.bytes).days(self.days).erase(self.erase)
    }
}

fn show(output: Output, policies: &[OwnedPolicy]) -> anyhow::Result<()> {
    if output.json {
        return Ok(output.value(&Answer { policies })?);
    }
    if policies.is_empty() {
        return Ok(output.line("everything is kept, and found")?);
    }
    let rows = policies.iter().map(|OwnedPolicy { owner, policy, .. }| {
        let number = |number: Option<u64>| number.map_or_else(String::new, grouped);
        let action = if policy.erase { "erased" } else { "not found" };
        let set_by = owner.as_ref().map_or_else(String::new, ToString::to_string);
        let [messages, bytes, days] = [policy.messages, policy.bytes, policy.days.map(u64::from)].map(number);
        [policy.scope.to_string(), messages, bytes, days, action.to_owned(), set_by]
    });
    Ok(output.table(["conversations", "messages", "bytes", "days", "more is", "owner"], rows)?)
}

/// Notes what the policies hide from recall now, and what they will erase.
fn effect(output: Output, report: &RetentionReport) {
    let hidden: u64 = report.evicted.iter().map(|one| one.evicted).sum();
    if hidden > 0 {
        let of = counted(report.evicted.len() as u64, "conversation", "conversations");
        output.note(&format!(
            "search and contexts leave out {} of {of}; the log keeps them, and without the limit they are found again",
            counted(hidden, "older message", "older messages")
        ));
    }
    let erased: u64 = report.plan.conversations.iter().map(|target| target.messages).sum();
    if erased > 0 {
        let erased = counted(erased, "message", "messages");
        output.note(&format!("`memory retention run` erases {erased} for good; --dry-run shows which"));
    }
    if hidden + erased == 0 {
        output.note("no message is over a limit now");
    }
}

fn print(output: Output, report: &RetentionReport) -> anyhow::Result<()> {
    for one in &report.evicted {
        let evicted = counted(one.evicted, "older message is", "older messages are");
        let held = counted(one.held, "is found", "are found");
        output.line(&format!("{}: {evicted} left out of search and contexts, {held}", one.conversation))?;
    }
    match &report.receipt {
        Some(receipt) => Ok(receipt::print(output, receipt)?),
        None if report.plan == ErasurePlan::default() => Ok(output.line("no message is over a limit of --erase")?),
        None => Ok(erase::preview(output, &report.plan)?),
    }
}
