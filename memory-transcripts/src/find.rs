//! Finds the transcripts of a path: a file, an archive, or a directory.

use std::{
    fs::{self, File, FileType},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::ConversationId;
use memory_files::{Links, open};

use crate::{
    Format, Position, Reader, Report, TranscriptError, Why,
    aider::Aider,
    archive::{self, unzip},
    chatgpt::ChatGpt,
    claude_ai::ClaudeAi,
    claude_code::{ClaudeCode, Web},
    cline::Cline,
    codex::{Codex, Exec},
    format::SQLITE,
    gemini::Gemini,
    lists::Lists,
    markdown::Markdown,
    names::conversation_id,
    opencode::{self, OpenCode},
    out::ItemQueue,
    pi::Pi,
    reader::FormatReader,
    records::{Bounded, Input, Lines, Records, Values},
    sqlite,
    strands::{self, Agent, Strands},
    whatsapp::WhatsApp,
};

/// Bytes at the start of a file by which its format is recognized.
const BEGINNING: u64 = 256 << 10;
/// Maximum depth of directories.
const DEPTH: u32 = 12;
/// Signatures of an archive, the second of one without files.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const GZIP: &[u8] = b"\x1f\x8b";
/// Names of files by which programs call every conversation, so that their directory names it.
const SHARED: [&str; 5] =
    ["api_conversation_history", "ui_messages", ".aider.chat.history", "_chat", "claude_messages"];

/// Limits on the input of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a record: a line, or an element of a list, such as a conversation of an export. Memory is proportional
    /// to the largest record.
    pub record: u64,
    /// Bytes that an archive may unpack to.
    pub unpacked: u64,
    /// Maximum ratio of unpacked to packed bytes; applies above 64 MiB.
    pub ratio: u64,
    /// Files of a directory or archive.
    pub files: usize,
}

impl Default for Limits {
    /// Records of 64 MiB, archives of 16 GiB with a ratio of 400, and 100,000 files.
    fn default() -> Self {
        Self { record: 64 << 20, unpacked: 16 << 30, ratio: 400, files: 100_000 }
    }
}

impl Limits {
    memory_core::setters! { const record: u64, const unpacked: u64, const ratio: u64, const files: usize }
}

/// A transcript that was found. It can be read any number of times.
#[derive(Clone, Debug)]
pub struct Transcript {
    format: Format,
    path: PathBuf,
    origin: Origin,
    limits: Limits,
    name: Option<String>,
}

#[derive(Clone, Debug)]
enum Origin {
    /// The path.
    Path,
    /// An open file without a path.
    File(Arc<File>),
    Agent(Arc<Agent>),
    /// Small files, read in this order.
    Files(Arc<[PathBuf]>),
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
/// [`TranscriptError::UnknownFormat`], and the errors of reading. A directory without transcripts is no error if other
/// files are in it, which [`Found::others`] names.
pub fn find(path: &Path, format: Option<Format>, limits: Limits) -> Result<Found, TranscriptError> {
    let io = TranscriptError::io(path);
    let mut search = Search { format, limits, is_directory: false, found: Found::default() };
    if fs::metadata(path).map_err(&io)?.is_dir() {
        search.is_directory = true;
        search.directory(path, 0)?;
        if search.found.transcripts.is_empty() && search.found.others.skipped().next().is_none() {
            return Err(TranscriptError::UnknownFormat { place: path.display().to_string() });
        }
    } else {
        search.file(path, open(path, Links::Follow).map_err(&io)?, Origin::Path)?;
    }
    Ok(search.found)
}

/// [`find`] for an open file, such as a pipe; `name` is used in errors, and names a conversation that has no name.
///
/// # Errors
/// Same as [`find`].
pub fn find_in(file: File, name: &str, format: Option<Format>, limits: Limits) -> Result<Found, TranscriptError> {
    let path = Path::new(name);
    let mut search = Search { format, limits, is_directory: false, found: Found::default() };
    let again = file.try_clone().map_err(TranscriptError::io(path))?;
    search.file(path, again, Origin::File(Arc::new(file)))?;
    Ok(search.found)
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
    if !format.can_be_followed() {
        return Err(TranscriptError::unfit(path, "only claude-code and codex files can be followed"));
    }
    let io = TranscriptError::io(path);
    let mut file = open(path, Links::Follow).map_err(&io)?;
    let offset = position.map_or(0, |position| position.offset);
    let place = path.display().to_string();
    if file.metadata().map_err(&io)?.len() < offset {
        return Err(TranscriptError::Rewound { place });
    }
    file.seek(SeekFrom::Start(offset)).map_err(&io)?;
    let mut out = ItemQueue::new(place, format.as_str());
    let stem = stem(path);
    let unfit = || TranscriptError::unfit(path, "the position is none of this format");
    let of_format: Box<dyn FormatReader> = match (format, position.map(|position| position.state.as_str())) {
        (Format::Codex, Some(state)) => Box::new(Codex::resumed(&stem, state, &mut out).ok_or_else(unfit)?),
        (Format::Codex, None) => Box::new(Codex::new(&stem)),
        (_, Some(state)) => Box::new(ClaudeCode::resumed(&stem, state, &mut out).ok_or_else(unfit)?),
        (_, None) => Box::new(ClaudeCode::new(&stem)),
    };
    let bounded = Bounded { input: Box::new(file), path: path.to_owned(), longest: limits.record };
    Ok(Reader::new(format, Records::Lines(Lines::new(bounded, offset, true)), of_format, out).growing())
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

    /// The conversation of a file whose format names none: the name of the file.
    #[must_use]
    pub fn name_by_file(&self) -> Option<ConversationId> {
        (!self.format.names_conversations()).then(|| conversation_id(&[&stem(&self.path)]))
    }

    /// True if the conversation's name comes only from the file name.
    #[must_use]
    pub fn is_named_by_file(&self, conversation: &ConversationId) -> bool {
        self.name_by_file().as_ref() == Some(conversation)
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
        let out = ItemQueue::new(self.path.display().to_string(), self.format.as_str());
        let io = TranscriptError::io(&self.path);
        let file = match &self.origin {
            Origin::Agent(agent) => {
                let records = Records::Files(agent.messages.iter().cloned().collect(), 0, self.limits.record);
                return Ok(Reader::new(
                    self.format,
                    records,
                    Box::new(Strands::new(&agent.session, &agent.agent)),
                    out,
                ));
            }
            Origin::Files(files) => {
                let records = Records::Files(files.iter().cloned().collect(), 0, self.limits.record);
                return Ok(Reader::new(self.format, records, Box::new(OpenCode::new(&stem(&self.path))), out));
            }
            Origin::Path if self.format.is_database() => {
                return sqlite::reader(&self.path, self.format, self.limits, out);
            }
            Origin::Path => open(&self.path, Links::Follow).map_err(&io)?,
            Origin::File(_) if self.format.is_database() => return Err(TranscriptError::unfit(&self.path, IN_PLACE)),
            Origin::File(file) => {
                let mut file = file.try_clone().map_err(&io)?;
                file.rewind().map_err(&io)?;
                file
            }
        };
        let mut file = file;
        if self.format == Format::OpenCode && beginning(&mut file, SQLITE.len() as u64).map_err(&io)? == SQLITE {
            return sqlite::reader(&self.path, self.format, self.limits, out);
        }
        let input = plain(file, &self.path, self.limits)?;
        let bounded = Bounded { input, path: self.path.clone(), longest: self.limits.record };
        let name = self.name.clone().unwrap_or_else(|| stem(&self.path));
        let of_format: Box<dyn FormatReader> = match self.format {
            Format::ClaudeCode | Format::QwenCode => Box::new(ClaudeCode::new(&name)),
            Format::ClaudeCodeWeb => Box::new(Web::new(&name)),
            Format::CodexExec => Box::new(Exec::new(&name)),
            Format::Gemini => Box::new(Gemini::new(&name)),
            Format::OpenCode => Box::new(OpenCode::new(&name)),
            Format::Cline => Box::new(Cline::new(&name)),
            Format::Aider => Box::new(Aider::new(&name)),
            Format::WhatsApp => Box::new(WhatsApp::new(&name)),
            Format::Codex => Box::new(Codex::new(&name)),
            Format::Pi => Box::new(Pi::new(&name)),
            Format::Markdown => Box::new(Markdown::new(&name)),
            Format::ChatGpt => Box::new(ChatGpt::default()),
            Format::ClaudeAi => Box::new(ClaudeAi::default()),
            list if list.is_list() => Box::new(Lists::new(list, &name)),
            _ => {
                let why = "expected a session folder, which holds session.json and agents/";
                return Err(TranscriptError::unfit(&self.path, why));
            }
        };
        let lines = |bounded| Lines::new(bounded, 0, false);
        let records = match self.format {
            text if text.is_text() => Records::Lines(lines(bounded).with_blanks()),
            format if format.is_lines() => Records::Lines(lines(bounded)),
            _ => Records::Values(Values::new(bounded)),
        };
        Ok(Reader::new(self.format, records, of_format, out))
    }
}

/// First bytes of an export of this program, and the refusal of one.
const EXPORT: &[u8] = b"{\"memory_export\":";
const OWN: &str = "an export of this program, which its own import reads";
/// Refusal of a file without content.
const EMPTY: &str = "the file is empty";
/// Refusal of a database that comes through a pipe or in an archive.
const IN_PLACE: &str = "a database is read where it lies: give its path";

/// Name of a file without its endings; of its directory or archive, if all conversations of a program are called alike.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").or(name.strip_suffix(".gz")).unwrap_or(&name);
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Some((archive, _)) = stem.rsplit_once(".zip, ").filter(|(_, member)| SHARED.contains(member)) {
        return archive.to_owned();
    }
    let above = || Some(path.parent()?.file_name()?.to_string_lossy().into_owned());
    above().filter(|_| SHARED.contains(&stem.as_str())).unwrap_or(stem)
}

/// Unpacked content of a file.
fn plain(mut file: File, path: &Path, limits: Limits) -> Result<Input, TranscriptError> {
    let begins = beginning(&mut file, ZSTD.len() as u64).map_err(TranscriptError::io(path))?;
    match begins.as_slice() {
        ZSTD => archive::zstd(file, path, limits),
        begins if begins.starts_with(GZIP) => archive::gzip(file, path, limits),
        _ => Ok(Box::new(file)),
    }
}

/// Reads the first bytes of a file and rewinds it.
fn beginning(file: &mut File, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(most).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(bytes)
}

/// A search for transcripts, of one format if it is given.
struct Search {
    format: Option<Format>,
    limits: Limits,
    /// True within a directory, whose files need not have the given format.
    is_directory: bool,
    found: Found,
}

impl Search {
    fn file(&mut self, path: &Path, mut file: File, origin: Origin) -> Result<(), TranscriptError> {
        let io = TranscriptError::io(path);
        let begins = beginning(&mut file, 4).map_err(&io)?;
        if !ZIP.contains(&begins.as_slice()) {
            return self.recognize(path, file, origin);
        }
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let unpacked = unzip(file, path, self.limits)?;
        for other in unpacked.others {
            self.found.others.skip(Why::OtherFile, &last(&other), || format!("{}, {other}", path.display()));
        }
        let (before, mut broken) = (self.found.transcripts.len(), unpacked.broken);
        for entry in unpacked.entries {
            let again = entry.file.try_clone().map_err(&io)?;
            if let Err(error) = self.recognize(&entry.path, again, Origin::File(Arc::new(entry.file))) {
                broken.push((entry.path.display().to_string(), error));
            }
        }
        if self.found.transcripts.len() == before {
            let unfit = || TranscriptError::unfit(path, "the archive holds no conversations that are recognized");
            let is_damage = |error: &TranscriptError| unread(error, String::new()).0 == Why::Broken;
            let damage = broken.into_iter().map(|(_, error)| error).find(is_damage);
            return Err(damage.unwrap_or_else(unfit));
        }
        for (name, error) in broken {
            let name = last(name.rsplit(".zip, ").next().unwrap_or_default());
            let (why, what) = unread(&error, name);
            let what = if why == Why::Broken { format!("{what} that cannot be read") } else { what };
            self.found.others.skip(why, &what, || error.to_string());
        }
        Ok(())
    }

    fn recognize(&mut self, path: &Path, file: File, origin: Origin) -> Result<(), TranscriptError> {
        if let Some(format) = self.format.filter(|_| !self.is_directory) {
            self.add(format, path, origin);
            return Ok(());
        }
        let mut begin = Vec::new();
        let read = plain(file, path, self.limits)?.take(BEGINNING).read_to_end(&mut begin);
        read.map_err(|error| archive::failed(path, error))?;
        let unknown = || TranscriptError::UnknownFormat { place: path.display().to_string() };
        let found = match origin {
            Origin::Path if begin.starts_with(SQLITE) => Some(sqlite::recognize(path, self.limits)?),
            _ if begin.starts_with(SQLITE) => return Err(TranscriptError::unfit(path, IN_PLACE)),
            _ if begin.starts_with(EXPORT) => return Err(TranscriptError::unfit(path, OWN)),
            _ if begin.trim_ascii().is_empty() => return Err(TranscriptError::unfit(path, EMPTY)),
            _ => Format::of_beginning(&begin),
        };
        let format = match (self.format, found) {
            (None, found) => found.ok_or_else(unknown)?,
            // The shapes of lists and of texts overlap.
            (Some(given), Some(found)) if given == found || given.is_list() && found.is_list() => given,
            (Some(given), Some(found)) if given.is_text() && found.is_text() => given,
            (Some(given), None) if given.is_list() || given.is_text() && is_named_as_text(path) => given,
            (Some(_), None) => return Err(unknown()),
            (Some(_), Some(found)) => return Err(TranscriptError::unfit(path, found.as_str())),
        };
        self.add(format, path, origin);
        Ok(())
    }

    fn add(&mut self, format: Format, path: &Path, origin: Origin) {
        let (path, limits) = (path.to_owned(), self.limits);
        self.found.transcripts.push(Transcript { format, path, origin, limits, name: None });
    }

    /// Searches a directory: sessions of Strands, transcripts of Claude Code and Codex, unpacked exports.
    fn directory(&mut self, directory: &Path, depth: u32) -> Result<(), TranscriptError> {
        if self.format.is_none_or(|format| format == Format::Strands) && strands::is_session(directory) {
            for agent in strands::agents(directory, self.limits, &mut self.found.others)? {
                self.add(Format::Strands, &agent.directory.clone(), Origin::Agent(Arc::new(agent)));
            }
            return Ok(());
        }
        if self.format.is_none_or(|format| format == Format::OpenCode) && opencode::is_storage(directory) {
            for (session, files) in opencode::sessions(directory, self.limits)? {
                self.add(Format::OpenCode, &session, Origin::Files(files.into()));
            }
            return Ok(());
        }
        for path in strands::entries(directory, self.limits)? {
            let shown = || path.display().to_string();
            let Ok(kind) = fs::symlink_metadata(&path).map(|metadata| metadata.file_type()) else { continue };
            if !kind.is_dir() {
                self.entry(directory, &path, kind)?;
            } else if depth < DEPTH {
                self.directory(&path, depth + 1)?;
                continue;
            } else {
                self.found.others.skip(Why::OtherFile, "directory that is too deep", shown);
                continue;
            }
            if self.found.transcripts.len() > self.limits.files {
                let most = (self.limits.files as u64, "transcripts");
                let place = directory.display().to_string();
                return Err(TranscriptError::too_large(place, "the directory", most, "import parts of it"));
            }
        }
        Ok(())
    }

    /// Looks at a file of a directory, or a link in it.
    fn entry(&mut self, directory: &Path, path: &Path, kind: FileType) -> Result<(), TranscriptError> {
        let shown = || path.display().to_string();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_named = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let is_database = is_named(&DATABASES);
        // Files with tool results are parts of a transcript that refers to them.
        let is_result = path.components().any(|part| part.as_os_str() == "tool-results");
        let is_text = is_named(&TEXTS) && !(is_result && is_named(&[".json", ".txt", ".md"]));
        let ending = format!("file *{}", name.rfind('.').and_then(|dot| name.get(dot..)).unwrap_or_default());
        let others = &mut self.found.others;
        if !kind.is_file() || !(is_database || is_text) {
            others.skip(Why::OtherFile, if kind.is_symlink() { "link" } else { &ending }, shown);
            return Ok(());
        }
        if let Some(plain) = name.strip_suffix(".zst").or(name.strip_suffix(".gz"))
            && directory.join(plain).is_file()
        {
            others.skip(Why::Repeated, "packed file beside the plain one", shown);
            return Ok(());
        }
        // The messages as the model had them hold more than those that were shown.
        if name == "ui_messages.json" && directory.join("api_conversation_history.json").is_file() {
            others.skip(Why::Repeated, "ui_messages.json beside api_conversation_history.json", shown);
            return Ok(());
        }
        let opened = open(path, Links::Refuse).map_err(TranscriptError::io(path));
        let Err(error) = opened.and_then(|file| self.file(path, file, Origin::Path)) else { return Ok(()) };
        let (why, what) = match error {
            // Databases of other programs are expected.
            TranscriptError::UnknownDatabase { .. } | TranscriptError::NoSqlite { .. } => {
                (Why::Note, "SQLite database without conversations".to_owned())
            }
            // No file stops those of other programs.
            TranscriptError::Damaged { .. } | TranscriptError::Locked { .. } | TranscriptError::Unfit { .. }
                if is_database =>
            {
                (Why::Broken, "SQLite database that cannot be read now".to_owned())
            }
            TranscriptError::Damaged { .. } => (Why::Broken, "archive".to_owned()),
            error => {
                let (why, what) = unread(&error, ending);
                let place = if why == Why::Broken { crate::error::with_cause(&error) } else { shown() };
                self.found.others.skip(why, &what, || place);
                return Ok(());
            }
        };
        self.found.others.skip(why, &what, shown);
        Ok(())
    }
}

/// Reason for skipping one of several files, and a name for the file.
fn unread(error: &TranscriptError, name: String) -> (Why, String) {
    match error {
        TranscriptError::UnknownFormat { .. } => (Why::Unknown, name),
        TranscriptError::Unfit { why: EMPTY, .. } => (Why::Empty, name),
        TranscriptError::Unfit { why: OWN, .. } => (Why::OtherFile, "export of this program".to_owned()),
        TranscriptError::Unfit { why, .. } if why.parse::<Format>().is_ok() => {
            (Why::OtherFile, format!("file of the format {why}"))
        }
        // An archive may contain anything.
        TranscriptError::Unfit { .. } => (Why::Unknown, name),
        _ => (Why::Broken, name),
    }
}

fn is_named_as_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["md", "markdown", "txt"].iter().any(|text| ending == *text))
}

/// Endings of files that are looked into.
const DATABASES: [&str; 3] = [".db", ".sqlite", ".sqlite3"];
#[rustfmt::skip]
const TEXTS: [&str; 13] = [
    ".json", ".jsonl", ".zip", ".md", ".markdown", ".txt", ".json.gz", ".jsonl.gz", ".md.gz", ".txt.gz", ".json.zst",
    ".jsonl.zst", ".ndjson",
];
