//! A file that holds an export, read and checked as a whole before it is used.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
    path::Path,
};

use memory_core::{
    ConversationId, Hash, NodeDraft, NodeId, NodeRange, NoteId, Summary, SummaryId, Timestamp,
    plan::check_summary,
    port::{Event, Note},
    proof::{MerkleFrontier, canonical_bytes, leaf_hash},
};
use serde::Deserialize;

use super::{
    ExchangeError, ReadLimits, Spool, WITH_DISABLED, WITH_NOTES, WITH_OWNER,
    line::{BEGINNING, Closing, Header, NodeLine, NoteLine, SummaryLine, Version},
};
use crate::log::{check_event, check_message};

/// An export that was read from its first line to its closing one: it is complete, its messages give its root, and a
/// log can hold all of it.
///
/// Reading holds one line at a time, 16 bytes for each message with a key, and the span of each summary.
#[derive(Debug)]
pub struct ExportFile {
    name: String,
    file: File,
    header: Header,
    /// True if each message is a note, as versions without notes kept them.
    has_notes_as_messages: bool,
    longest_line: u64,
}

impl ExportFile {
    /// True if a file begins as an export does; `false` for a directory.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn recognizes(path: &Path) -> Result<bool, ExchangeError> {
        if path.is_dir() {
            return Ok(false);
        }
        let name = path.display().to_string();
        let mut beginning = Vec::new();
        let file = File::open(path).map_err(read_error(&name))?;
        file.take(BEGINNING.len() as u64).read_to_end(&mut beginning).map_err(read_error(&name))?;
        Ok(beginning == BEGINNING.as_bytes())
    }

    /// Opens a file and checks all of it.
    ///
    /// # Errors
    /// [`ExchangeError`] with the place and the cause.
    pub fn open(path: &Path, limits: ReadLimits) -> Result<Self, ExchangeError> {
        let name = path.display().to_string();
        let mut file = File::open(path).map_err(read_error(&name))?;
        if !file.metadata().map_err(read_error(&name))?.is_file() {
            return Self::spool(&name, &mut file, limits);
        }
        let (header, has_notes_as_messages) = check(&name, &mut file, limits.line)?;
        Ok(Self { header, has_notes_as_messages, name, file, longest_line: limits.line })
    }

    /// Checks an export that comes through a pipe. It is read more than once, so it is kept in a temporary file; a
    /// fault ends that at once. `name` stands for it in errors.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn spool(name: &str, from: &mut dyn Read, limits: ReadLimits) -> Result<Self, ExchangeError> {
        let mut spool = Spool::new(from, limits.stream).map_err(read_error(name))?;
        let (header, has_notes_as_messages) = check(name, &mut spool, limits.line)?;
        let file = spool.into_file().map_err(read_error(name))?;
        Ok(Self { header, has_notes_as_messages, name: name.to_owned(), file, longest_line: limits.line })
    }

    /// Name of its file, for errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The conversation that was exported.
    #[must_use]
    pub fn conversation(&self) -> &ConversationId {
        &self.header.conversation
    }

    /// Number of its messages.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.header.nodes
    }

    /// The Merkle root over its messages.
    #[must_use]
    pub fn root(&self) -> Hash {
        self.header.root
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn has_notes_as_messages(&self) -> bool {
        self.has_notes_as_messages
    }

    /// Its lines after the header.
    pub(super) fn lines(&mut self) -> Result<Lines<'_>, ExchangeError> {
        self.file.rewind().map_err(read_error(&self.name))?;
        let mut lines = Lines::new(&self.name, &mut self.file, self.longest_line);
        lines.header()?;
        Ok(lines)
    }
}

/// Checks all of an export; returns its header, and true if its messages are notes.
fn check(name: &str, from: &mut dyn Read, longest_line: u64) -> Result<(Header, bool), ExchangeError> {
    let mut lines = Lines::new(name, from, longest_line);
    let header = lines.header()?;
    check_labels(&lines, &header)?;
    let are_notes = check_nodes(&mut lines, &header)?;
    check_summaries(&mut lines, &header)?;
    for number in 1..=header.notes {
        let (note, _) = lines.note(number)?;
        if note.sources.iter().any(|run| run.last().get() > header.nodes) {
            return Err(lines.fault(format!("note {number} has a source that is not there")));
        }
        check_event(&Event::Note(Box::new(note))).map_err(|why| lines.fault(why))?;
    }
    lines.closing(header.root)?;
    Ok((header, are_notes))
}

fn check_labels(lines: &Lines<'_>, header: &Header) -> Result<(), ExchangeError> {
    let fits = |what: &str, event: Event| {
        check_event(&event).map_err(|why| lines.fault(format!("its {what} cannot be recorded: {why}")))
    };
    fits("tags", Event::Tags(header.tags.clone()))?;
    header.title.clone().map_or(Ok(()), |title| fits("title", Event::Title(title)))
}

/// Checks the messages; returns true if each of them is a note.
fn check_nodes(lines: &mut Lines<'_>, header: &Header) -> Result<bool, ExchangeError> {
    let mut are_notes = header.has_notes_as_messages();
    let mut frontier = MerkleFrontier::new();
    // Half a hash each: enough to distinguish keys, even ones chosen to collide.
    let mut keys: HashSet<Option<[u8; 16]>> = HashSet::new();
    while frontier.len() < header.nodes {
        let Entry { draft, leaf, .. } = lines.node(frontier.len() + 1)?;
        if let Some(key) = &draft.message.key
            && !keys.insert(blake3::hash(key.as_str().as_bytes()).as_bytes().first_chunk().copied())
        {
            return Err(lines.fault(format!("another message has the key `{key}`, too")));
        }
        are_notes &= Note::of_message(NoteId::FIRST, &draft.message, draft.at).is_some();
        check_message(draft, leaf).map_err(|why| lines.fault(why))?;
        frontier.push(leaf);
    }
    if frontier.root() == header.root {
        return Ok(are_notes);
    }
    let why = format!("its messages give the root {}, its header names {}", frontier.root(), header.root);
    Err(lines.altered(why))
}

fn check_summaries(lines: &mut Lines<'_>, header: &Header) -> Result<(), ExchangeError> {
    let mut spans: HashMap<SummaryId, NodeRange> = HashMap::new();
    let mut last = None;
    for number in 1..=header.summaries {
        let (Summary { id, body, .. }, _) = lines.summary(number, header.summaries)?;
        if Some(id) <= last {
            return Err(lines.fault(format!("summary {id} stands after one with the same or a higher number")));
        }
        // Children that the exporting store had lost are missing here, too; the import skips what was made from them.
        if body.children.iter().all(|child| spans.contains_key(child)) {
            check_summary(&body, header.nodes, |child| spans.get(&child).copied()).map_err(|why| lines.fault(why))?;
        }
        let span = body.span;
        check_event(&Event::Summary(body)).map_err(|why| lines.fault(why))?;
        spans.insert(id, span);
        last = Some(id);
    }
    Ok(())
}

/// A message on its way from a file into a store.
#[derive(Debug)]
pub(super) struct Entry {
    /// With its salt.
    pub(super) draft: NodeDraft,
    pub(super) pinned: bool,
    /// Time from which the message is disabled.
    pub(super) disabled: Option<Timestamp>,
    pub(super) leaf: Hash,
    /// Bytes of its line.
    pub(super) bytes: usize,
}

/// The lines of an export in order, hashed as they come.
pub(super) struct Lines<'f> {
    name: &'f str,
    input: BufReader<&'f mut dyn Read>,
    longest: u64,
    /// The line that was read last.
    line: Vec<u8>,
    number: u64,
    /// Over all lines before that one.
    digest: blake3::Hasher,
}

impl<'f> Lines<'f> {
    fn new(name: &'f str, from: &'f mut dyn Read, longest: u64) -> Self {
        let input = BufReader::with_capacity(128 << 10, from);
        Self { name, input, longest, line: Vec::new(), number: 0, digest: blake3::Hasher::new() }
    }

    fn header(&mut self) -> Result<Header, ExchangeError> {
        self.advance()?;
        let version = self.parse::<Version>("the header of an export")?.memory_export;
        if version > WITH_DISABLED {
            let file = self.name.to_owned();
            return Err(ExchangeError::NewerFormat { file, found: version, supported: WITH_DISABLED });
        }
        let header: Header = self.parse("the header of an export")?;
        if !header.fits_version() {
            let why =
                format!("an owner stands in format {WITH_OWNER} and later, notes in format {WITH_NOTES} and later");
            return Err(self.fault(why));
        }
        Ok(header)
    }

    /// Leaves lines out.
    pub(super) fn skip(&mut self, lines: u64) -> Result<(), ExchangeError> {
        (0..lines).try_for_each(|_| self.advance())
    }

    /// The next line, which must be that of this node.
    pub(super) fn node(&mut self, number: u64) -> Result<Entry, ExchangeError> {
        self.advance()?;
        let node = NodeId::new(number).ok_or_else(|| self.fault("nodes are numbered from 1".to_owned()))?;
        let line: NodeLine<'_> = self.parse(&format!("node {node}"))?;
        let disabled = line.disabled();
        let (draft, pinned) = line.into_draft(node).map_err(|why| self.fault(why))?;
        let hashed = || leaf_hash(&draft.salt.unwrap_or_default(), &canonical_bytes(&draft.message, draft.at));
        let leaf = draft.erased.map_or_else(hashed, |erased| erased.leaf);
        Ok(Entry { draft, pinned, disabled, leaf, bytes: self.line.len() })
    }

    /// The next line, which must be a summary, the `number`th of `of`; and its bytes.
    pub(super) fn summary(&mut self, number: u64, of: u64) -> Result<(Summary, usize), ExchangeError> {
        self.advance()?;
        let line: SummaryLine<'_> = self.parse(&format!("summary {number} of {of}"))?;
        let summary = line.into_summary().map_err(|why| self.fault(why))?;
        Ok((summary, self.line.len()))
    }

    /// The next line, which must be this note of the file; and its bytes.
    pub(super) fn note(&mut self, number: u64) -> Result<(Note, usize), ExchangeError> {
        self.advance()?;
        let line: NoteLine<'_> = self.parse(&format!("note {number}"))?;
        let note = line.into_note(NoteId::after(number - 1)).map_err(|why| self.fault(why))?;
        Ok((note, self.line.len()))
    }

    /// The next line, which must be the closing one, and nothing after it.
    fn closing(&mut self, root: Hash) -> Result<(), ExchangeError> {
        let lines = self.number;
        self.advance()?;
        let digest = Hash::from_bytes(*self.digest.finalize().as_bytes());
        let mut expected =
            serde_json::to_vec(&Closing::new(lines, root, digest)).map_err(|error| self.fault(error.to_string()))?;
        expected.push(b'\n');
        if self.line != expected {
            return Err(self.altered("its closing line does not fit the lines before it".to_owned()));
        }
        match self.input.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(self.altered("something stands after its closing line".to_owned())),
            Err(error) => Err(read_error(self.name)(error)),
        }
    }

    /// Reads the next line; a file without one was cut short.
    fn advance(&mut self) -> Result<(), ExchangeError> {
        self.digest.update(&self.line);
        self.line.clear();
        let read = (&mut self.input).take(self.longest).read_until(b'\n', &mut self.line);
        let read = read.map_err(read_error(self.name))? as u64;
        if self.line.ends_with(b"\n") {
            self.number += 1;
            return Ok(());
        }
        if read < self.longest {
            return Err(ExchangeError::Cut { file: self.name.to_owned(), lines: self.number });
        }
        self.number += 1;
        Err(ExchangeError::LongLine { file: self.name.to_owned(), line: self.number, most: self.longest })
    }

    fn parse<'a, T: Deserialize<'a>>(&'a self, what: &str) -> Result<T, ExchangeError> {
        let text = str::from_utf8(&self.line).map_err(|_| self.fault("not UTF-8".to_owned()))?;
        serde_json::from_str(text).map_err(|error| {
            let why = error.to_string();
            // The parser's position is within the line, so only its column is useful.
            let why = why.split(" at line ").next().unwrap_or_default();
            self.fault(format!("expected {what}: {why} at column {}", error.column()))
        })
    }

    fn fault(&self, why: String) -> ExchangeError {
        ExchangeError::Line { file: self.name.to_owned(), line: self.number, why }
    }

    fn altered(&self, why: String) -> ExchangeError {
        ExchangeError::Altered { file: self.name.to_owned(), why }
    }
}

fn read_error(name: &str) -> impl Fn(io::Error) -> ExchangeError {
    move |source| ExchangeError::Read { file: name.to_owned(), source }
}
