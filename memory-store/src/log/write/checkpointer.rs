//! Decides when a checkpoint is due, and writes it.

use std::{io, path::Path, sync::Arc};

use memory_core::port::StoreError;

use super::shared::Shared;
use crate::log::{
    failure::io_error,
    format::{Location, segment::Segment},
    keys::epoch_of_file,
    media::{Access, Media, read_part},
    read::{
        checkpoint::{FILE, encode},
        directory::sync_dir,
        watermark::{Durable, Watermark},
    },
    state::{
        State,
        keys::{self, Kept},
    },
};

/// Bytes that show how a checkpoint is sealed.
const BEGIN: u64 = 16;
/// Name of a checkpoint that fits once segments are replaced.
const AHEAD: &str = "checkpoint.next";

/// Writes a checkpoint after segments were replaced: the one before no longer fits. `false` if none was written.
pub(crate) fn write_now(shared: &Shared) -> bool {
    shared.state().damage.is_empty() && Checkpointer::new(0, Location::default(), 0).write(shared)
}

/// Writes a checkpoint, and removes those of before: they may hold titles, tags and names that were erased or encrypted
/// since.
///
/// # Errors
/// If one of before stays.
pub(crate) fn renew(shared: &Shared) -> Result<(), StoreError> {
    let (media, cache) = (&*shared.media, shared.directory.cache());
    let is_new = write_now(shared);
    let is_synced = remove_unless(media, &cache, |path| is_new && path.ends_with(FILE))?;
    // The new one may have replaced one of before.
    if is_new && !is_synced { sync_dir(media, &cache) } else { Ok(()) }
}

/// Removes checkpoints that are not sealed with the key of this epoch, or at all for 0.
///
/// # Errors
/// If one of them stays.
pub(crate) fn remove_others(media: &dyn Media, cache: &Path, epoch: u32) -> Result<(), StoreError> {
    let is_of = |path: &Path| {
        let begin = media.open(path, Access::Read).and_then(|file| read_part(&*file, 0, BEGIN));
        begin.is_ok_and(|begin| epoch_of_file(&begin) == epoch)
    };
    remove_unless(media, cache, is_of).map(drop)
}

/// Removes checkpoints, whole or not, for good; `true` if there were any.
fn remove_unless(media: &dyn Media, cache: &Path, is_kept: impl Fn(&Path) -> bool) -> Result<bool, StoreError> {
    let names = match media.list(cache) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        listed => listed.map_err(io_error("list", cache))?,
    };
    let all = names.iter().filter(|name| name.starts_with(FILE)).map(|name| cache.join(name));
    let others: Vec<_> = all.filter(|path| !is_kept(path)).collect();
    for path in &others {
        match media.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(io_error("remove", path))?,
        }
    }
    if others.is_empty() {
        return Ok(false);
    }
    sync_dir(media, cache)?;
    Ok(true)
}

/// Writes the checkpoint for segments that are about to be replaced, next to the current one.
pub(crate) fn write_ahead(shared: &Shared, state: &State) {
    let (media, dir) = (&*shared.media, shared.directory.cache());
    let Some((bytes, _)) = encode(state) else { return };
    let path = dir.join(AHEAD);
    let written = media
        .create_dir_all(&dir)
        .and_then(|()| media.open(&path, Access::Create)?.write_at(&shared.directory.keys.seal_file(&bytes)?, 0));
    if let Err(error) = written {
        tracing::debug!(path = %path.display(), %error, "no checkpoint was written ahead");
        drop(media.remove(&path));
    }
}

/// Puts the checkpoint of [`write_ahead`] in place, now that it fits, so that readers of the new segments need not read
/// all of the log.
pub(crate) fn put_ahead(shared: &Shared) {
    let dir = shared.directory.cache();
    if let Err(error) = shared.media.rename(&dir.join(AHEAD), &dir.join(FILE)) {
        tracing::debug!(path = %dir.display(), %error, "no checkpoint was written ahead");
    }
}

/// Removes the checkpoint of [`write_ahead`], whose segments were not replaced.
pub(crate) fn remove_ahead(shared: &Shared) {
    let path = shared.directory.cache().join(AHEAD);
    match shared.media.remove(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(path = %path.display(), %error, "what was written ahead stays");
        }
        _ => {}
    }
}

/// Number of keys that are only in memory, above which a checkpoint is due.
const MANY_KEYS: u64 = 1 << 16;

/// Occasion for a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Between two commit groups. A checkpoint holds all nodes, so it is written rarely enough to cost little compared
    /// with the appends since the last one.
    Between,
    /// Closing of the store, so that the next opening is fast.
    Close,
}

/// Writes checkpoints as the log grows.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    /// Number that distinguishes its temporary file.
    name: u64,
    /// End of the last checkpoint, and its length.
    last: Location,
    bytes: u64,
    least: u64,
}

impl Checkpointer {
    /// `last` is the end of the checkpoint that was read; the next is due after `least` bytes of the log or more.
    pub(crate) fn new(name: u64, last: Location, least: u64) -> Self {
        Self { name, last, bytes: 0, least }
    }

    /// True if enough was written since the last checkpoint for another to pay.
    pub(crate) fn is_due(&self, shared: &Shared, moment: Moment) -> bool {
        let enough = match moment {
            Moment::Between => self.least.saturating_mul(64).max(self.bytes.saturating_mul(8)),
            Moment::Close => self.least.max(self.bytes / 4),
        };
        let state = shared.state();
        if !state.damage.is_empty() {
            return false;
        }
        let since = bytes_between(&state.segments, self.last, state.cursor.end);
        // Keys are in memory until a checkpoint holds them.
        let many_keys = MANY_KEYS.max(self.bytes / (4 * keys::ENTRY as u64));
        since >= enough || since > 0 && state.recent_keys > many_keys
    }

    pub(crate) fn write_if_due(&mut self, shared: &Shared, moment: Moment) {
        if self.is_due(shared, moment) {
            self.write(shared);
        }
    }

    /// Writes a checkpoint; `false` if none was written, which only makes the next opening slower.
    pub(crate) fn write(&mut self, shared: &Shared) -> bool {
        let (encoded, end) = {
            let state = shared.state();
            (encode(&state), state.cursor.end)
        };
        // The writer may not have published its last write yet, but the durable watermark must cover a checkpoint
        // before anyone can read it. A state of before segments were replaced may hold what is erased or encrypted now.
        let covers = |durable: Durable| end <= durable.end && durable.generation == shared.generation();
        let is_told = |watermark: &Watermark| watermark.durable().is_none_or(covers);
        if !shared.watermark().is_none_or(is_told) {
            return false;
        }
        self.last = end;
        let Some((bytes, ranges)) = encoded else { return false };
        self.bytes = bytes.len() as u64;
        let dir = shared.directory.cache();
        let keys = &shared.directory.keys;
        let written = keys.seal_file(&bytes).and_then(|sealed| self.put(&*shared.media, &dir, &sealed));
        if let Err(error) = written {
            tracing::warn!(path = %dir.join(FILE).display(), %error, "no checkpoint was written");
            return false;
        }
        if keys.is_some() {
            // The file holds nothing that can be mapped, and its keys stay in memory, decrypted.
            let kept: Kept = Arc::new(bytes);
            shared.state_mut().settle_keys(&kept, ranges);
            return true;
        }
        // Keys that the file holds need not stay in memory.
        let map = shared.media.open(&dir.join(FILE), Access::Read).and_then(|file| file.map());
        if let Ok(Some(map)) = map
            && *map == bytes
        {
            let kept: Kept = Arc::new(map);
            shared.state_mut().settle_keys(&kept, ranges);
        }
        true
    }

    /// Writes the file without a sync: a checkpoint that is incomplete after a crash is ignored.
    fn put(&self, media: &dyn Media, dir: &Path, bytes: &[u8]) -> io::Result<()> {
        media.create_dir_all(dir)?;
        for name in media.list(dir)? {
            // The file was left by a dead process, or belongs to one that is writing it now and will do without.
            if name.starts_with(FILE) && name.ends_with(".tmp") {
                media.remove(&dir.join(name))?;
            }
        }
        let temporary = dir.join(format!("{FILE}.{:016x}.tmp", self.name));
        let file = media.open(&temporary, Access::Create)?;
        file.write_at(bytes, 0)?;
        media.rename(&temporary, &dir.join(FILE))
    }
}

/// Bytes of the log between two places.
fn bytes_between(segments: &[Segment], from: Location, to: Location) -> u64 {
    let whole = segments.iter().filter(|segment| (from.segment..to.segment).contains(&segment.number()));
    let whole: u64 = whole.map(|segment| segment.file().size().unwrap_or_default()).sum();
    (whole + u64::from(to.offset)).saturating_sub(u64::from(from.offset))
}
