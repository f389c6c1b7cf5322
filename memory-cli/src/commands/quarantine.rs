//! `memory quarantine` and `memory provenance`: where messages come from, and taking a source out of use.

use clap::Args as ClapArgs;
use memory_core::{Provenance, SummaryId};
use memory_hooks::{Quarantine, QuarantineSource};
use schemars::JsonSchema;
use serde::Serialize;

use super::resolve;
use crate::{
    Access,
    failure::Usage,
    globals::Globals,
    open,
    output::{Output, counted},
};

/// Takes a source out of every view and search, or brings it back.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The source: tool:NAME, session:NAME, import:CONVERSATION or conversation:CONVERSATION
    #[arg(value_name = "SOURCE", required_unless_present = "list")]
    source: Option<QuarantineSource>,
    /// Bring back what the quarantine of the source took
    #[arg(long, conflicts_with = "list")]
    undo: bool,
    /// List what is under quarantine
    #[arg(long, conflicts_with = "source")]
    list: bool,
    /// Person or program, for `memory disable --list`
    #[arg(long, value_name = "NAME", default_value = "")]
    by: String,
}

/// Where messages or a summary come from.
#[derive(Debug, ClapArgs)]
pub(crate) struct ProvenanceArgs {
    #[command(flatten)]
    conversation: resolve::One,
    /// Numbers of messages, such as 5 or 7-12
    #[arg(value_name = "NODE", value_parser = resolve::nodes, required_unless_present = "summary")]
    nodes: Option<memory_core::NodeRange>,
    /// A summary by its number, as `memory summaries` lists it
    #[arg(long, value_name = "N", value_parser = resolve::summary, conflicts_with = "nodes")]
    summary: Option<SummaryId>,
}

/// Sources under quarantine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed {
    quarantines: Vec<Quarantine>,
}

/// Sources of messages or of a summary.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Sources {
    /// Name of the conversation.
    conversation: memory_core::ConversationId,
    sources: Vec<Provenance>,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    let access = if args.list { Access::Read } else { Access::Existing };
    let memory = open(&globals.config(access)?.without_model())?.memory;
    let Some(source) = args.source.clone() else {
        let quarantines = memory.quarantines().await?;
        if output.json {
            return Ok(output.value(&Listed { quarantines })?);
        }
        if quarantines.is_empty() {
            return Ok(output.line("nothing is under quarantine")?);
        }
        return quarantines.iter().try_for_each(|one| print(output, one, "under quarantine"));
    };
    let (changed, what) = match args.undo {
        true => (memory.lift_quarantine(source, &args.by).await?, "brought back"),
        false => (memory.quarantine(source, &args.by).await?, "under quarantine"),
    };
    if output.json {
        return Ok(output.value(&changed)?);
    }
    if changed.conversations.is_empty() {
        return Ok(output.line(&format!("nothing changed: no message of {} is to be {what}", changed.source))?);
    }
    print(output, &changed, what)
}

fn print(output: Output, quarantine: &Quarantine, what: &str) -> anyhow::Result<()> {
    for one in &quarantine.conversations {
        let count: u64 = one.nodes.iter().map(|run| run.count()).sum();
        let runs: Vec<_> = one.nodes.iter().map(ToString::to_string).collect();
        let (messages, source) = (counted(count, "message", "messages"), &quarantine.source);
        output.line(&format!("{source}: {messages} of {} {what}: {}", one.conversation, runs.join(", ")))?;
    }
    Ok(())
}

pub(crate) async fn provenance(args: &ProvenanceArgs, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let id = args.conversation.id(&runtime).await?;
    let conversation = runtime.memory.conversation(id.clone());
    let sources = match (args.summary, args.nodes) {
        (Some(summary), _) => vec![conversation.provenance_of_summary(summary).await?],
        (None, Some(nodes)) => {
            // A number beyond the last message is a slip.
            conversation.expand(nodes.first()).await?;
            conversation.provenance(nodes).await?
        }
        (None, None) => return Err(Usage("name messages, or a summary by --summary".to_owned()).into()),
    };
    if output.json {
        return Ok(output.value(&Sources { conversation: id, sources })?);
    }
    for one in &sources {
        let mut line = format!("{} {}", one.nodes, one.source);
        if one.lowest != one.source {
            line.push_str(&format!(", made with the words of a {}", one.lowest));
        }
        let session = one.session.as_ref().map(|name| format!("session {name}"));
        let tools = (!one.tools.is_empty()).then(|| format!("tools {}", one.tools.join(", ")));
        let from: Vec<_> = one.from.iter().map(ToString::to_string).collect();
        let from = (!from.is_empty()).then(|| format!("from {}", from.join(", ")));
        let by = one.written_by.as_ref().map(|author| format!("by {author}"));
        for more in [tools, from, session, by].into_iter().flatten() {
            line.push_str(&format!("; {more}"));
        }
        output.line(&line)?;
    }
    Ok(())
}
