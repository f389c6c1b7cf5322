//! `memory receipt`: what was erased, and whether the store still is as the receipt says.

use std::io;

use clap::{Args as ClapArgs, Subcommand};
use memory::erasing::{self, ErasedConversation, Receipt, ReceiptCheck};
use memory_core::ErasureId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Access,
    failure::{Damage, NotFound, Usage},
    globals::Globals,
    open,
    output::{Output, counted, grouped, moment},
};

/// Lists, shows and checks the receipts of what was erased.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the receipts, the last one first
    List,
    /// Show a receipt
    Show(One),
    /// Check that the store is as a receipt says: the messages are erased, the roots hold, no record has the content
    Verify(One),
}

#[derive(Debug, ClapArgs)]
struct One {
    /// The number of the receipt, or the beginning of it [default: the last one]
    #[arg(value_name = "RECEIPT")]
    id: Option<String>,
}

/// The receipts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// The last one first.
    receipts: &'a [Receipt],
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let config = globals.config(Access::Read)?.without_model();
    let parts = open(&config)?;
    let receipts = erasing::receipts(&parts, &config).await?;
    let output = globals.output;
    match &args.command {
        None | Some(Command::List) if output.json => output.value(&Answer { receipts: &receipts })?,
        None | Some(Command::List) if receipts.is_empty() => output.line("nothing was erased with a receipt")?,
        None | Some(Command::List) => {
            for receipt in &receipts {
                let found = if !receipt.is_clean() {
                    "something was left"
                } else if receipt.scan.texts + receipt.scan.words == 0 {
                    "not searched for its words"
                } else {
                    "clean"
                };
                let owner = receipt.owner.as_ref().map_or_else(String::new, |owner| format!(" of {owner}"));
                output.line(&format!(
                    "{}  {}  {} of {}{owner}, {found}",
                    receipt.id,
                    moment(receipt.at),
                    counted(receipt.messages(), "message", "messages"),
                    counted(receipt.conversations.len() as u64, "conversation", "conversations")
                ))?;
            }
        }
        Some(Command::Show(one)) => {
            let receipt = one.of(&receipts)?;
            if output.json { output.value(receipt)? } else { print(output, receipt)? }
        }
        Some(Command::Verify(one)) => {
            let id = one.of(&receipts)?.id;
            let check = erasing::check_receipt(&parts, &config, id).await?;
            return verified(output, id, &check);
        }
    }
    Ok(())
}

impl One {
    fn of<'r>(&self, receipts: &'r [Receipt]) -> anyhow::Result<&'r Receipt> {
        let Some(name) = &self.id else {
            return receipts.first().ok_or_else(|| NotFound("nothing was erased with a receipt".to_owned()).into());
        };
        let mut found = receipts.iter().filter(|receipt| receipt.id.to_string().starts_with(name.as_str()));
        match (found.next(), found.next()) {
            (Some(receipt), None) => Ok(receipt),
            (Some(_), Some(_)) => Err(Usage(format!("several receipts begin with `{name}`: give more of it")).into()),
            (None, _) => Err(NotFound(format!("no receipt begins with `{name}`")).into()),
        }
    }
}

fn verified(output: Output, id: ErasureId, check: &ReceiptCheck) -> anyhow::Result<()> {
    if output.json {
        output.value(check)?;
    } else {
        check.faults.iter().try_for_each(|fault| output.line(fault))?;
        if check.faults.is_empty() {
            output.line(&format!(
                "receipt {id} holds: {} erased, the roots are right",
                counted(check.erased, "message is", "messages are")
            ))?;
        }
    }
    if check.faults.is_empty() {
        return Ok(());
    }
    Err(Damage(format!("the store is not as receipt {id} says")).into())
}

/// The lines of a receipt.
pub(super) fn print(output: Output, receipt: &Receipt) -> io::Result<()> {
    output.line(&format!("receipt {}", receipt.id))?;
    let by = if receipt.by.is_empty() { String::new() } else { format!(" by {}", receipt.by) };
    let owner = receipt.owner.as_ref().map_or_else(String::new, |owner| format!(" for {owner}"));
    output.line(&format!("erased {}{by}{owner}, completed {}", moment(receipt.at), moment(receipt.done)))?;
    for one in &receipt.conversations {
        let ErasedConversation { conversation, nodes, notes, is_whole, leaves, root_before, root_after, .. } = one;
        let messages: u64 = nodes.iter().map(|run| run.count()).sum();
        let what = if *is_whole { "all of " } else { "" };
        let (messages, notes) = (counted(messages, "message", "messages"), counted(*notes, "note", "notes"));
        output.line(&format!("{what}{conversation}: {messages}, {notes}"))?;
        let same = if root_before == root_after { "as before" } else { "ANOTHER THAN BEFORE" };
        output.line(&format!("  root over {} {root_after}, {same}", counted(*leaves, "message", "messages")))?;
    }
    let scan = &receipt.scan;
    let rate = (scan.bytes * 1_000).checked_div(scan.millis).unwrap_or(scan.bytes);
    output.line(&format!(
        "{} records of the log removed; {} bytes of {} files searched for {} texts and {} words ({} MB/s): {} found, {} \
         also said elsewhere",
        grouped(receipt.records),
        grouped(scan.bytes),
        grouped(scan.files),
        grouped(scan.texts),
        grouped(scan.words),
        grouped(rate / 1_000_000),
        grouped(scan.found),
        grouped(scan.also_said)
    ))?;
    let probes = &receipt.probes;
    output.line(&format!(
        "{} searches, {} finds and {} reads: {} gave anything back",
        grouped(probes.searches),
        grouped(probes.finds),
        grouped(probes.reads),
        grouped(probes.found)
    ))?;
    if receipt.keys_overwritten {
        output.line("keys       those of what was erased are overwritten")?;
    }
    if receipt.was_resumed {
        output.line("another process completed it, which could not search for the texts any more")?;
    }
    receipt.backups.iter().try_for_each(|path| output.line(&format!("backup brought up to date: {path}")))?;
    let lost = |path: &String| output.line(&format!("backup said to be lost, which may hold it: {path}"));
    receipt.abandoned.iter().try_for_each(lost)
}
