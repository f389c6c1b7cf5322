//! Transcripts of a file, an archive or a directory, which are imported whole.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::{Path, PathBuf},
};

use memory::{ConversationId, port::Progress};
use memory_transcripts::{Format, Found, Item, Limits, Report, Transcript, find, find_in};

use crate::{Afterwards, Error, ImportedConversation};

/// The name of a stream in errors.
const STREAM: &str = "standard input";

/// Options of importing a path.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Format of the files; by default each is recognized.
    pub format: Option<Format>,
    /// Name of the conversation, for a file whose format has none; by default that of the file.
    pub conversation: Option<ConversationId>,
    /// True if files without a message are no error.
    pub may_be_empty: bool,
    /// Limits of reading.
    pub limits: Limits,
    /// Steps after everything was appended.
    pub afterwards: Afterwards,
}

impl Options {
    memory::setters! {
        some format: Format,
        some conversation: ConversationId,
        may_be_empty: bool,
        limits: Limits,
        afterwards: Afterwards
    }
}

/// Report of importing a path.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportReport {
    /// Conversations with at least one message, in the order in which they began.
    pub conversations: Vec<ImportedConversation>,
    /// Files by format, with the skipped parts.
    pub files: Vec<FilesRead>,
}

/// Counts of the files of a path that were read in one format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilesRead {
    /// The path.
    pub path: String,
    /// Their format; `None` for files that are no transcripts.
    pub format: Option<Format>,
    /// Number of files.
    pub files: usize,
    /// Records of the files, and skipped ones with the reasons.
    pub report: Report,
}

/// Transcripts of a path, read once as a whole, so that a fault in the last leaves nothing half-imported.
#[derive(Debug)]
pub struct TranscriptFiles {
    /// Transcripts, each with the number of its messages.
    pub(crate) transcripts: Vec<(Transcript, u64)>,
    conversations: BTreeSet<ConversationId>,
    /// Conversations named only by their file.
    by_file: Vec<(ConversationId, PathBuf)>,
    /// Titles that a file gives to conversations of others, each with a record of the conversation.
    pub(crate) titles: Vec<(String, String)>,
    read: Vec<FilesRead>,
}

impl TranscriptFiles {
    /// Finds and reads the transcripts of a file, an archive or a directory, whose links are not followed. `progress`
    /// counts messages without a total.
    ///
    /// # Errors
    /// [`Error::Unread`], [`Error::Empty`], [`Error::NamesItself`].
    pub fn read(path: &Path, options: &Options, progress: &dyn Progress) -> Result<Self, Error> {
        let found = find(path, options.format, options.limits).map_err(Error::Unread)?;
        Self::check(found, path, options, progress, false)
    }

    /// Reads the transcripts of an open file, such as the data of a pipe. `path` is for errors and names a conversation
    /// without a name; without it, [`Options::conversation`] must name that.
    ///
    /// # Errors
    /// Same as [`read`](Self::read), and [`Error::Unnamed`].
    pub fn read_stream(
        file: File,
        path: Option<&Path>,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let name = path.map_or_else(|| STREAM.to_owned(), |path| path.display().to_string());
        let found = find_in(file, &name, options.format, options.limits).map_err(Error::Unread)?;
        Self::check(found, Path::new(&name), options, progress, path.is_none())
    }

    fn check(
        found: Found,
        path: &Path,
        options: &Options,
        progress: &dyn Progress,
        is_nameless: bool,
    ) -> Result<Self, Error> {
        let Found { mut transcripts, mut others, .. } = found;
        if options.conversation.is_none() {
            name_apart(&mut transcripts, path);
        }
        let mut files = Self {
            transcripts: Vec::new(),
            conversations: BTreeSet::new(),
            by_file: Vec::new(),
            titles: Vec::new(),
            read: Vec::new(),
        };
        let mut reports: BTreeMap<&str, (Format, usize, Report)> = BTreeMap::new();
        let count = transcripts.len();
        let mut messages = 0;
        let mut failed = None;
        for transcript in transcripts {
            let names_conversations = transcript.format().names_conversations();
            let transcript = match &options.conversation {
                None if is_nameless && !names_conversations => return Err(Error::Unnamed),
                None => transcript,
                Some(_) if names_conversations || count != 1 => {
                    return Err(Error::NamesItself { path: path.to_owned() });
                }
                Some(name) => transcript.named(name.as_str()),
            };
            let (mut read, mut said) = (BTreeSet::new(), 0);
            let checked = transcript.open().and_then(|mut reader| {
                while let Some(item) = reader.read()? {
                    match item {
                        Item::Conversation(conversation) => {
                            read.insert(conversation.id);
                        }
                        Item::Said(_) => {
                            said += 1;
                            progress.report(messages + said, 0);
                        }
                        _ => {}
                    }
                }
                Ok(reader)
            });
            let mut reader = match checked {
                Ok(reader) => reader,
                // One of several files stops no other.
                Err(error) if path.is_dir() || count > 1 => {
                    others.unreadable(&error);
                    failed = failed.or(Some(error));
                    continue;
                }
                Err(error) => return Err(Error::Unread(error)),
            };
            messages += said;
            let by_file = read.iter().filter(|id| transcript.is_named_by_file(id));
            files.by_file.extend(by_file.map(|id| (id.clone(), transcript.path().to_owned())));
            files.conversations.extend(read);
            files.titles.extend(reader.titles_of_others());
            let format = transcript.format();
            let (_, count, report) = reports.entry(format.as_str()).or_insert_with(|| (format, 0, Report::default()));
            *count += 1;
            report.add(reader.report());
            files.transcripts.push((transcript, reader.report().messages));
        }
        let shown = path.display().to_string();
        let read = |(format, files, report)| FilesRead { path: shown.clone(), format: Some(format), files, report };
        files.read.extend(reports.into_values().map(read));
        if others.skipped().next().is_some() {
            files.read.push(FilesRead { path: shown.clone(), format: None, files: 0, report: others });
        }
        if messages == 0 && !options.may_be_empty {
            if let Some(error) = failed {
                return Err(Error::Unread(error));
            }
            return Err(Error::Empty { path: path.to_owned(), read: files.read });
        }
        Ok(files)
    }

    /// The conversations of the transcripts, by name.
    pub fn conversations(&self) -> impl Iterator<Item = &ConversationId> {
        self.conversations.iter()
    }

    /// The conversations named only by their file, with the file: two files may share a name by chance.
    pub fn named_by_files(&self) -> impl Iterator<Item = (&ConversationId, &Path)> {
        self.by_file.iter().map(|(id, path)| (id, path.as_path()))
    }

    /// The files by format, with the skipped parts.
    #[must_use]
    pub fn files(&self) -> &[FilesRead] {
        &self.read
    }
}

/// Names files of one name by their folders below `root`, too, or by their endings. Only the one nearest to the root is
/// named by the file.
fn name_apart(transcripts: &mut [Transcript], root: &Path) {
    let mut named: BTreeMap<ConversationId, Vec<usize>> = BTreeMap::new();
    for (at, transcript) in transcripts.iter().enumerate() {
        if let Some(name) = transcript.name_by_file() {
            named.entry(name).or_default().push(at);
        }
    }
    let path = |at: usize| transcripts.get(at).map_or(Path::new(""), Transcript::path);
    let (mut names, mut taken) = (Vec::new(), BTreeSet::new());
    for (name, mut files) in named {
        files.sort_by_key(|at| (path(*at).components().count(), path(*at).to_owned()));
        for at in files.into_iter().skip(1) {
            let folders = path(at).parent().and_then(|folder| folder.strip_prefix(root).ok()).into_iter();
            let folders = folders.flat_map(Path::components).map(|folder| folder.as_os_str().to_string_lossy());
            let parts: Vec<_> = folders.chain([name.as_str().into()]).collect();
            let (by_folder, ending) = (parts.join("-"), path(at).extension().unwrap_or_default().to_string_lossy());
            let is_free = parts.len() > 1 && taken.insert(by_folder.clone());
            names.push((at, if is_free { by_folder } else { format!("{by_folder}-{ending}") }));
        }
    }
    for (at, name) in names {
        if let Some(transcript) = transcripts.get_mut(at) {
            *transcript = transcript.clone().named(&name);
        }
    }
}
