//! The manifest of a backup: its files, with the BLAKE3 hash of each.

use std::{fmt::Write, io, path::Path};

use memory_core::{Hash, Timestamp};

use super::bytes::read_small;
use crate::log::{
    failure::io_error,
    format::{frame::StoreId, segment::segment_number},
    media::{Access, Media},
    read::directory::{id_text, parse_id},
    upkeep::backup::is_next_to_log,
    upkeep::rescue::RescueError,
};

pub(super) const MANIFEST: &str = "MANIFEST";
/// The directory of the files.
pub(super) const FILES: &str = "files";
const MAGIC: &str = "memory-backup";
const FORMAT: &str = "format 1";
/// Longest manifest that is read: a hundred bytes for each of a hundred thousand segments and more.
const MOST_BYTES: u64 = 16 << 20;

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) hash: Hash,
    pub(super) bytes: u64,
    /// Path in the store: `FORMAT` or `log/0001.seg`.
    pub(super) path: String,
}

impl Entry {
    /// Name among the files of the backup, which identifies the contents.
    pub(super) fn stored(&self) -> String {
        let name = self.path.strip_prefix("log/").unwrap_or(&self.path);
        let (stem, suffix) = name.split_once('.').map_or((name, ""), |(stem, _)| (stem, ".seg"));
        let digest: String = self.hash.to_string().chars().take(16).collect();
        format!("{stem}-{digest}{suffix}")
    }
}

/// A complete backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) store: StoreId,
    pub(super) taken: Timestamp,
    /// End of the log: the last segment, and the offset in it.
    pub(super) segment: u32,
    pub(super) end: u32,
    pub(super) files: Vec<Entry>,
}

impl Manifest {
    /// The manifest of the backup in `target`; `None` when there is none yet.
    pub(super) fn read(media: &dyn Media, target: &Path) -> Result<Option<Self>, RescueError> {
        let path = target.join(MANIFEST);
        let bytes = match media.open(&path, Access::Read) {
            Ok(file) => read_small(&*file, MOST_BYTES).map_err(io_error("read", &path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("read", &path)(error).into()),
        };
        let parsed = std::str::from_utf8(&bytes).map_err(|_| "is not text").and_then(Self::parse);
        let damaged = |why: &str| RescueError::DamagedBackup {
            path: path.clone(),
            why: format!("{why}: without it, a new backup to this directory copies what is missing"),
        };
        parsed.map(Some).map_err(damaged)
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{MAGIC}\n{FORMAT}\nid {}\ntaken {}\n", id_text(self.store), self.taken);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "position {} {}", self.segment, self.end);
        for Entry { hash, bytes, path } in &self.files {
            let _ = writeln!(text, "file {hash} {bytes} {path}");
        }
        let digest = blake3::hash(text.as_bytes()).to_hex();
        text + "blake3 " + &digest + "\n"
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let cut = "is cut short";
        let (said, digest) = text.strip_suffix('\n').and_then(|text| text.rsplit_once('\n')).ok_or(cut)?;
        let said = text.get(..said.len() + 1).ok_or(cut)?;
        let mut lines = said.lines();
        if lines.next() != Some(MAGIC) {
            return Err("is the file of something else");
        }
        if lines.next() != Some(FORMAT) {
            return Err("has a format that this version does not know");
        }
        if digest.strip_prefix("blake3 ") != Some(blake3::hash(said.as_bytes()).to_hex().as_str()) {
            return Err("is not what was written: its hash does not match");
        }
        let unknown = "has a line that this version does not know";
        let mut field = |name: &str| lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let store = field("id").and_then(parse_id).ok_or(unknown)?;
        let taken = field("taken").and_then(|time| time.parse().ok()).ok_or(unknown)?;
        let (segment, end) = field("position").and_then(|position| position.split_once(' ')).ok_or(unknown)?;
        let (segment, end) = (segment.parse().map_err(|_| unknown)?, end.parse().map_err(|_| unknown)?);
        let files: Option<Vec<Entry>> = lines.map(entry).collect();
        let files = files.ok_or(unknown)?;
        Ok(Self { store, taken, segment, end, files })
    }
}

fn entry(line: &str) -> Option<Entry> {
    let mut words = line.strip_prefix("file ")?.splitn(3, ' ');
    let (hash, bytes, path) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?);
    // No other path is ever restored from a backup, whatever its manifest lists.
    let is_ours = is_next_to_log(path) || path.strip_prefix("log/").and_then(segment_number).is_some();
    is_ours.then(|| Entry { hash, bytes, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let entry = |path: &str, bytes| Entry { hash: Hash::of_parts([path.as_bytes()]), bytes, path: path.to_owned() };
        Manifest {
            store: [0xAB; 16],
            taken: Timestamp::from_millis(1_772_442_840_000),
            segment: 2,
            end: 4_711,
            files: vec![entry("FORMAT", 76), entry("log/0001.seg", 70_000), entry("log/0002.seg", 4_711)],
        }
    }

    #[test]
    fn a_manifest_of_format_1_never_changes() {
        let text = "memory-backup\nformat 1\nid abababababababababababababababab\ntaken 2026-03-02T09:14:00Z\n\
                    position 2 4711\n";
        let written = manifest().to_text();
        assert!(written.starts_with(text), "{written}");
        let file = written.lines().nth(6).unwrap();
        assert_eq!((file.len(), file.split(' ').nth(3)), (5 + 64 + 7 + 12, Some("log/0001.seg")), "{file}");
        assert_eq!(Manifest::parse(&written), Ok(manifest()));
        let stored: Vec<_> = manifest().files.iter().map(Entry::stored).collect();
        assert!(stored[0].starts_with("FORMAT-") && stored[1].starts_with("0001-") && stored[1].ends_with(".seg"));
    }

    #[test]
    fn a_changed_manifest_is_refused() {
        let text = manifest().to_text();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes) {
                assert!(Manifest::parse(&changed).is_err(), "byte {at}");
            }
            assert!(Manifest::parse(&text[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn no_path_leads_out_of_the_store() {
        for path in ["log/../../x.seg", "/etc/passwd", "log/0001.seg/x", "LOCK", "log/1.seg", "../FORMAT", ""] {
            let mut manifest = manifest();
            manifest.files[0].path = path.to_owned();
            assert!(Manifest::parse(&manifest.to_text()).is_err(), "{path}");
        }
    }
}
