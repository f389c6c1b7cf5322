//! `memory export`: writes conversations to files that `memory import` brings back to the same root, or in the shapes
//! of other programs.

pub(crate) mod written;

use std::{io::BufWriter, path::PathBuf};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use memory::parts::Parts;
use memory_core::{ConversationId, port::Store};
use memory_store::Exported;
use schemars::JsonSchema;
use serde::Serialize;

use super::resolve;
use crate::{
    Access,
    failure::{self, Damage, Usage},
    globals::Globals,
    open,
    output::{Output, counted, grouped},
    target::{Existing, Target},
    terminal,
};
use written::Shape;

/// Writes conversations to files.
///
/// By default they are files that `memory import` brings back to the same root. With --format they are messages for other
/// programs, or a page to read.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    conversation: resolve::One,
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
    #[arg(long, value_enum, default_value_t = Shape::Memory)]
    format: Shape,
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

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let output = globals.output;
    if let Some(shape) = args.format.written() {
        return written::run(args, shape, globals).await;
    }
    if output.json && args.output.is_none() {
        let why = "an export is JSON already: leave --json out, or name a file by --output";
        return Err(Usage(why.to_owned()).into());
    }
    let runtime = open(&globals.config(Access::Read)?.without_model())?;
    let store = &*runtime.store;
    let existing = Existing::of(args.force);
    let (mut exported, mut damaged) = (Vec::new(), Vec::new());
    match &args.output {
        None => {
            let id = args.conversation.id(&runtime).await?;
            let mut out = terminal::json_lines();
            let done = memory_store::export(store, &id, &mut out, &output.bar("exporting")).await?;
            output.note(&words(&done));
            return without_loss(lost(&done));
        }
        Some(directory) if args.all => {
            let mut targets = Vec::new();
            // All targets are checked first: nothing is written if one is refused.
            for id in resolve::every(&runtime).await? {
                let path = directory.join(format!("{id}.jsonl"));
                targets.push((id, Target::of(&path, existing)?, path));
            }
            if !directory.is_dir() {
                memory_files::create_dir_all(directory)
                    .with_context(|| format!("cannot make {}", directory.display()))?;
            }
            for (id, target, path) in targets {
                match to_file(store, &id, target, output).await {
                    Ok(done) => exported.push((done, path)),
                    // The remaining conversations are still exported.
                    Err(error) if failure::code(&error) == failure::Code::Damaged => damaged.push(error),
                    Err(error) => return Err(error),
                }
            }
        }
        Some(path) => {
            let id = args.conversation.id(&runtime).await?;
            let target = Target::of(path, existing)?;
            let among_the_output = target.is_standard_output();
            let done = to_file(store, &id, target, output).await?;
            if among_the_output {
                output.note(&words(&done));
                return without_loss(lost(&done));
            }
            exported.push((done, path.clone()));
        }
    }
    if output.json {
        let exported = exported.iter().map(|(answer, file)| InFile { answer, file: file.display().to_string() });
        output.value(&Answer { exported: exported.collect() })?;
    } else {
        for (done, path) in &exported {
            output.line(&format!("{}, in {}", words(done), path.display()))?;
        }
    }
    let Some(last) = damaged.pop() else {
        let lost = exported.iter().flat_map(|(done, _)| lost(done));
        return without_loss(lost.chain(of_the_log(args, &runtime)));
    };
    damaged.iter().for_each(|error| output.note(&failure::exactly(error)));
    Err(last)
}

/// Damage of the log that may have held unlisted conversations, if all were requested.
fn of_the_log(args: &Args, runtime: &Parts) -> Vec<String> {
    let damage = runtime.log.report().damage.iter().filter(|_| args.all);
    damage.map(|damage| format!("conversations may be missing: {damage}")).collect()
}

/// Fails with a damage error if something is missing in the written files.
fn without_loss(lost: impl IntoIterator<Item = String>) -> anyhow::Result<()> {
    let lost: Vec<_> = lost.into_iter().collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Damage(format!("not all could be exported: {}: `memory doctor` reports what is lost", lost.join("; "))).into())
}

/// Losses of an export.
fn lost(exported: &Exported) -> Option<String> {
    let lost = exported.lost_summaries;
    (lost > 0)
        .then(|| format!("`{}` without {}", exported.conversation, counted(lost, "lost summary", "lost summaries")))
}

/// Writes a whole export to a regular file, or leaves the file unchanged.
async fn to_file(store: &dyn Store, id: &ConversationId, target: Target, output: Output) -> anyhow::Result<Exported> {
    let mut file = target.begin()?;
    let bar = output.bar("exporting");
    let mut buffered = BufWriter::new(&mut file);
    let exported = memory_store::export(store, id, &mut buffered, &bar).await?;
    drop(buffered);
    bar.finish();
    file.finish()?;
    Ok(exported)
}

fn words(exported: &Exported) -> String {
    let Exported { conversation, nodes, summaries, notes, root, .. } = exported;
    let notes = if *notes > 0 { format!("{}, ", counted(*notes, "note", "notes")) } else { String::new() };
    let (nodes, summaries) = (grouped(*nodes), grouped(*summaries));
    format!("exported `{conversation}`: {nodes} messages, {summaries} summaries, {notes}root {root}")
}
