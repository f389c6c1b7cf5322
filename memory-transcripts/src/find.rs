//! Finds the transcripts of a path: a file, an archive, or a directory.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::ConversationId;
use memory_files::{Links, open};

use crate::{
    Format, Limits, Position, Reader, Report, TranscriptError, Why,
    archive::{self, unzip},
    chatgpt::ChatGpt,
    claude_ai::ClaudeAi,
    claude_code::ClaudeCode,
    codex::Codex,
    format::SQLITE,
    lists::{Dialect, Lists},
    markdown::Markdown,
    names::conversation_id,
    out::Out,
    pi::Pi,
    reader::Source,
    records::{Bounded, Input, Lines, Records, Values},
    shape::Shape,
    strands::{self, Agent, Strands},
};

/// Bytes at the start of a file by which its format is recognized.
const BEGINNING: u64 = 256 << 10;
/// Maximum depth of directories.
const DEPTH: u32 = 12;
const ZIP: &[u8] = b"PK\x03\x04";
/// Signature of an archive without files.
const EMPTY_ZIP: &[u8] = b"PK\x05\x06";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// File name endings of possible databases.
const DATABASES: [&str; 3] = [".db", ".sqlite", ".sqlite3"];

/// A transcript that was found. It can be read any number of times.
#[derive(Clone, Debug)]
pub struct Transcript {
    format: Format,
    path: PathBuf,
    from: From,
    limits: Limits,
    name: Option<String>,
}

#[derive(Clone, Debug)]
enum From {
    /// The path.
    Path,
    /// An open file without a path.
    File(Arc<File>),
    Agent(Arc<Agent>),
}

/// The transcripts of a path.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Found {
    /// Transcripts, in the order of their names.
    pub transcripts: Vec<Transcript>,
    /// Files that are no transcripts, counted by kind.
    pub others: Report,
}

/// Finds the transcripts of a file, an archive or a directory. Links in a directory are not followed.
///
/// A given `format` is assumed, not recognized.
///
/// # Errors
/// [`TranscriptError::UnknownFormat`], and the errors of reading.
pub fn find(path: &Path, format: Option<Format>, limits: Limits) -> Result<Found, TranscriptError> {
    let mut found = Found::default();
    let io = |source| TranscriptError::Io { path: path.to_owned(), source };
    if fs::metadata(path).map_err(io)?.is_dir() {
        in_directory(path, format, limits, 0, &mut found)?;
        if found.transcripts.is_empty() {
            return Err(TranscriptError::UnknownFormat { place: path.display().to_string() });
        }
        return Ok(found);
    }
    let file = open(path, Links::Follow).map_err(io)?;
    of_file(path, file, From::Path, format, limits, &mut found)?;
    Ok(found)
}

/// As [`find`] for an open file, such as a pipe; `name` is used in errors, and names a conversation that has no name.
///
/// # Errors
/// As [`find`].
pub fn find_in(file: File, name: &str, format: Option<Format>, limits: Limits) -> Result<Found, TranscriptError> {
    let mut found = Found::default();
    let path = PathBuf::from(name);
    let again = file.try_clone().map_err(|source| TranscriptError::Io { path: path.clone(), source })?;
    of_file(&path, again, From::File(Arc::new(file)), format, limits, &mut found)?;
    Ok(found)
}

/// Reads a file that is still being written, from `position` on, or from its start.
///
/// Incomplete input is held back: an answer of the model whose next line may follow, and a line without an end.
///
/// # Errors
/// [`TranscriptError::Unfit`] for a format that cannot be followed; [`TranscriptError::Rewound`] if the file is shorter
/// than the position.
pub fn follow(
    path: &Path,
    format: Format,
    position: Option<&Position>,
    limits: Limits,
) -> Result<Reader, TranscriptError> {
    let place = || path.display().to_string();
    if !format.can_be_followed() {
        return Err(TranscriptError::Unfit { place: place(), why: "only claude-code and codex files can be followed" });
    }
    let io = |source| TranscriptError::Io { path: path.to_owned(), source };
    let mut file = open(path, Links::Follow).map_err(io)?;
    let offset = position.map_or(0, |position| position.offset);
    if file.metadata().map_err(io)?.len() < offset {
        return Err(TranscriptError::Rewound { place: place() });
    }
    file.seek(SeekFrom::Start(offset)).map_err(io)?;
    let mut out = Out::new(place(), format.as_str());
    let stem = stem(path);
    let state = position.map(|position| position.state.as_str());
    let unfit = || TranscriptError::Unfit { place: place(), why: "the position is none of this format" };
    let shape: Box<dyn Shape> = match (format, state) {
        (Format::Codex, Some(state)) => Box::new(Codex::resumed(&stem, state, &mut out).ok_or_else(unfit)?),
        (Format::Codex, None) => Box::new(Codex::new(&stem)),
        (_, Some(state)) => Box::new(ClaudeCode::resumed(&stem, state, &mut out).ok_or_else(unfit)?),
        (_, None) => Box::new(ClaudeCode::new(&stem)),
    };
    let bounded = Bounded { input: Box::new(file), path: path.to_owned(), longest: limits.record };
    let records = Source::Records(Records::Lines(Lines::new(bounded, offset, true)));
    Ok(Reader::new(format, records, shape, out, limits, true))
}

impl Transcript {
    /// Its format.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Path of the file; a name if it has no path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the conversation's name comes only from the file name.
    #[must_use]
    pub fn is_named_by_file(&self, conversation: &ConversationId) -> bool {
        !self.format.names_conversations() && conversation_id(&[&stem(&self.path)]) == *conversation
    }

    /// Sets the name of a conversation that has none.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Reads the transcript from its start.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(&self) -> Result<Reader, TranscriptError> {
        let out = Out::new(self.path.display().to_string(), self.format.as_str());
        let io = |source| TranscriptError::Io { path: self.path.clone(), source };
        let file = match &self.from {
            From::Agent(agent) => {
                let records = Source::Files(agent.messages.iter().cloned().collect(), 0);
                let shape = Box::new(Strands::new(&agent.session, &agent.agent));
                return Ok(Reader::new(self.format, records, shape, out, self.limits, false));
            }
            From::Path if self.format.is_database() => return self.open_database(out),
            From::Path => open(&self.path, Links::Follow).map_err(io)?,
            From::File(_) if self.format.is_database() => {
                let why = "a database is read where it lies: give its path";
                return Err(TranscriptError::Unfit { place: self.path.display().to_string(), why });
            }
            From::File(file) => {
                let mut file = file.try_clone().map_err(io)?;
                file.rewind().map_err(io)?;
                file
            }
        };
        let input = plain(file, &self.path, self.limits)?;
        let bounded = Bounded { input, path: self.path.clone(), longest: self.limits.record };
        let name = self.name.clone().unwrap_or_else(|| stem(&self.path));
        let lines = |bounded| Records::Lines(Lines::new(bounded, 0, false));
        let lists = |dialect| Box::new(Lists::new(dialect, &name)) as Box<dyn Shape>;
        let (records, shape): (_, Box<dyn Shape>) = match self.format {
            Format::ClaudeCode => (lines(bounded), Box::new(ClaudeCode::new(&name))),
            Format::Codex => (lines(bounded), Box::new(Codex::new(&name))),
            Format::Pi => (lines(bounded), Box::new(Pi::new(&name))),
            Format::Markdown => {
                (Records::Lines(Lines::new(bounded, 0, false).with_blanks()), Box::new(Markdown::new(&name)))
            }
            Format::ChatGpt => (Records::Values(Values::new(bounded)), Box::new(ChatGpt::default())),
            Format::ClaudeAi => (Records::Values(Values::new(bounded)), Box::new(ClaudeAi::default())),
            Format::OpenAi => (Records::Values(Values::new(bounded)), lists(Dialect::Chat)),
            Format::Responses => (Records::Values(Values::new(bounded)), lists(Dialect::Responses)),
            Format::Anthropic => (Records::Values(Values::new(bounded)), lists(Dialect::Anthropic)),
            Format::Bedrock => (Records::Values(Values::new(bounded)), lists(Dialect::Bedrock)),
            Format::LangChain => (Records::Values(Values::new(bounded)), lists(Dialect::LangChain)),
            Format::Strands | Format::OpenClaw | Format::LosslessClaw => {
                let why = "expected a session folder, which holds session.json and agents/";
                return Err(TranscriptError::Unfit { place: self.path.display().to_string(), why });
            }
        };
        Ok(Reader::new(self.format, Source::Records(records), shape, out, self.limits, false))
    }
}

#[cfg(feature = "sqlite")]
impl Transcript {
    fn open_database(&self, out: Out) -> Result<Reader, TranscriptError> {
        let rows = Source::Rows(crate::sqlite::rows(&self.path, self.format, self.limits)?);
        Ok(Reader::new(self.format, rows, Box::new(crate::shape::NoRecords), out, self.limits, false))
    }
}

#[cfg(not(feature = "sqlite"))]
impl Transcript {
    fn open_database(&self, _: Out) -> Result<Reader, TranscriptError> {
        Err(TranscriptError::NoSqlite { place: self.path.display().to_string() })
    }
}

fn of_database(path: &Path, from: &From, limits: Limits) -> Result<Format, TranscriptError> {
    let place = || path.display().to_string();
    if !matches!(from, From::Path) {
        return Err(TranscriptError::Unfit { place: place(), why: "a database is read where it lies: give its path" });
    }
    #[cfg(feature = "sqlite")]
    return crate::sqlite::recognize(path, limits);
    #[cfg(not(feature = "sqlite"))]
    {
        let _ = limits;
        Err(TranscriptError::NoSqlite { place: place() })
    }
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// Unpacked content of a file.
fn plain(mut file: File, path: &Path, limits: Limits) -> Result<Input, TranscriptError> {
    let io = |source| TranscriptError::Io { path: path.to_owned(), source };
    let begins = beginning(&mut file, ZSTD.len() as u64).map_err(io)?;
    if begins == ZSTD { archive::zstd(file, path, limits) } else { Ok(Box::new(file)) }
}

/// Reads the first bytes of a file and rewinds it.
fn beginning(file: &mut File, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(most).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(bytes)
}

fn of_file(
    path: &Path,
    mut file: File,
    from: From,
    format: Option<Format>,
    limits: Limits,
    found: &mut Found,
) -> Result<(), TranscriptError> {
    let io = |source| TranscriptError::Io { path: path.to_owned(), source };
    let begins = beginning(&mut file, ZIP.len() as u64).map_err(io)?;
    if begins == ZIP || begins == EMPTY_ZIP {
        let unpacked = unzip(file, path, limits)?;
        for other in unpacked.others {
            let kind = other.rsplit('/').next().unwrap_or_default().to_owned();
            found.others.skip(Why::OtherFile, &kind, || format!("{}, {other}", path.display()));
        }
        let (before, mut broken) = (found.transcripts.len(), unpacked.broken);
        for entry in unpacked.entries {
            let again = entry.file.try_clone().map_err(io)?;
            let from = From::File(Arc::new(entry.file));
            if let Err(error) = recognized(&entry.path, again, from, format, limits, found) {
                broken.push((entry.path.display().to_string(), error));
            }
        }
        if found.transcripts.len() == before {
            let why = "the archive holds no conversations.json";
            let unfit = || TranscriptError::Unfit { place: path.display().to_string(), why };
            return Err(broken.into_iter().next().map_or_else(unfit, |(_, error)| error));
        }
        for (name, error) in broken {
            let kind = format!("{} that cannot be read", name.rsplit('/').next().unwrap_or_default());
            found.others.skip(Why::Broken, &kind, || error.to_string());
        }
        return Ok(());
    }
    recognized(path, file, from, format, limits, found)
}

fn recognized(
    path: &Path,
    file: File,
    from: From,
    format: Option<Format>,
    limits: Limits,
    found: &mut Found,
) -> Result<(), TranscriptError> {
    let format = match format {
        Some(format) => format,
        None => {
            let mut begin = Vec::new();
            let read = plain(file, path, limits)?.take(BEGINNING).read_to_end(&mut begin);
            read.map_err(|error| archive::failed(path, error))?;
            let unknown = || TranscriptError::UnknownFormat { place: path.display().to_string() };
            if begin.starts_with(SQLITE) {
                of_database(path, &from, limits)?
            } else {
                Format::of_beginning(&begin).ok_or_else(unknown)?
            }
        }
    };
    found.transcripts.push(Transcript { format, path: path.to_owned(), from, limits, name: None });
    Ok(())
}

/// True for a file below a directory of tool results.
fn is_result(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tool-results")
}

/// Searches a directory: sessions of Strands, transcripts of Claude Code and Codex, unpacked exports.
fn in_directory(
    directory: &Path,
    format: Option<Format>,
    limits: Limits,
    depth: u32,
    found: &mut Found,
) -> Result<(), TranscriptError> {
    if format.is_none_or(|format| format == Format::Strands) && strands::is_session(directory) {
        for agent in strands::agents(directory, limits, &mut found.others)? {
            let path = agent.directory.clone();
            let from = From::Agent(Arc::new(agent));
            found.transcripts.push(Transcript { format: Format::Strands, path, from, limits, name: None });
        }
        return Ok(());
    }
    for path in strands::entries(directory, limits)? {
        let shown = || path.display().to_string();
        let Ok(kind) = fs::symlink_metadata(&path).map(|metadata| metadata.file_type()) else { continue };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if kind.is_dir() {
            match depth < DEPTH {
                true => in_directory(&path, format, limits, depth + 1, found)?,
                false => found.others.skip(Why::OtherFile, "directory that is too deep", shown),
            }
            continue;
        }
        let packed = name.strip_suffix(".zst").map(|plain| directory.join(plain));
        // A given format is not verified, so that only files with its endings are taken for it.
        let takes = |database: bool| format.is_none_or(|format| format.is_database() == database);
        let is_database = takes(true) && DATABASES.iter().any(|ending| name.ends_with(ending));
        let is_named = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let is_text = match format {
            Some(Format::Markdown) => is_named(&[".md", ".markdown", ".txt"]),
            // Files with tool results are parts of a transcript that refers to them.
            _ => is_named(&[".jsonl", ".jsonl.zst"]) || is_named(&[".json", ".zip"]) && !is_result(&path),
        };
        let is_transcript = is_database || takes(false) && is_text;
        let ending = || format!("file *{}", name.rfind('.').and_then(|dot| name.get(dot..)).unwrap_or_default());
        if !kind.is_file() || !is_transcript || format == Some(Format::Strands) {
            let what = if kind.is_symlink() { "link".to_owned() } else { ending() };
            found.others.skip(Why::OtherFile, &what, shown);
        } else if packed.is_some_and(|plain| plain.is_file()) {
            found.others.skip(Why::Repeated, "packed file beside the plain one", shown);
        } else {
            let io = |source| TranscriptError::Io { path: path.clone(), source };
            let file = open(&path, Links::Refuse).map_err(io)?;
            match of_file(&path, file, From::Path, format, limits, found) {
                Err(TranscriptError::UnknownFormat { .. }) => found.others.skip(Why::Unknown, &ending(), shown),
                // An archive may contain anything.
                Err(TranscriptError::Unfit { .. }) if name.ends_with(".zip") => {
                    found.others.skip(Why::Unknown, &ending(), shown);
                }
                Err(TranscriptError::Damaged { .. }) if name.ends_with(".zip") => {
                    found.others.skip(Why::Broken, "archive", shown);
                }
                // Databases of other programs are expected.
                Err(TranscriptError::UnknownDatabase { .. } | TranscriptError::NoSqlite { .. }) => {
                    found.others.skip(Why::Note, "SQLite database without conversations", shown);
                }
                // The database may be another program's, and must not stop the import.
                Err(
                    TranscriptError::Damaged { .. } | TranscriptError::Locked { .. } | TranscriptError::Unfit { .. },
                ) if is_database => {
                    found.others.skip(Why::Broken, "SQLite database that cannot be read now", shown);
                }
                other => other?,
            }
        }
        if found.transcripts.len() > limits.files {
            return Err(TranscriptError::TooLarge {
                place: directory.display().to_string(),
                what: "the directory",
                most: limits.files as u64,
                unit: "transcripts",
                hint: "import parts of it",
            });
        }
    }
    Ok(())
}
