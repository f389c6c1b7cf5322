//! `memory`: the file-style memory tool that Anthropic's models know (`memory_20250818`).
//!
//! The files are documents of the memory, so every change is in the log and no path of a model reaches a file system.
//! Answers are worded as in Anthropic's own implementation, since models were trained on those.

mod edit;
mod path;
mod view;

use memory::{DocumentsNow, NoteChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::path::Path;
use crate::{
    failure::Failure,
    tool::{Answer, Kind, Tool},
    tools::Tools,
};

/// Most bytes of a file.
const MOST_BYTES: usize = 1 << 20;
/// Most tokens of an answer.
const MOST_TOKENS: u32 = 16_000;
/// Most files.
const MOST_FILES: usize = 1_000;

pub(crate) struct Files;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    command: Command,
    /// A file or directory under /memories
    path: Option<String>,
    /// view: first and last line, -1 for the end
    view_range: Option<Vec<i64>>,
    /// view: where a long line goes on
    cursor: Option<String>,
    /// create
    file_text: Option<String>,
    /// str_replace
    old_str: Option<String>,
    new_str: Option<String>,
    /// insert: after this line
    insert_line: Option<i64>,
    insert_text: Option<String>,
    /// rename
    old_path: Option<String>,
    new_path: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Command {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    result: String,
}

impl Tool for Files {
    const NAME: &'static str = "memory";
    const TITLE: &'static str = "Memory files";
    const ABOUT: &'static str = "View, create, edit, rename and delete your own files under /memories.";
    const MORE: &'static str = "View /memories before you begin, and keep there what you need in later conversations.";
    const KIND: Kind = Kind::Changes;
    type Input = Input;
    type Output = Output;

    async fn run(tools: &Tools, input: Input) -> Result<Output, Failure> {
        let path = |name: &'static str, given: &Option<String>| {
            Path::parse(given.as_deref().ok_or_else(|| Failure(format!("{name} is missing")))?)
        };
        if matches!(input.command, Command::View) {
            let path = path("path", &input.path)?;
            let range = input.view_range.clone();
            let viewed = tools.notes().look(move |now| view::view(now, &path, range.as_deref())).await?;
            let viewed = viewed?;
            let lines = if input.cursor.is_none() { bounded(tools, &viewed) } else { None };
            let result = match lines {
                Some(lines) => lines,
                None => part(tools, &viewed, input.cursor.as_deref())?,
            };
            return Ok(Output { result });
        }
        let (first, second) = match input.command {
            Command::Rename => (path("old_path", &input.old_path)?, Some(path("new_path", &input.new_path)?)),
            _ => (path("path", &input.path)?, None),
        };
        let changed = tools.notes().change(move |now| decide(now, &input, &first, second.as_ref())).await?;
        let changed = changed?;
        Ok(Output { result: bounded(tools, &changed).map_or_else(|| part(tools, &changed, None), Ok)? })
    }
}

/// Whole lines of an answer, of at most [`MOST_TOKENS`], with advice on how to continue; `None` if not one fits.
fn bounded(tools: &Tools, whole: &str) -> Option<String> {
    let kept = tools.beginning(whole, MOST_TOKENS);
    if kept.len() == whole.len() {
        return Some(kept);
    }
    let (kept, _) = kept.rsplit_once('\n')?;
    let last: u64 = kept.rsplit('\n').next()?.split('\t').next()?.trim().parse().ok()?;
    Some(format!("{kept}\n[The rest is left out: view_range [{}, -1] goes on]", last + 1))
}

/// Part of an answer whose first line does not fit.
fn part(tools: &Tools, whole: &str, cursor: Option<&str>) -> Result<String, Failure> {
    let part = tools.part(whole, || "the view".to_owned(), cursor, Some(MOST_TOKENS))?;
    let on = part.next_cursor.map(|cursor| format!("\n[The line goes on: cursor \"{cursor}\"]"));
    Ok(part.text + &on.unwrap_or_default())
}

/// The change that a command makes, and the answer to it.
fn decide(
    now: DocumentsNow<'_>,
    input: &Input,
    path: &Path,
    to: Option<&Path>,
) -> Result<(NoteChange, String), Failure> {
    let given = |name: &str, text: &Option<String>| text.clone().ok_or_else(|| Failure(format!("{name} is missing")));
    match (input.command, to) {
        (Command::Create, _) => create(now, path, given("file_text", &input.file_text)?),
        (Command::StrReplace, _) => {
            let new = input.new_str.clone().unwrap_or_default();
            let (text, said) = edit::replace(path, edited(now, path)?, &given("old_str", &input.old_str)?, &new)?;
            Ok((write(path, text)?, said))
        }
        (Command::Insert, _) => {
            let line = input.insert_line.ok_or_else(|| Failure("insert_line is missing".to_owned()))?;
            let (text, said) =
                edit::insert(path, edited(now, path)?, line, &given("insert_text", &input.insert_text)?)?;
            Ok((write(path, text)?, said))
        }
        (Command::Delete, _) => delete(now, path),
        (Command::Rename, Some(to)) => rename(now, path, to),
        (Command::View | Command::Rename, _) => Err(Failure("view changes nothing".to_owned())),
    }
}

fn create(now: DocumentsNow<'_>, path: &Path, text: String) -> Result<(NoteChange, String), Failure> {
    if path.is_root() || now.get(path.name()).is_some() || now.is_directory(path.name()) {
        return Err(Failure(format!("File {path} already exists")));
    }
    if let Some(file) = path.above().find(|above| now.get(above).is_some()) {
        return Err(Failure(format!("The path /{file} is not a directory.")));
    }
    if now.below(path::ROOT).count() >= MOST_FILES {
        return Err(Failure(format!("There are {MOST_FILES} files, which is the most: delete or join some")));
    }
    Ok((write(path, text)?, format!("File created successfully at: {path}")))
}

fn write(path: &Path, text: String) -> Result<NoteChange, Failure> {
    if text.len() > MOST_BYTES {
        return Err(Failure(format!("File {path} would have {} bytes: {MOST_BYTES} are the most", text.len())));
    }
    Ok(NoteChange::Write { name: path.name().to_owned(), text })
}

/// The text of a file to edit.
fn edited<'a>(now: DocumentsNow<'a>, path: &Path) -> Result<&'a str, Failure> {
    match now.get(path.name()) {
        Some(document) => Ok(&document.text),
        None if path.is_root() || now.is_directory(path.name()) => {
            Err(Failure(format!("The path {path} is not a file.")))
        }
        None => Err(view::missing(path)),
    }
}

fn delete(now: DocumentsNow<'_>, path: &Path) -> Result<(NoteChange, String), Failure> {
    if path.is_root() {
        return Err(Failure("Cannot delete the /memories directory itself".to_owned()));
    }
    if now.get(path.name()).is_none() && !now.is_directory(path.name()) {
        return Err(Failure(format!("The path {path} does not exist")));
    }
    Ok((NoteChange::Remove { name: path.name().to_owned() }, format!("Successfully deleted {path}")))
}

fn rename(now: DocumentsNow<'_>, from: &Path, to: &Path) -> Result<(NoteChange, String), Failure> {
    if from.is_root() {
        return Err(Failure("Cannot rename the /memories directory itself".to_owned()));
    }
    if to.name().strip_prefix(from.name()).is_some_and(|rest| rest.starts_with('/')) {
        return Err(Failure(format!("The directory {from} cannot be moved into itself")));
    }
    if to.is_root() || now.get(to.name()).is_some() || now.is_directory(to.name()) {
        return Err(Failure(format!("The destination {to} already exists")));
    }
    if now.get(from.name()).is_none() && !now.is_directory(from.name()) {
        return Err(Failure(format!("The path {from} does not exist")));
    }
    if to.above().any(|above| above == from.name() || now.get(above).is_some()) {
        return Err(Failure(format!("The destination {to} is not in a directory")));
    }
    let change = NoteChange::Rename { from: from.name().to_owned(), to: to.name().to_owned() };
    Ok((change, format!("Successfully renamed {from} to {to}")))
}

impl Answer for Output {
    fn text(&self) -> String {
        memory::text::lines(&self.result).into_owned()
    }
}
