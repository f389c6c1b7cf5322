//! Writes conversations in the shapes of other programs.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::ValueEnum;
use memory::parts::Parts;
use memory_core::{
    ConversationId, Message, NodeId, NodeRange, Role, Timestamp,
    port::{Losses, Progress},
};
use memory_transcripts::{Heading, LeftOut, MessageWriter, Written};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Args, InFile, of_the_log, resolve, without_loss};
use crate::{
    Access,
    failure::Usage,
    globals::Globals,
    open,
    output::{Output, counted, grouped},
    target::{Existing, Target},
    terminal,
};

/// Messages that are read at once.
const AT_ONCE: u64 = 64;

/// The shape of an export by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    Memory,
    #[value(name = "openai")]
    OpenAi,
    Anthropic,
    Markdown,
    Html,
}

impl Shape {
    /// The shape of another program.
    pub(super) fn written(self) -> Option<Written> {
        match self {
            Self::Memory => None,
            Self::OpenAi => Some(Written::OpenAi),
            Self::Anthropic => Some(Written::Anthropic),
            Self::Markdown => Some(Written::Markdown),
            Self::Html => Some(Written::Html),
        }
    }
}

/// A conversation that was written in the shape of another program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Done {
    /// Name of the conversation.
    conversation: ConversationId,
    /// Number of messages.
    #[serde(rename = "nodes")]
    messages: u64,
    /// Messages that cannot be read any more; a line replaces them.
    #[serde(skip)]
    lost: Losses,
    /// Parts that the format cannot hold.
    left_out: LeftOut,
}

pub(super) async fn run(args: &Args, shape: Written, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    if output.json && args.output.is_none() {
        let why = "--json reports what was written to files: leave it out, or name a file by --output";
        return Err(Usage(why.to_owned()).into());
    }
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let existing = Existing::of(args.force);
    let mut done = Vec::new();
    match &args.output {
        None => {
            let id = args.conversation.id(&runtime).await?;
            // A terminal must get nothing that could steer it: pages and Markdown hold no hidden characters.
            let out = terminal::json_lines();
            let written = write(&runtime, &id, shape, out, output).await?;
            output.note(&words(&written));
            return without_loss(lost(&written));
        }
        Some(directory) if args.all => {
            let mut targets = Vec::new();
            for id in resolve::all(&runtime).await? {
                let path = directory.join(format!("{id}.{}", shape.extension()));
                targets.push((id, Target::of(&path, existing)?, path));
            }
            if !directory.is_dir() {
                memory_files::create_dir_all(directory)
                    .with_context(|| format!("cannot make {}", directory.display()))?;
            }
            for (id, target, path) in targets {
                done.push((to_file(&runtime, &id, shape, target, output).await?, path));
            }
        }
        Some(path) => {
            let id = args.conversation.id(&runtime).await?;
            let target = Target::of(path, existing)?;
            let among_the_output = target.is_standard_output();
            let written = to_file(&runtime, &id, shape, target, output).await?;
            if among_the_output {
                output.note(&words(&written));
                return without_loss(lost(&written));
            }
            done.push((written, path.clone()));
        }
    }
    report(&done, output)?;
    without_loss(done.iter().flat_map(|(done, _)| lost(done)).chain(of_the_log(args, &runtime)))
}

/// Losses of a file, as a sentence.
fn lost(done: &Done) -> Option<String> {
    let runs: Vec<_> = done.lost.runs().iter().map(ToString::to_string).collect();
    (!runs.is_empty()).then(|| format!("`{}` without the lost messages {}", done.conversation, runs.join(", ")))
}

fn report(done: &[(Done, PathBuf)], output: Output) -> anyhow::Result<()> {
    if output.json {
        let exported = done.iter().map(|(answer, file)| InFile { answer, file: file.display().to_string() });
        return Ok(output.value(&Answer { exported: exported.collect() })?);
    }
    for (done, path) in done {
        output.line(&format!("{}, in {}", words(done), path.display()))?;
    }
    Ok(())
}

async fn to_file(
    runtime: &Parts,
    id: &ConversationId,
    shape: Written,
    target: Target,
    output: Output,
) -> anyhow::Result<Done> {
    let mut file = target.begin()?;
    let done = write(runtime, id, shape, BufWriter::new(&mut file), output).await?;
    file.finish()?;
    Ok(done)
}

async fn write(
    runtime: &Parts,
    id: &ConversationId,
    shape: Written,
    out: impl Write,
    output: Output,
) -> anyhow::Result<Done> {
    let store = &*runtime.store;
    let state = store.conversation(id).await?;
    let title = runtime.memory.conversation(id.clone()).title().await?.map(|title| title.text);
    let bar = output.bar("exporting");
    let failed = |error: io::Error| anyhow::Error::new(error).context("cannot write the export");
    let heading = Heading::new(id.as_str()).title(title.as_deref());
    let mut writer = MessageWriter::begin(out, shape, heading).map_err(failed)?;
    let (mut next, mut at, mut lost) = (1, Timestamp::default(), Losses::default());
    while next <= state.nodes {
        let last = state.nodes.min(next + AT_ONCE - 1);
        let range = NodeId::new(next).zip(NodeId::new(last)).and_then(|(first, last)| NodeRange::new(first, last));
        let Some(range) = range else { break };
        let read = store.readable_nodes(id, range).await?;
        let mut runs = read.losses.runs().iter().peekable();
        for node in &read.nodes {
            while let Some(run) = runs.next_if(|run| run.last() < node.id) {
                writer.write(&in_place_of(*run), at).map_err(failed)?;
            }
            writer.write(&node.message, node.at).map_err(failed)?;
            at = node.at;
        }
        for run in runs {
            writer.write(&in_place_of(*run), at).map_err(failed)?;
        }
        lost.extend(&read.losses);
        bar.report(last, state.nodes);
        next = last + 1;
    }
    let left_out = writer.end().map_err(failed)?;
    bar.finish();
    Ok(Done { conversation: id.clone(), messages: state.nodes, lost, left_out })
}

/// A line for lost messages, as in a view; an import takes it for a note of the program.
fn in_place_of(lost: NodeRange) -> Message {
    let messages = if lost.count() == 1 { "Message" } else { "Messages" };
    Message::text_of(Role::System, format!("[{messages} {lost}: lost]"))
}

fn words(done: &Done) -> String {
    let Done { conversation, messages, left_out, .. } = done;
    let mut words = format!("wrote `{conversation}`: {} messages", grouped(*messages));
    if left_out.reasoning > 0 {
        words.push_str(&format!("; {} pieces of reasoning have no place there", grouped(left_out.reasoning)));
    }
    if left_out.as_text > 0 {
        words.push_str(&format!("; {} pieces are written as text", grouped(left_out.as_text)));
    }
    if left_out.unanswered > 0 {
        let calls = counted(left_out.unanswered, "call without a result is", "calls without results are");
        words.push_str(&format!("; {calls} answered by a note that says so"));
    }
    let lost =
        [(left_out.times, "times"), (left_out.names, "names of speakers"), (left_out.files, "pictures or files")];
    let lost: Vec<_> = lost
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    if !lost.is_empty() {
        words.push_str(&format!("; without {}", lost.join(", ")));
    }
    words
}
