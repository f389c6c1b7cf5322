//! Text of HTML and PDF files, extracted in a process of its own: a hostile file may loop, fill the memory or abort.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Most bytes of output that are read from a process.
const MOST_BYTES: u64 = 64 << 20;
/// Most characters of a process's last words in an error.
const LONGEST_CAUSE: usize = 200;
/// Columns of a page of HTML, so many that no line is broken.
#[cfg(feature = "documents")]
const WIDTH: usize = 100_000;

/// A kind of file whose text has to be extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// A page of HTML.
    Html,
    /// A PDF file.
    Pdf,
}

/// Reasons why no text was extracted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The process could not be started or waited for.
    #[error("the process that reads it failed")]
    Process(#[source] io::Error),
    /// The process ended without an answer: the file is damaged or hostile.
    #[error("the file is damaged, encrypted or not supported: {0}")]
    Failed(String),
    /// The process was killed: the file needs too much time or memory.
    #[error("it takes too much time or memory")]
    TooMuch,
}

impl DocumentKind {
    /// Kind of a file, by its first bytes or the ending of its name; `None` for a text.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Option<Self> {
        let head: Vec<u8> = bytes.iter().copied().skip_while(u8::is_ascii_whitespace).take(32).collect();
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            _ if head.starts_with("%pdf-") => Some(Self::Pdf),
            Some("html" | "htm" | "xhtml") => Some(Self::Html),
            Some("md" | "markdown" | "txt") => None,
            _ if head.starts_with("<!doctype html") || head.starts_with("<html") => Some(Self::Html),
            _ => None,
        }
    }

    /// `html` or `pdf`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Pdf => "pdf",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Html, Self::Pdf].into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A program that reads a file from its standard input, and writes the result of [`extract`] to its standard output, as
/// a JSON array in the last line. Its last argument is the name of the kind. It should bound its own memory.
#[derive(Clone, Debug)]
pub struct Extractor {
    program: PathBuf,
    arguments: Vec<OsString>,
    most: Duration,
}

impl Extractor {
    /// The program with these arguments, killed after a minute.
    #[must_use]
    pub fn new(program: PathBuf, arguments: Vec<OsString>) -> Self {
        Self { program, arguments, most: Duration::from_secs(60) }
    }

    /// Sets the time after which the program is killed.
    #[must_use]
    pub const fn most(mut self, most: Duration) -> Self {
        self.most = most;
        self
    }

    pub(super) fn run(&self, kind: DocumentKind, bytes: Vec<u8>) -> Result<Vec<String>, ExtractError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(kind.as_str());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(ExtractError::Process)?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // Threads read and write, since a program that reads nothing must not block this one.
        let writing = thread::spawn(move || input.map(|mut input| input.write_all(&bytes)));
        let reading = thread::spawn(move || read_all(output));
        let failing = thread::spawn(move || read_all(errors));
        let ended = self.wait(&mut child);
        drop(writing.join());
        let [output, errors] = [reading, failing].map(|thread| thread.join().unwrap_or_default());
        let ended = ended?;
        let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
        if ended == Ended::Killed {
            return Err(ExtractError::TooMuch);
        }
        let pages = (ended == Ended::Well).then(|| serde_json::from_str(&last(&output)).ok()).flatten();
        pages.ok_or_else(|| ExtractError::Failed(last(&errors).chars().take(LONGEST_CAUSE).collect()))
    }

    fn wait(&self, child: &mut Child) -> Result<Ended, ExtractError> {
        let begun = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(Ended::Well),
                // A process without an exit code was killed by a signal.
                Ok(Some(status)) => return Ok(if status.code().is_none() { Ended::Killed } else { Ended::Failed }),
                Ok(None) if begun.elapsed() < self.most => thread::sleep(Duration::from_millis(10)),
                Ok(None) => {
                    drop(child.kill());
                    drop(child.wait());
                    return Ok(Ended::Killed);
                }
                Err(error) => return Err(ExtractError::Process(error)),
            }
        }
    }
}

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Well,
    Failed,
    Killed,
}

/// Output of a process, up to [`MOST_BYTES`].
fn read_all(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        drop(from.take(MOST_BYTES).read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Text of a file: a string for each page of a PDF, and one for HTML. A hostile file may make it panic, loop or take
/// much memory, so call it in a process of its own.
///
/// # Errors
/// A description of what is wrong with the file.
#[cfg(feature = "documents")]
pub fn extract(kind: DocumentKind, bytes: &[u8]) -> Result<Vec<String>, String> {
    match kind {
        DocumentKind::Html => {
            let config = html2text::config::plain_no_decorate().link_footnotes(false).no_table_borders();
            let text = config.string_from_read(bytes, WIDTH).map_err(|error| error.to_string())?;
            Ok(vec![text])
        }
        DocumentKind::Pdf => pdf_extract::extract_text_from_mem_by_pages(bytes).map_err(|error| error.to_string()),
    }
}

/// Text of a file, which needs the feature `documents`.
///
/// # Errors
/// Always.
#[cfg(not(feature = "documents"))]
pub fn extract(kind: DocumentKind, _bytes: &[u8]) -> Result<Vec<String>, String> {
    Err(format!("this program was built without the reader of {}", kind.as_str()))
}
