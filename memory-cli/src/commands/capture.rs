//! Takes what is new in a transcript into the store, for hooks and watched files.
//!
//! Names of conversations and keys of messages are those of `memory import`, so that the same file may be captured and
//! imported in any order. What a call does not come to, the next one does.

mod place;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use memory::parts::Parts;
use memory_core::{ConversationId, StoreError};
use memory_files::{Links, open as open_file};
use memory_transcripts::{Format, Limits, Position, Reader, TranscriptError, follow};

use super::import::into::Into;
use crate::{Access, Config, globals::Globals, open, output::Output};
use place::{Mark, Place};

/// How much of a transcript is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All but an answer at the end that may go on.
    Settled,
    /// Everything, as if the file ended here.
    All,
}

/// What a transcript brought.
#[derive(Debug, Default)]
pub(super) struct Captured {
    /// The conversations that have new messages, and how many.
    pub(super) grown: Vec<(ConversationId, usize)>,
    /// The conversation that was last spoken in, as far as is known.
    pub(super) last: Option<ConversationId>,
}

/// What was read of a file.
struct Taken {
    grown: Vec<(ConversationId, usize)>,
    /// Where the next call goes on; `None` at its beginning.
    position: Option<Position>,
}

/// A store that transcripts are taken into.
pub(super) struct Capture {
    parts: Parts,
    config: Config,
}

impl Capture {
    /// Opens the store without a model, and without strategies of the user: nothing is summarized here.
    pub(super) fn open(globals: &Globals) -> anyhow::Result<Self> {
        Self::with(globals, Access::Write)
    }

    /// Opens a store to which nothing can be written.
    pub(super) fn open_to_read(globals: &Globals) -> anyhow::Result<Self> {
        Self::with(globals, Access::Read)
    }

    fn with(globals: &Globals, access: Access) -> anyhow::Result<Self> {
        let mut config = globals.config(access)?.without_model();
        let plain = Config::new(config.store.clone(), config.access);
        (config.summarizer, config.scorer) = (plain.summarizer, plain.scorer);
        (config.manager, config.manager_settings) = (plain.manager, plain.manager_settings);
        (config.configurations, config.plugins) = (plain.configurations, plain.plugins);
        Ok(Self { parts: open(&config)?, config })
    }

    pub(super) const fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Whether something was taken of a transcript before, but not all.
    pub(super) fn is_left(&self, path: &Path) -> bool {
        let Some(mark) = self.place(path).read() else { return false };
        fs::metadata(path).is_ok_and(|file| !mark.is_whole(file.len()))
    }

    /// Takes nothing is left in a transcript that cannot be read, until it has changed.
    pub(super) fn pass_over(&self, path: &Path) {
        let place = self.place(path);
        if let (Some(mark), Ok(file)) = (place.read(), fs::metadata(path)) {
            // It is a cache: without it the fault is told again.
            drop(place.write(Some(mark.whole(Some(file.len())))));
        }
    }

    fn place(&self, path: &Path) -> Place {
        Place::of(&self.config.store, self.config.owner.as_ref(), path)
    }

    /// Takes what is new. A file that is not there yet brings nothing.
    pub(super) async fn take(&self, path: &Path, format: Format, part: Part) -> anyhow::Result<Captured> {
        let size = match open_file(path, Links::Follow).and_then(|file| file.metadata()) {
            Ok(file) => file.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Captured::default()),
            Err(source) => return Err(TranscriptError::Io { path: path.to_owned(), source }.into()),
        };
        let place = self.place(path);
        // Two at once would both look for what is there before either appends.
        let _lock = place.lock(self.config.lock_timeout)?;
        let mark = match place.read().filter(|mark| mark.format == format.as_str() && mark.fits(path)) {
            Some(mark) if self.has(&mark).await? => Some(mark),
            _ => None,
        };
        let position = mark.as_ref().map(|mark| &mark.position);
        let read = match self.read(path, format, position, part).await {
            // A record continues one that the position knows nothing of.
            Err(error) if mark.is_some() && is_rewound(&error) => self.read(path, format, None, part).await?,
            read => read?,
        };
        self.parts.log.check_place()?;
        let last = read.grown.last().map(|(id, _)| id.clone()).or(mark.and_then(|mark| mark.conversation));
        let nodes = match &last {
            Some(id) => self.nodes(id).await?,
            None => 0,
        };
        let mark = read.position.and_then(|position| Mark::new(path, format, position));
        let whole = (part == Part::All).then_some(size);
        // It is a cache: without it the file is read from its beginning.
        if let Err(error) = place.write(mark.map(|mark| mark.stored(last.clone(), nodes).whole(whole))) {
            tracing::warn!(%error, "the place in a transcript is not kept");
        }
        Ok(Captured { grown: read.grown, last })
    }

    /// Whether the store has what was taken before: it may be an earlier one that was put back.
    async fn has(&self, mark: &Mark) -> anyhow::Result<bool> {
        Ok(match &mark.conversation {
            Some(id) => self.nodes(id).await? >= mark.nodes,
            None => true,
        })
    }

    async fn nodes(&self, id: &ConversationId) -> anyhow::Result<u64> {
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
        part: Part,
    ) -> anyhow::Result<Taken> {
        let mut reader = follow(path, format, position, Limits::default())?;
        // Nothing is told while it runs.
        let mut into = Into::new(&self.parts.memory, 0, Output { json: true });
        into_all(&mut reader, &mut into).await?;
        let position = reader.position();
        if part == Part::All {
            reader.finish();
            into_all(&mut reader, &mut into).await?;
        }
        let closed = into.close().await.with_context(|| format!("not all of {} was taken", path.display()))?;
        if closed.differing > 0 {
            let (messages, path) = (closed.differing, path.display());
            tracing::warn!(messages, %path, "messages differ from what was taken before under their ids: what is there stays");
        }
        // Which branch goes on is known from the beginning of the file alone.
        let position = position.filter(|_| !closed.diverged);
        Ok(Taken { grown: closed.grown, position })
    }
}

async fn into_all(reader: &mut Reader, into: &mut Into<'_>) -> anyhow::Result<()> {
    while let Some(item) = reader.read()? {
        into.take(item).await?;
    }
    Ok(())
}

fn is_rewound(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(TranscriptError::Rewound { .. })))
}

/// Whether a path is named as transcripts are that may be followed.
pub(super) fn is_named_as_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// A path as the programs state it; `~` is the home directory.
pub(super) fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
