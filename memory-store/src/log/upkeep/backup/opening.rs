//! Checks that the keys of a store or of a backup open its frames.

use std::path::{Path, PathBuf};

use memory_core::port::StoreError;

use super::{
    Backup, Snapshot, image, is_next_to_log,
    manifest::{Entry, Manifest},
    read_if_there, stored_path,
};
use crate::log::{
    failure::io_error,
    format::{
        frame::{StoreId, records},
        scan::{Found, Scan},
        segment::{Segment, segment_number},
    },
    keys::{self, Keys, MasterKey, RING_FILE, SALTS_FILE, epoch_of, has_salt, slot_of},
    media::{Access, Media},
    read::directory::{FORMAT_FILE, Format},
    state::damage::Damage,
    upkeep::rescue::RescueError,
    write::{owned::of_before, shared::Shared},
};

/// Frames of a log that do not open.
#[derive(Debug, Default)]
pub(super) struct Closed {
    pub(super) frames: u64,
    /// The segment and the offset of the first, and the reason.
    pub(super) first: Option<(u32, u32, &'static str)>,
}

impl Closed {
    /// Looks at a segment. `fault` is the reason why the body of a record does not open, if it does not.
    fn look(
        &mut self,
        store: StoreId,
        (segment, image): (u32, &[u8]),
        fault: impl Fn(Found<'_>) -> Option<&'static str>,
    ) {
        for found in Scan::new(image, store, segment, true) {
            let Found::Frame { offset, .. } = found else { continue };
            if let Some(why) = fault(found) {
                self.frames += 1;
                self.first.get_or_insert((segment, offset, why));
            }
        }
    }

    /// Looks for records that these keys do not open.
    fn open(&mut self, store: StoreId, segment: (u32, &[u8]), keys: &Keys) {
        self.look(store, segment, |found| {
            let Found::Frame { header, payload, .. } = found else { return None };
            keys.records(&header, payload).find_map(Result::err)
        });
    }

    /// Looks for records without a salt, or without a key of their epoch, which needs no key.
    fn find(&mut self, store: StoreId, segment: (u32, &[u8]), epochs: &[u32], salts: &[u8]) {
        let fault = |body: &[u8]| {
            let slot = slot_of(body);
            if !epochs.contains(&epoch_of(body)?) {
                return Some("its key is not in KEYRING");
            }
            (slot > 0 && !has_salt(salts, slot)).then_some("its salt is not in SALTS")
        };
        self.look(store, segment, |found| {
            let Found::Frame { payload, .. } = found else { return None };
            records(payload).flatten().find_map(|(_, body)| fault(body))
        });
    }
}

/// The reason in words.
impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some((segment, offset, why)) = self.first else { return Ok(()) };
        let path = stored_path(segment);
        write!(f, "does not open {} frames of the log, the first in {path} at byte {offset}: {why}", self.frames)
    }
}

impl Backup<'_> {
    /// Checks that the files of keys, as they are copied, open the frames that are copied. A backup that opens more is
    /// never replaced.
    pub(super) fn check_keys(
        &mut self,
        shared: &Shared,
        Snapshot { segments, end, .. }: &Snapshot,
        keys: Option<(&[u8], &[u8])>,
    ) -> Result<(), RescueError> {
        let (dir, store) = (&shared.directory.path, shared.directory.id);
        let may_need_keys = keys.is_some() || self.earlier_copy(RING_FILE).is_some();
        if !may_need_keys && !keys::is_there(&*shared.media, dir)? {
            return Ok(());
        }
        let lost = |name: &str, why: String| RescueError::WouldLoseKeys { path: dir.join(name), why };
        let opened =
            keys.map_or_else(|| Ok(Keys::default()), |(ring, salts)| shared.directory.keys.of_copies(ring, salts));
        let opened = match opened {
            Err(error) if self.earlier_copy(RING_FILE).is_some() => {
                return Err(lost(RING_FILE, format!("does not open ({error})")));
            }
            opened => opened?,
        };
        let mut closed = Closed::default();
        for (index, segment) in segments.iter().enumerate() {
            let end = if index + 1 == segments.len() { *end } else { u32::MAX };
            closed.open(store, (segment.number(), &image(segment, end)?), &opened);
        }
        if closed.frames == 0 {
            return Ok(());
        }
        let name = if keys.is_some() { SALTS_FILE } else { FORMAT_FILE };
        if self.earlier.is_some() && closed.frames > self.closed_before(shared)? {
            return Err(lost(name, closed.to_string()));
        }
        if keys.is_none() {
            return Err(of_before(dir).into());
        }
        self.report.damage.push(Damage {
            path: dir.join(name),
            offset: 0,
            bytes: 0,
            why: closed.to_string(),
            conversation: None,
        });
        Ok(())
    }

    /// Frames of the earlier backup that its own keys do not open.
    fn closed_before(&self, shared: &Shared) -> Result<u64, RescueError> {
        let Some(earlier) = &self.earlier else { return Ok(0) };
        let [ring, salts] = [RING_FILE, SALTS_FILE].map(|name| contents(self.media, &self.dir, earlier, name));
        let keys = match (ring?, salts?) {
            (None, _) => Keys::default(),
            (Some(ring), salts) => match shared.directory.keys.of_copies(&ring, &salts.unwrap_or_default()) {
                // The keys of the backup are locked by another master key, which opens all of it.
                Err(StoreError::Key { .. }) => return Ok(0),
                Err(StoreError::Damaged { .. }) => return Ok(u64::MAX),
                opened => opened?,
            },
        };
        let mut closed = Closed::default();
        for (number, image) in segments(self.media, &self.dir, earlier) {
            closed.open(earlier.store, (number, &image?), &keys);
        }
        Ok(closed.frames)
    }
}

/// A file of a backup that does not open, and the reason. With the key every record is opened; without it every record
/// must have a salt and a key of its epoch.
pub(super) fn fault(
    media: &dyn Media,
    dir: &Path,
    manifest: &Manifest,
    key: Option<&MasterKey>,
) -> Result<Option<(PathBuf, String)>, RescueError> {
    let store = manifest.store;
    let read = |name| contents(media, dir, manifest, name);
    let is_encrypted =
        read(FORMAT_FILE)?.is_some_and(|text| text == Format { id: store, is_encrypted: true }.text().as_bytes());
    let (ring, salts) = (read(RING_FILE)?.unwrap_or_default(), read(SALTS_FILE)?.unwrap_or_default());
    let copies = keys::in_memory(dir, &ring, &salts)?;
    let name = if is_encrypted { SALTS_FILE } else { FORMAT_FILE };
    let mut closed = Closed::default();
    let (keys, epochs) = match key {
        _ if !is_encrypted => (Keys::default(), None),
        Some(_) => (Keys::open(&copies, dir, store, key)?, None),
        None => (Keys::default(), Some(keys::epochs(&*copies, dir, store)?)),
    };
    for (number, image) in segments(media, dir, manifest) {
        let image = image?;
        match &epochs {
            Some(epochs) => closed.find(store, (number, &image), epochs, &salts),
            None => closed.open(store, (number, &image), &keys),
        }
    }
    let stored = manifest.files.iter().find(|entry| entry.path == name).map_or_else(|| name.to_owned(), Entry::stored);
    Ok((closed.frames > 0).then(|| (dir.join(stored), closed.to_string())))
}

/// A file of a backup that stands next to the log; `None` if the backup has none of the name.
fn contents(media: &dyn Media, dir: &Path, manifest: &Manifest, name: &str) -> Result<Option<Vec<u8>>, RescueError> {
    let Some(entry) = manifest.files.iter().find(|entry| entry.path == name) else { return Ok(None) };
    Ok(read_if_there(media, &dir.join(entry.stored()))?)
}

/// The numbers of the segments of a backup, and the contents of each.
fn segments(
    media: &dyn Media,
    dir: &Path,
    manifest: &Manifest,
) -> impl Iterator<Item = (u32, Result<Vec<u8>, StoreError>)> {
    let of_log = manifest.files.iter().filter(|entry| !is_next_to_log(&entry.path));
    of_log.filter_map(move |entry| {
        let number = segment_number(entry.path.strip_prefix("log/")?)?;
        let path = dir.join(entry.stored());
        let opened = media.open(&path, Access::Read).map_err(io_error("read", &path));
        let read = |file| image(&Segment::new(number, &path, file, &Keys::default()), u32::MAX);
        Some((number, opened.and_then(read)))
    })
}
