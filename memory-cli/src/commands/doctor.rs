//! `memory doctor`: reports damaged, whole and missing parts with remedies, and makes a new store from the whole ones.

mod setup;

use std::{io, path::PathBuf};

use clap::Args as ClapArgs;
use memory_store::{ConversationLabel, ConversationReport, Diagnosis, LogStore, examine_with, salvage_with};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Access,
    failure::Damage,
    globals::Globals,
    output::{Output, grouped},
};

/// Reports what is damaged, what is whole, what is missing, and what to do.
///
/// Reads every byte of the log and changes nothing, also while the store is written to. It also looks at the
/// configuration, the embedding model and its runtime, plugins and installed hooks, and sends nothing anywhere. Exits
/// with 0 only if the store is whole and nothing that is asked for fails; what is only missing is no failure.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Make a new store of all that is whole in this directory, which must be empty or not exist yet
    #[arg(long, value_name = "DIR")]
    salvage: Option<PathBuf>,
}

/// Damaged, whole and missing parts, in the store and around it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    #[serde(flatten)]
    examined: Examined<'a>,
    /// State of the store's surroundings.
    setup: &'a [setup::Item],
    /// New store, with `--salvage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    salvaged: Option<Examined<'a>>,
}

/// Answer if there is no store.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NoStore<'a> {
    /// Place of the missing store.
    store: String,
    /// State of its surroundings.
    setup: &'a [setup::Item],
}

#[derive(Debug, Serialize, JsonSchema)]
struct Examined<'a> {
    /// True if nothing is damaged or lost.
    whole: bool,
    /// Messages that should exist.
    nodes: u64,
    /// Messages that are whole.
    verified: u64,
    /// Messages that were erased, and whose leaves are there.
    erased: u64,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

impl<'a> Examined<'a> {
    fn of(diagnosis: &'a Diagnosis) -> Self {
        let (nodes, verified) = diagnosis.nodes();
        Self { whole: diagnosis.is_whole(), nodes, verified, erased: diagnosis.erased(), diagnosis }
    }
}

/// Most lines of damage that are shown to people; programs get all of them.
const SHOWN: usize = 40;

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    let config = globals.config_at(globals.store()?, Access::Read);
    let setup = setup::look(&config, globals).await;
    // A store that does not exist still has a set-up.
    if let Err(missing) = globals.config(Access::Read) {
        if output.json {
            output.value(&NoStore { store: config.store.display().to_string(), setup: &setup })?;
        } else {
            setup.iter().try_for_each(|item| item.print(output))?;
        }
        globals.file.check()?;
        return Err(missing);
    }
    let store = config.store;
    let key = config.key.filter(|_| LogStore::is_encrypted_at(&store)).map(|key| key.read(&store)).transpose()?;
    let bar = output.bar("reading");
    let (diagnosis, salvaged) = match &args.salvage {
        None => (examine_with(&store, key.as_ref(), &bar)?, None),
        Some(target) => {
            let report = salvage_with(&store, target, key.as_ref(), &bar)?;
            (report.source, Some(report.target))
        }
    };
    bar.finish();
    if output.json {
        let salvaged = salvaged.as_ref().map(Examined::of);
        output.value(&Answer { examined: Examined::of(&diagnosis), setup: &setup, salvaged })?;
    } else {
        setup.iter().try_for_each(|item| item.print(output))?;
        print(output, &diagnosis, salvaged.as_ref())?;
    }
    if diagnosis.is_whole() {
        globals.file.check()?;
        return match setup.iter().filter(|item| item.state == setup::State::Wrong).count() {
            0 => Ok(()),
            1 => Err(anyhow::anyhow!("the store is whole; one thing around it is wrong")),
            wrong => Err(anyhow::anyhow!("the store is whole; {wrong} things around it are wrong")),
        };
    }
    let (nodes, verified) = diagnosis.nodes();
    let places = diagnosis.findings.len() as u64 + diagnosis.more_findings;
    Err(Damage(format!(
        "{}: damaged in {places} places; {} of {nodes} nodes are lost",
        store.display(),
        nodes - verified - diagnosis.erased()
    ))
    .into())
}

fn print(output: Output, diagnosis: &Diagnosis, salvaged: Option<&Diagnosis>) -> io::Result<()> {
    for finding in diagnosis.findings.iter().take(SHOWN) {
        output.line(&format!("damaged: {finding}"))?;
    }
    let more = diagnosis.findings.len().saturating_sub(SHOWN) as u64 + diagnosis.more_findings;
    if more > 0 {
        output.line(&format!("damaged: {} more places; --json lists them", grouped(more)))?;
    }
    if let Some(torn) = &diagnosis.torn {
        output.line(&format!(
            "unfinished: {} from byte {} for {} bytes: a write that was cut short, or is under way; it was never \
             acknowledged, and opening the store for writing removes it",
            torn.path.display(),
            torn.offset,
            torn.bytes
        ))?;
    }
    for path in &diagnosis.leftovers {
        output.line(&format!("unfinished: {}: never used; it may be deleted", path.display()))?;
    }
    for path in &diagnosis.stale_caches {
        output.line(&format!("cache of another store: {}: not used; it may be deleted", path.display()))?;
    }
    for (path, why) in &diagnosis.unlisted_caches {
        output
            .line(&format!("cache that cannot be listed: {}: {why}; what is in it was not examined", path.display()))?;
    }
    conversations(output, diagnosis)?;
    let (nodes, verified) = diagnosis.nodes();
    let erased = match diagnosis.erased() {
        0 => String::new(),
        erased => format!(", {} erased", grouped(erased)),
    };
    output.line(&format!("whole: {} of {} nodes{erased}", grouped(verified), grouped(nodes)))?;
    match salvaged {
        Some(salvaged) => {
            output.line("")?;
            conversations(output, salvaged)?;
            let (nodes, verified) = salvaged.nodes();
            let path = salvaged.path.display();
            output.line(&format!(
                "salvaged: {} nodes, in {path}; {} are lost",
                grouped(verified),
                grouped(nodes - verified - salvaged.erased())
            ))
        }
        None => what_to_do(output, diagnosis),
    }
}

fn conversations(output: Output, diagnosis: &Diagnosis) -> io::Result<()> {
    if diagnosis.conversations.is_empty() {
        return output.line("no conversation can be read");
    }
    let rows = diagnosis.conversations.iter().map(|conversation| {
        let lost = conversation.lost.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let nodes = format!("{} of {}", grouped(conversation.verified), grouped(conversation.nodes));
        [name(&conversation.label), nodes, lost, grouped(conversation.summaries), remarks(conversation)]
    });
    output.table(["conversation", "nodes", "lost", "summaries", ""], rows)
}

fn name(label: &ConversationLabel) -> String {
    match label {
        ConversationLabel::Named(name) => name.to_string(),
        ConversationLabel::Nameless(number) => format!("(number {number})"),
    }
}

fn remarks(conversation: &ConversationReport) -> String {
    let mut remarks = Vec::new();
    if matches!(conversation.label, ConversationLabel::Nameless(_)) {
        remarks.push("its name is lost".to_owned());
    }
    if conversation.erased > 0 {
        remarks.push(format!("{} erased", grouped(conversation.erased)));
    }
    if conversation.may_have_lost_more {
        remarks.push("more may be lost at its end".to_owned());
    }
    let lost_events = [
        ("summaries", &conversation.lost_summaries),
        ("views", &conversation.lost_views),
        ("notes", &conversation.lost_notes),
    ];
    for (what, lost) in lost_events {
        let lost = lost.iter().map(|run| match (run.start(), run.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        });
        let lost: Vec<_> = lost.collect();
        if !lost.is_empty() {
            remarks.push(format!("{what} lost: {}", lost.join(", ")));
        }
    }
    if !conversation.orphaned_summaries.is_empty() {
        remarks.push(format!("{} summaries lack a part", conversation.orphaned_summaries.len()));
    }
    if remarks.is_empty() && conversation.is_whole() { "whole".to_owned() } else { remarks.join("; ") }
}

fn what_to_do(output: Output, diagnosis: &Diagnosis) -> io::Result<()> {
    if diagnosis.is_whole() {
        return Ok(());
    }
    if diagnosis.findings.is_empty() {
        return output.line("nothing is damaged: what is missing was lost before this store was salvaged");
    }
    output.line("Messages that are whole can be used as they are. To repair the rest, before anything is written:")?;
    output.line("  with a backup     memory restore BACKUP DIR, beside this store")?;
    output.line("  without one       memory doctor --salvage DIR makes a new store of all that is whole")
}
