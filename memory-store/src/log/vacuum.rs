//! Rewriting sealed segments without what nobody can read any more, and compressing them, beside readers and writers.

mod alive;
mod renewed;
mod rewrite;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memory_core::{Progress, StoreError};

use self::{alive::Alive, renewed::renewed, rewrite::rewritten};
use super::{
    checkpoint,
    failure::io_error,
    horizon::{Durable, Horizon},
    lock::{HeldLease, Lock},
    media::{Access, Media},
    recovery::read_to,
    segment::{Segment, segment_name, segment_path},
    shared::Shared,
    squeezed::{SqueezeOptions, squeeze},
    state::State,
    store::LogStore,
};

/// Ends the name of a segment's new file until it replaces the old one.
const NEW: &str = ".new";

/// What a vacuum does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VacuumOptions {
    compression: Compression,
}

/// What becomes of the encoding of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Compression {
    #[default]
    Keep,
    Squeeze(SqueezeOptions),
    Expand,
}

impl VacuumOptions {
    /// Compresses every sealed segment that is not compressed yet. Reading a record of a compressed one costs a
    /// block's decompression.
    #[must_use]
    pub fn compress(options: SqueezeOptions) -> Self {
        Self { compression: Compression::Squeeze(options) }
    }

    /// Makes plain segments of compressed ones.
    #[must_use]
    pub fn expand() -> Self {
        Self { compression: Compression::Expand }
    }
}

/// What a vacuum did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VacuumReport {
    /// Sealed segments that there are.
    pub segments: u64,
    /// Those of them that were replaced.
    pub replaced: u64,
    /// Records that were left out: weights, pins, titles and tags with a later one behind them.
    pub dropped: u64,
    /// Bytes of all sealed segments before.
    pub bytes_before: u64,
    /// Bytes of all sealed segments now.
    pub bytes_after: u64,
}

/// A segment whose new file waits to replace it.
struct Replacement {
    number: u32,
    file: PathBuf,
}

impl LogStore {
    /// Rewrites sealed segments of which a part is dead: weights, pins, titles and tags that later ones have
    /// replaced. Messages and summaries stay, and so do the roots.
    ///
    /// Others go on reading and writing. A segment is replaced whole, by a rename; who reads the old file goes on
    /// doing so until it looks again. A crash leaves the old segments or the new ones, both of which say the same.
    ///
    /// It reads all of the log: not for a thread that must not wait.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process does background work, [`StoreError::Damaged`] in a store of
    /// which a part cannot be read: salvage it first.
    pub fn vacuum(&self, options: VacuumOptions, progress: &dyn Progress) -> Result<VacuumReport, StoreError> {
        if !self.may_write() {
            return Err(StoreError::ReadOnly { path: self.path().to_owned() });
        }
        let _lease = self.take_lease()?;
        vacuum(&self.shared, options, progress).inspect_err(|_| {
            // Most often the disk is full, and what was written takes room that others need.
            if let Err(error) = remove_leftovers(&self.shared) {
                tracing::debug!(%error, "what a vacuum wrote stays until the next one");
            }
        })
    }

    /// Takes the lease for this call alone, where [`Store::lease`](memory_core::Store::lease) shares one within the
    /// opening.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the name of the process that has it.
    pub(crate) fn take_lease(&self) -> Result<HeldLease, StoreError> {
        let lock = Lock::lease(&*self.shared.media, self.path())?;
        if !lock.try_take()? {
            return Err(lock.held(&*self.shared.media));
        }
        lock.sign(&*self.shared.media);
        Ok(HeldLease::new(lock))
    }
}

fn vacuum(shared: &Shared, options: VacuumOptions, progress: &dyn Progress) -> Result<VacuumReport, StoreError> {
    let log = shared.directory.log();
    remove_leftovers(shared)?;
    let (segments, end) = {
        let state = shared.current()?;
        if let Some(damage) = state.damage.first() {
            return Err(damage.clone().into());
        }
        (Arc::clone(&state.segments), state.cursor.end)
    };
    let sealed: Vec<&Segment> = segments.iter().filter(|segment| segment.number() < end.segment).collect();
    // Read once to know what is alive, from the end; once more to write.
    let total = 2 * sealed.len() as u64;
    let mut alive = Alive::default();
    for (done, segment) in segments.iter().rev().enumerate() {
        let mut image = read(segment)?;
        if segment.number() == end.segment {
            image.truncate(end.offset as usize);
        }
        alive.note(shared.directory.id, segment.number(), &image);
        progress.report(done as u64, total);
    }
    let mut report = VacuumReport { segments: sealed.len() as u64, ..VacuumReport::default() };
    let mut replacements = Vec::new();
    for (done, segment) in sealed.iter().enumerate() {
        progress.report((sealed.len() + done) as u64, total);
        let size = segment.file().size().map_err(io_error("read", segment.path()))?;
        report.bytes_before += size;
        report.bytes_after += size;
        let image = read(segment)?;
        let dead = alive.dead_in(segment.number());
        let (image, dropped) = match dead {
            [] => (image, 0),
            dead => {
                let image = rewritten(shared.directory.id, segment, &image, dead)?;
                (image, dead.len() as u64)
            }
        };
        let is_squeezed = segment.is_squeezed();
        let file = match options.compression {
            Compression::Squeeze(options) if dropped > 0 || !is_squeezed => Some(squeezed(segment, &image, &options)?),
            Compression::Keep if dropped > 0 && is_squeezed => {
                Some(squeezed(segment, &image, &SqueezeOptions::default())?)
            }
            Compression::Keep if dropped > 0 => Some(image),
            Compression::Expand if dropped > 0 || is_squeezed => Some(image),
            Compression::Keep | Compression::Squeeze(_) | Compression::Expand => None,
        };
        // A segment that would not get smaller stays as it is, unless it must.
        let Some(bytes) =
            file.filter(|file| dropped > 0 || options.compression == Compression::Expand || (file.len() as u64) < size)
        else {
            continue;
        };
        let path = log.join(format!("{}{NEW}", segment_name(segment.number())));
        write(&*shared.media, &path, &bytes).map_err(io_error("write", &path))?;
        report.replaced += 1;
        report.dropped += dropped;
        report.bytes_after = report.bytes_after - size + bytes.len() as u64;
        replacements.push(Replacement { number: segment.number(), file: path });
    }
    if !replacements.is_empty() {
        let state = renewed(shared, &segments, end, &replacements)?;
        checkpoint::write_ahead(shared, &state);
        replace(shared, &replacements, state)?;
        // A writer may have been about to write one of what was there before; and what a checkpoint holds, memory need not.
        checkpoint::write_now(shared);
    }
    progress.report(total, total);
    Ok(report)
}

fn read(segment: &Segment) -> Result<Vec<u8>, StoreError> {
    segment.image().map_err(io_error("read", segment.path()))
}

fn squeezed(segment: &Segment, image: &[u8], options: &SqueezeOptions) -> Result<Vec<u8>, StoreError> {
    squeeze(image, options).map_err(|error| StoreError::Io {
        action: "compress",
        path: segment.path().to_owned(),
        source: io::Error::other(error),
    })
}

fn write(media: &dyn Media, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = media.open(path, Access::Create)?;
    file.write_at(bytes, 0)?;
    file.sync_all()
}

/// What a vacuum left that was interrupted. The lease is held, so that none is under way.
fn remove_leftovers(shared: &Shared) -> Result<(), StoreError> {
    checkpoint::remove_ahead(shared);
    let log = shared.directory.log();
    for name in shared.media.list(&log).map_err(io_error("list", &log))? {
        if name.ends_with(NEW) {
            let path = log.join(name);
            shared.media.remove(&path).map_err(io_error("remove", &path))?;
        }
    }
    Ok(())
}

/// Puts the new files in place, with the write lock held, and makes everybody look again. `state` is what was read of
/// them: nobody who writes waits for more than the renames and what was appended since.
fn replace(shared: &Shared, replacements: &[Replacement], mut state: State) -> Result<(), StoreError> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let log = shared.directory.log();
    let lock = Lock::write(&*shared.media, &shared.directory.path, &log)?;
    let waiting = || shared.horizon().into_iter().for_each(Horizon::want);
    lock.take(&*shared.media, PATIENCE, waiting)?;
    lock.sign(&*shared.media);
    let _held = shared.hold_following();
    let before = shared.catch_up_locked()?;
    read_to(&mut state, &*shared.media, &shared.directory, before.end)?;
    let damage = shared.state().damage.first().or(state.damage.first()).cloned();
    if let Some(damage) = damage {
        return Err(damage.into());
    }
    // Odd while files are being replaced: should this process die here, the next writer makes it even again.
    let during = Durable { generation: before.generation.wrapping_add(1), ..before };
    shared.tell(during);
    let renamed = replacements.iter().try_for_each(|Replacement { number, file }| {
        let path = segment_path(&log, *number);
        shared.media.rename(file, &path).map_err(io_error("replace", &path))
    });
    let synced = shared.media.sync_dir(&log).map_err(io_error("sync", &log));
    let after = Durable { generation: during.generation.wrapping_add(1), ..before };
    match &renamed {
        Ok(()) => {
            checkpoint::put_ahead(shared);
            shared.renew(state, after);
        }
        // Whatever was replaced, what is there now counts.
        Err(_) => shared.reload(after)?,
    }
    shared.tell(after);
    lock.release();
    renamed.and(synced)
}
