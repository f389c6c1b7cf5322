//! The mark of a transcript's captured part: a file in the store's cache, which may be lost.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use memory::{ConversationId, OwnerId, parts::Hash};
use memory_files::{DataFile, Links, create_dir_all, open, open_with, options, seal::KeySet};
use memory_transcripts::{Format, Position};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Bytes before the position that identify the file.
const BEFORE: u64 = 4096;
/// Most bytes of a mark: its state grows with the branches of a session.
const LARGEST: u64 = 16 << 20;
/// Time between looks at another process's lock.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// File with the mark of a transcript.
pub(crate) struct MarkFile {
    directory: PathBuf,
    name: String,
    /// Keys of the store.
    keys: KeySet,
}

/// Position up to which a transcript was captured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) format: String,
    pub(crate) position: Position,
    /// Hash of the bytes before the position; a replaced file has others.
    before: String,
    /// Conversation of the last message, and the least number of its messages.
    pub(crate) conversation: Option<ConversationId>,
    pub(crate) nodes: u64,
    /// Bytes of the file, all of which were captured; `None` if an answer at its end may continue.
    whole: Option<u64>,
}

impl Mark {
    pub(crate) fn new(path: &Path, format: Format, position: Position) -> Option<Self> {
        let before = before(path, position.offset)?;
        let format = format.as_str().to_owned();
        Some(Self { format, position, before, conversation: None, nodes: 0, whole: None })
    }

    /// True if all of a file of that size was captured.
    pub(crate) fn is_whole(&self, size: u64) -> bool {
        self.whole == Some(size)
    }

    /// True if the file has the same bytes before the position.
    pub(crate) fn fits(&self, path: &Path) -> bool {
        before(path, self.position.offset).is_some_and(|before| before == self.before)
    }

    /// Sets the conversation of the last message, and its number of messages.
    pub(crate) fn stored(mut self, conversation: Option<ConversationId>, nodes: u64) -> Self {
        (self.conversation, self.nodes) = (conversation, nodes);
        self
    }

    /// Sets the bytes of the file, all of which were captured.
    pub(crate) const fn whole(mut self, whole: Option<u64>) -> Self {
        self.whole = whole;
        self
    }
}

fn before(path: &Path, offset: u64) -> Option<String> {
    let mut file = open(path, Links::Follow).ok()?;
    let bytes = offset.min(BEFORE);
    file.seek(SeekFrom::Start(offset - bytes)).ok()?;
    let mut read = Vec::new();
    file.take(bytes).read_to_end(&mut read).ok()?;
    (read.len() as u64 == bytes).then(|| Hash::of_parts([read.as_slice()]).to_string())
}

impl MarkFile {
    pub(crate) fn of(store: &Path, keys: KeySet, owner: Option<&OwnerId>, path: &Path) -> Self {
        // One file has one mark, by whatever path.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let owner = owner.map(OwnerId::as_str).unwrap_or_default();
        let name = Hash::of_parts([path.as_os_str().as_encoded_bytes(), owner.as_bytes()]).to_string();
        Self { directory: store.join("cache").join("capture"), name, keys }
    }

    fn file(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.name))
    }

    /// The mark, if one can be read.
    pub(crate) fn read(&self) -> Option<Mark> {
        let bytes =
            DataFile::open(&self.file(), Links::Refuse, &self.keys).and_then(|file| file.read_all(LARGEST)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps a mark; `None` makes the next call read the file from its beginning.
    pub(crate) fn write(&self, mark: Option<Mark>) -> io::Result<()> {
        let Some(mark) = mark else {
            return match fs::remove_file(self.file()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        };
        let file = tempfile::NamedTempFile::new_in(&self.directory)?;
        DataFile::create(file.reopen()?, &self.keys)?.write_all_at(&serde_json::to_vec(&mark)?, 0)?;
        file.persist(self.file())?;
        Ok(())
    }

    /// Waits until no other process captures the same transcript. A process that ends releases the lock, however it
    /// ends.
    pub(crate) fn lock(&self, transcript: &Path, patience: Duration) -> Result<File, Error> {
        let path = self.directory.join(format!("{}.lock", self.name));
        let failed = |source| Error::Lock { path: path.clone(), source };
        create_dir_all(&self.directory).map_err(failed)?;
        let file =
            open_with(options().write(true).create(true).truncate(false), &path, Links::Refuse).map_err(failed)?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(BETWEEN_LOOKS),
                Err(TryLockError::WouldBlock) => return Err(Error::InUse { path: transcript.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}
