//! The files that are watched, and what changed in them.

use std::{
    collections::HashMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    time::SystemTime,
};

use memory_files::{Links, open};
use memory_transcripts::Format;

use super::super::capture::is_named_as_transcript;

/// Levels of directories that are looked through.
const DEPTH: u32 = 12;
/// Files that are watched, at most.
const MOST: usize = 100_000;
/// Bytes of a file by which its format is recognized.
const BEGINNING: u64 = 256 << 10;

/// Transcripts below directories, by how they looked when something was last taken of them.
pub(super) struct Files {
    roots: Vec<PathBuf>,
    known: HashMap<PathBuf, Known>,
}

/// What tells a change of a file.
type Look = (u64, Option<SystemTime>);

#[derive(Default)]
struct Known {
    /// `None` until it is recognized: a file begins empty.
    format: Option<Format>,
    look: Look,
    /// Looks since it changed.
    quiet: u32,
    /// The look at which something was taken.
    taken: Option<Look>,
    /// The look at which all was taken.
    whole: Option<Look>,
}

/// A file that has something new.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) quiet: u32,
    look: Look,
}

impl Files {
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        Self { roots: roots.to_vec(), known: HashMap::new() }
    }

    /// The files that have something new, by name, and those that have been quiet for long enough that their end is one.
    pub(super) fn look(&mut self) -> Vec<Seen> {
        let mut found = Vec::new();
        for root in &self.roots {
            below(root, 0, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        // One that is gone may come back as another file.
        self.known.retain(|path, _| found.binary_search(path).is_ok());
        found.into_iter().filter_map(|path| self.changed(path)).collect()
    }

    fn changed(&mut self, path: PathBuf) -> Option<Seen> {
        let file = fs::metadata(&path).ok()?;
        let look = (file.len(), file.modified().ok());
        let known = self.known.entry(path.clone()).or_default();
        known.quiet = if known.look == look { known.quiet.saturating_add(1) } else { 0 };
        if known.format.is_none() && (known.quiet == 0 || known.taken.is_none()) {
            known.format = followed(&path);
            known.taken = Some(look).filter(|_| known.format.is_none());
        }
        known.look = look;
        let format = known.format?;
        let has_news = known.taken != Some(look) || known.quiet == super::QUIET && known.whole != Some(look);
        has_news.then_some(Seen { path, format, quiet: known.quiet, look })
    }

    /// Notes that a file was taken as it looked then.
    pub(super) fn taken(&mut self, seen: &Seen, whole: bool) {
        if let Some(known) = self.known.get_mut(&seen.path) {
            known.taken = Some(seen.look);
            if whole {
                known.whole = Some(seen.look);
            }
        }
    }
}

/// The format of a file that can be followed.
pub(super) fn followed(path: &Path) -> Option<Format> {
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
