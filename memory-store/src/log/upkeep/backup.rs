//! Backups of a store that may be written to meanwhile: all data that is durable when the backup begins.

mod bytes;
mod manifest;
mod opening;
mod restore;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use memory_core::{
    Hash, Timestamp,
    port::{Place, Progress, StoreError},
};

use super::rescue::{RescueError, make_file, write_file};
use crate::log::{
    failure::io_error,
    format::{
        scan::{Found, Scan},
        segment::{SEGMENT_HEADER, Segment, SegmentHeader, segment_name},
    },
    keys::{self, Keys, RING_FILE, SALTS_FILE},
    media::{Access, DirLock, Media, read_from},
    read::{
        directory::{Directory, FORMAT_FILE, Format, make_dir, sync_dir},
        survey::read_image,
    },
    state::damage::Damage,
    write::shared::Shared,
};
use bytes::{copy_bytes, hash};
use manifest::{Entry, FILES, MANIFEST, Manifest};
#[cfg(test)]
pub(crate) use restore::restore_on;
pub use restore::{BackupCheck, RestoreReport, backup_taken, check_backup, is_backup_encrypted, restore};

/// Result of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct BackupReport {
    /// The directory with the backup.
    #[cfg_attr(feature = "serde", serde(rename = "backup", serialize_with = "crate::reports::path"))]
    pub path: PathBuf,
    /// Files of the store that the backup holds.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were copied; the others were there already.
    pub copied: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Files that only earlier backups needed and that were removed.
    pub removed: u64,
    /// Damage of the store that was copied along unchanged.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::reports::in_words"), schemars(with = "Vec<String>"))]
    pub damage: Vec<Damage>,
}

/// Most tries, since the store may get other keys during one.
const MOST_TRIES: usize = 4;

/// The log at one point in time.
struct Snapshot {
    segments: Arc<Vec<Segment>>,
    /// End of the durable part of the last segment.
    end: u32,
    /// Known damage, which is more than the segments show if the end of the log is lost.
    damage: Vec<Damage>,
}

fn snapshot(shared: &Shared) -> Result<Snapshot, StoreError> {
    let state = shared.current()?;
    let end = state.cursor.end.offset.max(SEGMENT_HEADER);
    Ok(Snapshot { segments: Arc::clone(&state.segments), end, damage: state.damage.clone() })
}

/// Locks a directory against other backups until drop.
pub(crate) fn lock(media: &dyn Media, target: &Path) -> Result<Box<dyn DirLock>, RescueError> {
    let lock = media.dir_lock(target).map_err(io_error("lock", target))?;
    if lock.try_lock().map_err(io_error("lock", target))? {
        Ok(lock)
    } else {
        Err(RescueError::Busy { path: target.to_owned() })
    }
}

pub(crate) fn has_backup_on(media: &dyn Media, shared: &Shared, target: &Path) -> Result<bool, RescueError> {
    Ok(Manifest::read(media, target)?.is_some_and(|backup| backup.store == shared.directory.id))
}

pub(crate) fn backup_on(
    media: &dyn Media,
    shared: &Shared,
    target: &Path,
    progress: &dyn Progress,
) -> Result<BackupReport, RescueError> {
    check_target(media, target)?;
    let dir = target.join(FILES);
    make_dir(media, &dir)?;
    media.tighten(target);
    let _lock = lock(media, target)?;
    for _ in 0..MOST_TRIES {
        if let Some(report) = backup_once(media, shared, target, progress)? {
            return Ok(report);
        }
    }
    let why = "the store got other keys again and again while it was copied: try again".to_owned();
    Err(StoreError::Damaged { place: Place::from(shared.directory.path.join(RING_FILE)).offset(0), why }.into())
}

/// A backup; `None` if the store got other keys meanwhile, so that the copy may need a key that is gone.
fn backup_once(
    media: &dyn Media,
    shared: &Shared,
    target: &Path,
    progress: &dyn Progress,
) -> Result<Option<BackupReport>, RescueError> {
    let dir = target.join(FILES);
    let ring = shared.directory.keys.ring_bytes()?;
    // The snapshot is taken under the lock, so that no backup is replaced by an earlier one.
    let taken = snapshot(shared)?;
    let Snapshot { segments, end, damage } = &taken;
    let end = *end;
    let earlier = Manifest::read(media, target)?;
    if earlier.as_ref().is_some_and(|earlier| earlier.store != shared.directory.id) {
        return Err(RescueError::OtherStore { path: target.to_owned() });
    }
    let mut backup = Backup {
        media,
        dir,
        there: BTreeMap::new(),
        earlier,
        known: damage.clone(),
        entries: Vec::new(),
        report: report(target),
    };
    backup.nothing_is_missing(segments, &shared.directory.path)?;
    backup.look()?;
    let Directory { id, is_encrypted, .. } = shared.directory;
    backup.whole(FORMAT_FILE, Format { id, is_encrypted }.text().as_bytes())?;
    let lengths = lengths(segments, end).map_err(|(path, error)| io_error("read", &path)(error))?;
    let total = lengths.iter().sum();
    let mut done = 0;
    for (index, (segment, length)) in segments.iter().zip(lengths).enumerate() {
        // Bytes after the end of the log belong to no snapshot.
        let is_last = index + 1 == segments.len();
        let end = if is_last { end } else { u32::MAX };
        backup.segment(shared, segment, (length, end, is_last), &|read| progress.report(done + read, total))?;
        done += length;
    }
    if is_encrypted {
        if shared.directory.keys.ring_bytes()? != ring {
            return Ok(None);
        }
        // Salts are read last, so that those of all copied segments are there.
        let salts = read_if_there(&*shared.media, &shared.directory.path.join(SALTS_FILE))?.unwrap_or_default();
        backup.check_keys(shared, &taken, Some((&ring, &salts)))?;
        backup.whole(RING_FILE, &ring)?;
        backup.whole(SALTS_FILE, &salts)?;
    } else {
        backup.check_keys(shared, &taken, None)?;
    }
    // Damage outside all segments.
    backup.report.damage.append(&mut backup.known);
    let segment = segments.last().map_or(0, Segment::number);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let taken = Timestamp::from_millis(i64::try_from(now).unwrap_or(i64::MAX));
    let manifest = Manifest { store: shared.directory.id, taken, segment, end, files: Vec::new() };
    backup.finish(target, manifest).map(Some)
}

/// True for the path of a file that stands next to the log.
fn is_next_to_log(path: &str) -> bool {
    [FORMAT_FILE, RING_FILE, SALTS_FILE].contains(&path)
}

/// Name of a segment in a backup.
fn stored_path(segment: u32) -> String {
    format!("log/{}", segment_name(segment))
}

fn report(target: &Path) -> BackupReport {
    let path = target.to_owned();
    BackupReport { path, files: 0, bytes: 0, copied: 0, copied_bytes: 0, removed: 0, damage: Vec::new() }
}

/// The contents of a file; `None` if there is none.
fn read_if_there(media: &dyn Media, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match media.open(path, Access::Read).and_then(|file| read_from(&*file, 0)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(Some(read.map_err(io_error("read", path))?)),
    }
}

/// Bytes of each segment's file that belong to the snapshot.
fn lengths(segments: &[Segment], end: u32) -> Result<Vec<u64>, (PathBuf, io::Error)> {
    let last = segments.len().saturating_sub(1);
    let length = |(index, segment): (usize, &Segment)| {
        let size = segment.file().size().map_err(|error| (segment.path().to_owned(), error))?;
        Ok(if index == last { size.min(u64::from(end)) } else { size })
    };
    segments.iter().enumerate().map(length).collect()
}

/// Checks that a directory holds nothing but backups.
fn check_target(media: &dyn Media, target: &Path) -> Result<(), RescueError> {
    let names = match media.list(target) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error("list", target)(error).into()),
    };
    let is_ours = |name: &String| [FILES, MANIFEST].contains(&name.trim_end_matches(".tmp"));
    match names.iter().find(|name| !is_ours(name)) {
        Some(other) => Err(RescueError::NotABackup {
            path: target.to_owned(),
            why: format!("it holds `{other}`: give a directory that is empty, not there yet, or made by a backup"),
        }),
        None => Ok(()),
    }
}

struct Backup<'m> {
    media: &'m dyn Media,
    /// Directory of the files.
    dir: PathBuf,
    /// Bytes of each existing file.
    there: BTreeMap<String, u64>,
    earlier: Option<Manifest>,
    /// Damage of the store that is not in the report yet.
    known: Vec<Damage>,
    entries: Vec<Entry>,
    report: BackupReport,
}

impl Backup<'_> {
    /// Records the existing files. A file has its name only once all of it is on disk.
    fn look(&mut self) -> Result<(), RescueError> {
        for name in self.media.list(&self.dir).map_err(io_error("list", &self.dir))? {
            let path = self.dir.join(&name);
            let size = self.media.open(&path, Access::Read).and_then(|file| file.size());
            self.there.insert(name, size.map_err(io_error("read", &path))?);
        }
        Ok(())
    }

    /// Backs up a file with these contents.
    fn whole(&mut self, path: &str, contents: &[u8]) -> Result<(), RescueError> {
        let hash = Hash::from_bytes(*blake3::hash(contents).as_bytes());
        let entry = Entry { hash, bytes: contents.len() as u64, path: path.to_owned() };
        self.keep(entry, |media, dir, name| Ok(write_file(media, dir, name, contents)?))
    }

    fn segment(
        &mut self,
        shared: &Shared,
        segment: &Segment,
        (length, end, is_last): (u64, u32, bool),
        progress: &dyn Fn(u64),
    ) -> Result<(), RescueError> {
        let path = segment.path();
        let hash = hash(segment.file(), length, progress).map_err(io_error("read", path))?;
        let entry = Entry { hash, bytes: length, path: stored_path(segment.number()) };
        if !self.has(&entry) {
            let contents = image(segment, end)?;
            let found = damage(shared, segment, &contents);
            let damage = found.or_else(|| self.known.iter().find(|known| known.path == path).cloned());
            // A good copy is never replaced by a bad one. The last segment was never rewritten, and after a restart of
            // the machine nothing else shows that it has lost its end.
            let may_lose = damage.is_some() || is_last && self.is_copy_whole(&entry.path);
            if may_lose && !self.holds_no_more_than(&entry.path, segment.number(), &contents)? {
                return Err(match damage {
                    Some(Damage { path, offset, .. }) => RescueError::WouldLoseGood { path, offset },
                    None => RescueError::WouldLoseRecords { path: path.to_owned() },
                });
            }
            self.report.damage.extend(damage);
        }
        self.known.retain(|known| known.path != path);
        let (bytes, hash) = (entry.bytes, entry.hash);
        self.keep(entry, |media, dir, name| {
            make_file(media, dir, name, |copy| {
                let copied = copy_bytes(segment.file(), copy, bytes, &|_| ()).map_err(io_error("copy", path))?;
                if copied == hash {
                    return Ok(());
                }
                let why = "it was changed while it was copied: try again".to_owned();
                Err(StoreError::Damaged { place: Place::from(path).offset(0), why }.into())
            })
        })
    }

    /// The entry of the earlier backup for a file of the store, and the path of the copy.
    fn earlier_copy(&self, path: &str) -> Option<(&Entry, PathBuf)> {
        let entry = self.earlier.iter().flat_map(|earlier| &earlier.files).find(|file| file.path == path)?;
        Some((entry, self.dir.join(entry.stored())))
    }

    /// True if the copy in the earlier backup is unchanged.
    fn is_copy_whole(&self, path: &str) -> bool {
        self.earlier_copy(path).is_some_and(|(entry, copy)| {
            let hash = self.media.open(&copy, Access::Read).and_then(|file| hash(&*file, entry.bytes, &|_| ()));
            hash.is_ok_and(|hash| hash == entry.hash)
        })
    }

    /// True if `contents` begin with all that the earlier backup has of a file of the store.
    fn holds_no_more_than(&self, path: &str, segment: u32, contents: &[u8]) -> Result<bool, RescueError> {
        let Some((_, copy)) = self.earlier_copy(path) else { return Ok(true) };
        let file = match self.media.open(&copy, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            opened => opened.map_err(io_error("read", &copy))?,
        };
        Ok(contents.starts_with(&image(&Segment::new(segment, &copy, file, &Keys::default()), u32::MAX)?))
    }

    /// Refuses to begin when a file of the earlier backup is missing, since segments are never removed.
    fn nothing_is_missing(&self, segments: &[Segment], store: &Path) -> Result<(), RescueError> {
        let there: Vec<String> = segments.iter().map(|segment| stored_path(segment.number())).collect();
        let is_there = |path: &String| is_next_to_log(path) || there.contains(path);
        let earlier = self.earlier.iter().flat_map(|earlier| &earlier.files);
        match earlier.map(|file| &file.path).find(|path| !is_there(path)) {
            Some(missing) => Err(RescueError::WouldLoseRecords { path: store.join(missing) }),
            None => Ok(()),
        }
    }

    fn has(&self, entry: &Entry) -> bool {
        self.there.get(&entry.stored()) == Some(&entry.bytes)
    }

    /// Adds a file to the backup, and writes it unless it exists.
    fn keep(
        &mut self,
        entry: Entry,
        make: impl FnOnce(&dyn Media, &Path, &str) -> Result<(), RescueError>,
    ) -> Result<(), RescueError> {
        if !self.has(&entry) {
            make(self.media, &self.dir, &entry.stored())?;
            self.report.copied += 1;
            self.report.copied_bytes += entry.bytes;
        }
        self.report.files += 1;
        self.report.bytes += entry.bytes;
        self.entries.push(entry);
        Ok(())
    }

    /// Makes the new backup the current one, and removes the files that only earlier ones needed.
    fn finish(mut self, target: &Path, manifest: Manifest) -> Result<BackupReport, RescueError> {
        sync_dir(self.media, &self.dir)?;
        let manifest = Manifest { files: self.entries, ..manifest };
        write_file(self.media, target, MANIFEST, manifest.to_text().as_bytes())?;
        sync_dir(self.media, target)?;
        let needed: Vec<String> = manifest.files.iter().map(Entry::stored).collect();
        for name in self.there.keys().filter(|name| !needed.contains(name)) {
            let path = self.dir.join(name);
            if name.starts_with(SALTS_FILE) || name.starts_with(RING_FILE) {
                // Keys of what was erased since.
                keys::overwrite(self.media, &path)?;
            }
            // A leftover takes space and does no harm; the next backup tries again.
            match self.media.remove(&path) {
                Ok(()) => self.report.removed += 1,
                Err(error) => tracing::debug!(%error, name, "a file of an earlier backup cannot be removed"),
            }
        }
        Ok(self.report)
    }
}

/// The contents of a segment before `end`.
fn image(segment: &Segment, end: u32) -> Result<Vec<u8>, StoreError> {
    let mut image = read_image(segment).map_err(io_error("read", segment.path()))?;
    image.truncate(end as usize);
    Ok(image)
}

/// The first damage in the contents of a segment.
fn damage(shared: &Shared, segment: &Segment, image: &[u8]) -> Option<Damage> {
    let path = segment.path();
    let noted = |offset, bytes, why: &str| {
        let (path, why) = (path.to_owned(), why.to_owned());
        Some(Damage { path, offset, bytes, why, conversation: None })
    };
    if let Err(why) = SegmentHeader::parse(image) {
        return noted(0, u64::from(SEGMENT_HEADER), why);
    }
    Scan::new(image, shared.directory.id, segment.number(), true).find_map(|found| match found {
        Found::Damage { offset, end, why, .. } => noted(u64::from(offset), u64::from(end - offset), why),
        Found::Frame { .. } | Found::Torn { .. } => None,
    })
}
