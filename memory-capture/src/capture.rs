//! Capture of transcripts: whole files, and files that grow.
//!
//! Names of conversations and keys of messages are those of an import, so that the same file may be captured and
//! imported in any order. The next call continues an unfinished one.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use memory::{
    Config, ConversationId, Memory, OpenError, OwnerId,
    parts::{self, Parts},
    port::StoreError,
};
use memory_files::{Links, open as open_file};
use memory_transcripts::{Format, Item, Limits, Position, Reader, TranscriptError, follow};

use crate::{
    Afterwards, AgentEvent, ConversationAppender, Error, ImportNotice, ImportReport, ImportedConversation, LookUp,
    Options, Stage, Stages, TranscriptFiles,
    appender::{AppendedCounts, Appender},
    beside::beside,
    mark::{Mark, MarkFile},
    reminder,
};

/// Part of a growing transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptPart {
    /// All messages except an answer at the end that may continue.
    Settled,
    /// All messages, as if the file ended here.
    All,
}

/// News of a growing transcript.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Captured {
    /// Conversations with new messages, each with the count of them.
    pub grown: Vec<(ConversationId, usize)>,
    /// Conversation of the last message, if known.
    pub last: Option<ConversationId>,
    /// Branches that messages went to, and messages that differ from the store's under the same keys.
    pub notices: Vec<ImportNotice>,
}

/// Capture of transcripts into a store. Cheap to clone; clones share everything.
///
/// The futures read files and wait for the disk on the thread that polls them: a program with an executor polls them on
/// a thread for blocking work. The futures are `Send`.
#[derive(Clone, Debug)]
pub struct Capture {
    parts: Parts,
    /// Memory, kept open so that its background takes care of conversations that grow.
    _memory: Option<Memory>,
    /// The store's directory.
    store: PathBuf,
    owner: Option<OwnerId>,
    lock_timeout: Duration,
}

impl Capture {
    /// Captures into an open memory, which summarizes and embeds the messages of [`take`](Self::take) in the
    /// background.
    #[must_use]
    pub fn new(memory: &Memory) -> Self {
        Self { _memory: Some(memory.clone()), ..Self::with_parts(memory.parts().clone(), memory.config()) }
    }

    /// Captures into the store of parts that were opened with `config`.
    #[must_use]
    pub fn with_parts(parts: Parts, config: &Config) -> Self {
        let (store, owner) = (config.store.clone(), config.owner.clone());
        Self { parts, _memory: None, store, owner, lock_timeout: config.lock_timeout }
    }

    /// Opens a store only for [`take`](Self::take): without a model, and with the built-in strategies, since nothing is
    /// embedded or summarized.
    ///
    /// # Errors
    /// [`OpenError`]; nothing stays open then.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        let mut config = config.without_model();
        let plain = Config::new(config.store.clone(), config.access);
        (config.summarizer, config.scorer) = (plain.summarizer, plain.scorer);
        (config.manager, config.manager_settings) = (plain.manager, plain.manager_settings);
        (config.configurations, config.plugins) = (plain.configurations, plain.plugins);
        Ok(Self::with_parts(parts::open(&config)?, &config))
    }

    /// The parts of the store.
    #[must_use]
    pub const fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Imports all transcripts of a file, an archive or a directory. Messages that the store has are not appended
    /// again. All files are read before the first message is appended.
    ///
    /// # Errors
    /// [`Error::Unread`], [`Error::Empty`] and [`Error::NamesItself`] if nothing was appended; [`Error::Stopped`] if a
    /// repeated import continues.
    pub async fn import(&self, path: &Path, options: &Options, stages: &dyn Stages) -> Result<ImportReport, Error> {
        let progress = stages.begin(Stage::Reading);
        let files = TranscriptFiles::read(path, options, &*progress)?;
        drop(progress);
        let conversations = self.import_files(&files, options.afterwards, stages).await?;
        Ok(ImportReport { conversations, files: files.files().to_vec() })
    }

    /// Imports transcripts that were read before.
    ///
    /// # Errors
    /// [`Error::Stopped`]; a repeated import continues.
    pub async fn import_files(
        &self,
        files: &TranscriptFiles,
        afterwards: Afterwards,
        stages: &dyn Stages,
    ) -> Result<Vec<ImportedConversation>, Error> {
        let total = files.transcripts.iter().map(|(_, messages)| messages).sum();
        let mut appender = Appender::new(&self.parts, total, stages);
        for (transcript, messages) in &files.transcripts {
            let mut reader = transcript.open().map_err(|error| appender.stopped(error.into()))?;
            // A file that grew since its check is read no further; the next import takes the rest.
            let mut left = *messages;
            while let Some(item) = reader.read().map_err(|error| appender.stopped(error.into()))? {
                if matches!(item, Item::Said(_)) {
                    if left == 0 {
                        break;
                    }
                    left -= 1;
                }
                if let Err(error) = appender.take(item, &reader.place()).await {
                    return Err(appender.stopped(error));
                }
            }
            for (record, title) in &files.titles {
                if let Some(conversation) = reader.conversation_of(record) {
                    appender.entitle(&conversation, title);
                }
            }
        }
        appender.finish(afterwards).await
    }

    /// An appender of `total` messages of the caller's own to the conversation `id`.
    #[must_use]
    pub fn conversation<'a>(
        &self,
        id: ConversationId,
        total: usize,
        stages: &'a dyn Stages,
    ) -> ConversationAppender<'a> {
        ConversationAppender::new(&self.parts, id, total, stages)
    }

    /// Captures the rest of partly captured transcripts next to `path`, because an agent that was killed sends no last
    /// event. Returns the errors of those that failed; a transcript that cannot be read fails once, until it has
    /// changed.
    pub async fn catch_up(&self, path: &Path, format: Format) -> Vec<Error> {
        let mut failed = Vec::new();
        for other in beside(path, format).into_iter().filter(|other| self.is_left(other)) {
            if let Err(error) = self.take(&other, format, TranscriptPart::All).await {
                if error.transcript().is_some() {
                    self.pass_over(&other);
                }
                failed.push(error);
            }
        }
        failed
    }

    /// Reminder of at most `budget` tokens for the model of a session that starts: the state of the last conversation
    /// of the same directory or, after compaction, of the session itself. `session` is the last conversation that
    /// [`take`](Self::take) of its transcript returned. `None` if nothing is known, or the model sees it already.
    ///
    /// # Errors
    /// If the store or the memory fails.
    pub async fn reminder(
        &self,
        event: &AgentEvent,
        session: Option<ConversationId>,
        budget: u32,
        look_up: &(dyn Fn(&ConversationId) -> LookUp + Sync),
    ) -> Result<Option<String>, Error> {
        reminder::text(self, event, session, budget, look_up).await
    }

    /// True if a part of a transcript was captured before, but not all.
    fn is_left(&self, path: &Path) -> bool {
        let Some(mark) = self.mark_file(path).read() else { return false };
        fs::metadata(path).is_ok_and(|file| !mark.is_whole(file.len()))
    }

    /// Skips a transcript that cannot be read, until it has changed.
    fn pass_over(&self, path: &Path) {
        let file = self.mark_file(path);
        if let (Some(mark), Ok(metadata)) = (file.read(), fs::metadata(path)) {
            // The mark is a cache: without it the error is returned again.
            drop(file.write(Some(mark.whole(Some(metadata.len())))));
        }
    }

    fn mark_file(&self, path: &Path) -> MarkFile {
        MarkFile::of(&self.store, self.parts.log.file_keys(), self.owner.as_ref(), path)
    }

    /// Captures the new messages of a transcript since the last call, of any process; neither summarizes nor embeds. A
    /// missing file has none.
    ///
    /// # Errors
    /// [`Error::Transcript`] if the file cannot be read or has a format that cannot be followed, [`Error::InUse`] if
    /// another process captures it, [`Error::NotAll`] and others if the store fails. The next call continues.
    pub async fn take(&self, path: &Path, format: Format, part: TranscriptPart) -> Result<Captured, Error> {
        let size = match open_file(path, Links::Follow).and_then(|file| file.metadata()) {
            Ok(file) => file.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Captured::default()),
            Err(source) => return Err(TranscriptError::Io { path: path.to_owned(), source }.into()),
        };
        let mark_file = self.mark_file(path);
        // Two calls at once would both look up messages before either appends.
        let _lock = mark_file.lock(path, self.lock_timeout)?;
        let mark = match mark_file.read().filter(|mark| mark.format == format.as_str() && mark.fits(path)) {
            Some(mark) if self.has(&mark).await? => Some(mark),
            _ => None,
        };
        let position = mark.as_ref().map(|mark| &mark.position);
        let (closed, position) = match self.read(path, format, position, part).await {
            // A file that was shortened, or that continues a record before the position, is read from its beginning.
            Err(error) if mark.is_some() && is_rewound(&error) => self.read(path, format, None, part).await?,
            read => read?,
        };
        self.parts.log.check_place()?;
        let last = closed.grown.last().map(|(id, _)| id.clone()).or(mark.and_then(|mark| mark.conversation));
        let nodes = match &last {
            Some(id) => self.nodes(id).await?,
            None => 0,
        };
        let mark = position.and_then(|position| Mark::new(path, format, position));
        let whole = (part == TranscriptPart::All).then_some(size);
        // The mark is a cache: without it the file is read from its beginning.
        if let Err(error) = mark_file.write(mark.map(|mark| mark.stored(last.clone(), nodes).whole(whole))) {
            tracing::warn!(%error, "the place in a transcript is not kept");
        }
        Ok(Captured { grown: closed.grown, last, notices: closed.notices })
    }

    /// True if the store has the messages captured before: an earlier store may have been put back.
    async fn has(&self, mark: &Mark) -> Result<bool, Error> {
        Ok(match &mark.conversation {
            Some(id) => self.nodes(id).await? >= mark.nodes,
            None => true,
        })
    }

    async fn nodes(&self, id: &ConversationId) -> Result<u64, Error> {
        match self.parts.store.conversation(id).await {
            Ok(state) => Ok(state.nodes),
            Err(StoreError::UnknownConversation { .. }) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    async fn read(
        &self,
        path: &Path,
        format: Format,
        position: Option<&Position>,
        part: TranscriptPart,
    ) -> Result<(AppendedCounts, Option<Position>), Error> {
        let mut reader = follow(path, format, position, Limits::default())?;
        let mut appender = Appender::new(&self.parts, 0, &());
        append_all(&mut reader, &mut appender).await?;
        let position = reader.position();
        if part == TranscriptPart::All {
            reader.finish();
            append_all(&mut reader, &mut appender).await?;
        }
        let not_all = |error| Error::NotAll { path: path.to_owned(), source: Box::new(error) };
        let closed = appender.close().await.map_err(not_all)?;
        if closed.differing > 0 {
            let (messages, path) = (closed.differing, path.display());
            tracing::warn!(messages, %path, "messages differ from the stored ones with the same ids, which are kept");
        }
        // Only the beginning of the file shows which branch continues.
        let position = position.filter(|_| !closed.diverged);
        Ok((closed, position))
    }
}

async fn append_all(reader: &mut Reader, appender: &mut Appender<'_>) -> Result<(), Error> {
    while let Some(item) = reader.read()? {
        appender.take(item, &reader.place()).await?;
    }
    Ok(())
}

fn is_rewound(error: &Error) -> bool {
    matches!(error.transcript(), Some(TranscriptError::Rewound { .. }))
}

/// True if a path has the name of a transcript that may be followed.
#[must_use]
pub fn is_named_as_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Path as agents state it in their events; `~` is the home directory.
#[must_use]
pub fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
