//! `memory resummarize`: writes summaries again with the summarizer that is chosen now.

use clap::Args as ClapArgs;
use memory_core::{Level, NodeRange};
use memory_hooks::Resummarize;

use super::{filter, resolve};
use crate::{
    Access,
    globals::Globals,
    open,
    output::{Of, grouped},
};

/// Writes summaries again.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// Only summaries of at least one of these messages: 40-80, or 40 alone [default: all]
    #[arg(long, value_name = "FIRST-LAST", value_parser = resolve::nodes)]
    nodes: Option<NodeRange>,
    /// Only summaries of this level [default: all]
    #[arg(long, value_parser = filter::level(Level::Summary))]
    level: Option<Level>,
    /// Also those that a person wrote or dissolved, which stay otherwise
    #[arg(long)]
    also_by_person: bool,
    /// Only those that the present summarizer did not write: of its fallback, of another model, or older than it
    #[arg(long)]
    fallbacks: bool,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let runtime = open(&globals.config(Access::Existing)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let output = globals.output;
    let what = Resummarize::default().nodes(args.nodes).level(args.level).also_by_person(args.also_by_person);
    let what = what.fallbacks(args.fallbacks);
    let bar = output.bar("summarizing");
    let written = runtime.memory.conversation(id.clone()).resummarize_with(what, &bar).await;
    bar.finish();
    let report = written?;
    if output.json {
        return Ok(output.value(&Of { conversation: &id, answer: report })?);
    }
    let [rewritten, unchanged] = [report.rewritten, report.unchanged].map(grouped);
    let [before, after] = [report.tokens_before, report.tokens_after].map(grouped);
    output.line(&format!("{id}: {rewritten} summaries written anew, {unchanged} as they were"))?;
    output.line(&format!("{before} tokens before, {after} after; views that were recorded show what they showed"))?;
    if report.by_person > 0 {
        let by_person = grouped(report.by_person);
        output.note(&format!(
            "note: a person wrote or dissolved {by_person} of them: --also-by-person writes those, too"
        ));
    }
    if report.by_fallback > 0 {
        let by_fallback = grouped(report.by_fallback);
        output.note(&format!("note: the summarizer failed, {by_fallback} of them were written by its fallback"));
    }
    Ok(())
}
