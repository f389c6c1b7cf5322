//! Transcripts below directories that are watched while they grow.

use std::{
    collections::HashMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    time::SystemTime,
};

use memory_files::{Links, open};
use memory_transcripts::Format;

use crate::{TranscriptPart, is_named_as_transcript};

/// Most levels of directories that are looked through.
const DEPTH: u32 = 12;
/// Most files that are watched.
const MOST: usize = 100_000;
/// Bytes at the beginning of a file that determine its format.
const BEGINNING: u64 = 256 << 10;

/// Looks without a change after which an answer counts as complete.
const QUIET: u32 = 5;

/// Transcripts below directories, with their looks at the last capture.
///
/// Each call of [`look`](Self::look) is one look; a program chooses the interval, such as a second. Links in
/// directories are not followed.
#[derive(Debug)]
pub struct WatchedFiles {
    roots: Vec<PathBuf>,
    known: HashMap<PathBuf, KnownFile>,
}

/// Size and time of a file, which show a change.
type FileState = (u64, Option<SystemTime>);

#[derive(Debug, Default)]
struct KnownFile {
    /// Format; `None` until it is recognized: a file begins empty.
    format: Option<Format>,
    look: FileState,
    /// Number of looks since the last change.
    quiet: u32,
    /// Look at the last capture.
    taken: Option<FileState>,
    /// Look at the last capture of the whole file.
    whole: Option<FileState>,
}

/// A file with new messages, or one that has been quiet for so long that its last answer counts as complete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Format of the file, by its beginning.
    pub format: Format,
    quiet: u32,
    look: FileState,
}

impl ChangedFile {
    /// Part of the file to capture: all of it once it has been quiet for five looks.
    #[must_use]
    pub const fn part(&self) -> TranscriptPart {
        if self.quiet >= QUIET { TranscriptPart::All } else { TranscriptPart::Settled }
    }
}

impl WatchedFiles {
    /// Watches `roots`, directories and single files, which need not exist.
    #[must_use]
    pub fn new(roots: &[PathBuf]) -> Self {
        Self { roots: roots.to_vec(), known: HashMap::new() }
    }

    /// Looks at all files, and returns those with new messages, by name. A file is returned again until it was
    /// [taken](Self::taken).
    pub fn look(&mut self) -> Vec<ChangedFile> {
        let mut found = Vec::new();
        for root in &self.roots {
            below(root, 0, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        // A file that is gone may come back as another one.
        self.known.retain(|path, _| found.binary_search(path).is_ok());
        found.into_iter().filter_map(|path| self.changed(path)).collect()
    }

    fn changed(&mut self, path: PathBuf) -> Option<ChangedFile> {
        let file = fs::metadata(&path).ok()?;
        let look = (file.len(), file.modified().ok());
        let known = self.known.entry(path.clone()).or_default();
        known.quiet = if known.look == look { known.quiet.saturating_add(1) } else { 0 };
        if known.format.is_none() && (known.quiet == 0 || known.taken.is_none()) {
            known.format = followed_format(&path);
            known.taken = Some(look).filter(|_| known.format.is_none());
        }
        known.look = look;
        let format = known.format?;
        let has_news = known.taken != Some(look) || known.quiet == QUIET && known.whole != Some(look);
        has_news.then_some(ChangedFile { path, format, quiet: known.quiet, look })
    }

    /// Notes that a file was captured with this look. A failed file is noted with [`TranscriptPart::All`]: it is
    /// returned again after its next change.
    pub fn taken(&mut self, changed: &ChangedFile, part: TranscriptPart) {
        if let Some(known) = self.known.get_mut(&changed.path) {
            known.taken = Some(changed.look);
            if part == TranscriptPart::All {
                known.whole = Some(changed.look);
            }
        }
    }
}

/// Format of a file by its beginning, if it can be followed while it grows.
#[must_use]
pub fn followed_format(path: &Path) -> Option<Format> {
    let mut begin = Vec::new();
    open(path, Links::Follow).ok()?.take(BEGINNING).read_to_end(&mut begin).ok()?;
    Format::of_beginning(&begin).filter(|format| format.can_be_followed())
}

/// The transcripts of a directory, or the file itself.
fn below(path: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(path) else {
        if depth == 0 && path.is_file() {
            found.push(path.to_owned());
        }
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && depth < DEPTH {
            below(&path, depth + 1, found);
        } else if kind.is_file() && is_named_as_transcript(&path) && found.len() < MOST {
            found.push(path);
        }
    }
}
