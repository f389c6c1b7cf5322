//! `memory export`: writes conversations to files that `memory import` brings back to the same root, or in the shapes
//! of other programs.

pub(crate) mod written;

use std::{
    io::{BufWriter, Write},
    iter,
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{
    Args as ClapArgs,
    builder::{PossibleValuesParser, TypedValueParser},
};
use memory::parts::Parts;
use memory_core::ConversationId;
use memory_store::Exported;
use memory_transcripts::Written;
use schemars::JsonSchema;
use serde::Serialize;

use super::resolve;
use crate::{
    Access,
    failure::{self, Damage, Usage},
    globals::Globals,
    open,
    output::{Output, counted},
    sealed::Recipients,
    target::{Existing, Target},
    terminal,
};

/// The shape of an export; `None` for the store's own.
#[derive(Clone, Copy, Debug)]
struct Shape(Option<Written>);

/// Parses the name of a shape.
fn shape() -> impl TypedValueParser<Value = Shape> {
    let names = iter::once("memory").chain(Written::ALL.map(Written::as_str));
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "memory" => Ok(Shape(None)),
        other => other.parse().map(|written| Shape(Some(written))),
    })
}

/// Writes conversations to files.
///
/// By default they are files that `memory import` brings back to the same root. With --format they are messages for
/// other programs, or a page to read.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::First,
    /// Every conversation, each to a file of its name in the directory that --output names
    #[arg(long, requires = "output", conflicts_with = "conversation")]
    all: bool,
    /// The file to write, or with --all the directory [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output")]
    force: bool,
    /// The shape of the files: `memory` alone is whole, and is what `memory import` brings back exactly
    #[arg(long, value_parser = shape(), default_value = "memory")]
    format: Shape,
    #[command(flatten)]
    recipients: Recipients,
}

/// Written files.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<T> {
    exported: Vec<InFile<T>>,
}

/// A conversation in a file.
#[derive(Debug, Serialize, JsonSchema)]
struct InFile<T> {
    #[serde(flatten)]
    answer: T,
    /// Path of the file.
    file: String,
}

/// A written conversation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Done {
    Exported(Exported),
    Written(written::Done),
}

impl Done {
    fn words(&self) -> String {
        match self {
            Self::Exported(Exported { conversation, nodes, summaries, notes, root, .. }) => {
                let notes = if *notes > 0 { format!("{}, ", counted(*notes, "note", "notes")) } else { String::new() };
                let nodes = counted(*nodes, "message", "messages");
                let summaries = counted(*summaries, "summary", "summaries");
                format!("exported `{conversation}`: {nodes}, {summaries}, {notes}root {root}")
            }
            Self::Written(done) => done.words(),
        }
    }

    /// Losses of a file, as a sentence.
    fn lost(&self) -> Option<String> {
        match self {
            Self::Exported(Exported { conversation, lost_summaries, lost_notes, .. }) => {
                let summaries = (*lost_summaries, "lost summary", "lost summaries");
                let lost =
                    [summaries, (*lost_notes, "lost note", "lost notes")].into_iter().filter(|(lost, ..)| *lost > 0);
                let lost: Vec<_> = lost.map(|(lost, one, many)| counted(lost, one, many)).collect();
                (!lost.is_empty()).then(|| format!("`{conversation}` without {}", lost.join(" and ")))
            }
            Self::Written(done) => done.lost(),
        }
    }
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let (output, existing) = (globals.output, Existing::of(args.force));
    if output.json && args.output.is_none() {
        let why = match args.format.0 {
            None => "an export is JSON already: leave --json out, or name a file by --output",
            Some(_) => "--json reports what was written to files: leave it out, or name a file by --output",
        };
        return Err(Usage(why.to_owned()).into());
    }
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let (mut exported, mut damaged) = (Vec::new(), Vec::new());
    match &args.output {
        Some(directory) if args.all => {
            // Only the whole shape has a place for notes.
            let ids = match args.format.0 {
                None => resolve::every(&runtime).await?,
                Some(_) => resolve::all(&runtime).await?,
            };
            let extension = args.format.0.map_or("jsonl", Written::extension);
            let mut targets = Vec::new();
            // All targets are checked first: nothing is written if one is refused.
            for id in ids {
                let path = directory.join(format!("{id}.{extension}{}", args.recipients.extension()));
                targets.push((id, Target::of(&path, existing)?, path));
            }
            if !directory.is_dir() {
                memory_files::create_dir_all(directory)
                    .with_context(|| format!("cannot make {}", directory.display()))?;
            }
            for (id, target, path) in targets {
                match to_file(args, &runtime, &id, target, output).await {
                    Ok(done) => exported.push((done, path)),
                    // The remaining conversations are still exported.
                    Err(error) if failure::code(&error) == failure::Code::Damaged => damaged.push(error),
                    Err(error) => return Err(error),
                }
            }
        }
        path => {
            let id = args.conversation.id(&runtime).await?;
            let target = path.as_deref().map(|path| Target::of(path, existing)).transpose()?;
            let is_file = target.as_ref().is_some_and(|target| !target.is_standard_output());
            let done = match target {
                Some(target) => to_file(args, &runtime, &id, target, output).await?,
                // A terminal must get nothing that could steer it: pages and Markdown hold no hidden characters.
                None => write(args.format, &runtime, &id, &mut terminal::json_lines(), output).await?,
            };
            let Some(path) = path.clone().filter(|_| is_file) else {
                output.note(&done.words());
                return without_loss(done.lost());
            };
            exported.push((done, path));
        }
    }
    if output.json {
        let exported = exported.iter().map(|(answer, file)| InFile { answer, file: file.display().to_string() });
        output.value(&Answer { exported: exported.collect() })?;
    } else {
        for (done, path) in &exported {
            output.line(&format!("{}, in {}", done.words(), path.display()))?;
        }
    }
    if let Some(last) = damaged.pop() {
        damaged.iter().for_each(|error| output.note(&failure::exactly(error)));
        return Err(last);
    }
    // Damage of the log may have held unlisted conversations, if all were requested.
    let of_the_log = runtime.log.report().damage.iter().filter(|_| args.all);
    let of_the_log = of_the_log.map(|damage| format!("conversations may be missing: {damage}"));
    without_loss(exported.iter().filter_map(|(done, _)| done.lost()).chain(of_the_log))
}

/// Fails with a damage error if something is missing in the written files.
fn without_loss(lost: impl IntoIterator<Item = String>) -> anyhow::Result<()> {
    let lost: Vec<_> = lost.into_iter().collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Damage(format!("not all could be exported: {}: `memory doctor` reports what is lost", lost.join("; "))).into())
}

/// Writes a whole export to a regular file, or leaves the file unchanged.
async fn to_file(
    args: &Args,
    runtime: &Parts,
    id: &ConversationId,
    target: Target,
    output: Output,
) -> anyhow::Result<Done> {
    let mut file = target.begin()?;
    let mut buffered = BufWriter::new(&mut file);
    let mut sealed = args.recipients.seal(&mut buffered)?;
    let done = write(args.format, runtime, id, &mut sealed, output).await?;
    sealed.finish()?;
    drop(buffered);
    file.finish()?;
    Ok(done)
}

async fn write(
    shape: Shape,
    runtime: &Parts,
    id: &ConversationId,
    out: &mut dyn Write,
    output: Output,
) -> anyhow::Result<Done> {
    let bar = output.bar("exporting");
    let done = match shape.0 {
        None => Done::Exported(memory_store::export(&*runtime.store, id, out, &bar).await?),
        Some(shape) => Done::Written(written::write(runtime, id, shape, out, &bar).await?),
    };
    bar.finish();
    Ok(done)
}
