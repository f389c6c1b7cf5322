//! Rewrites sealed segments without their dead records, and compresses them, while others read and write.

mod alive;
mod erasing;
mod noted;
mod renewed;
mod rewrite;

use std::{io, path::Path, sync::Arc, time::Duration};

use memory_core::port::{Progress, StoreError};

use self::{
    alive::Alive,
    erasing::Erasing,
    noted::Noted,
    renewed::{Replacement, renewed},
    rewrite::{Rewriting, Rewritten, SaltSource},
};
use crate::log::{
    failure::io_error,
    format::{
        compressed::{CompressionOptions, compress_segment},
        frame::StoreId,
        segment::{Segment, segment_name, segment_path},
    },
    keys::{Keys, Slots},
    media::{Access, Media},
    read::{
        recovery::read_to,
        watermark::{Durable, Watermark},
    },
    state::State,
    write::{checkpointer, lock::Lock, shared::Shared},
};

/// Longest wait for the write lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// Suffix of a segment's new file until it replaces the old one.
const NEW: &str = ".new";

/// Options of a vacuum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VacuumOptions {
    compression: Compression,
    /// Epoch of the key that all frames get, 0 for none.
    epoch: Option<u32>,
}

/// Encoding that segments get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Compression {
    #[default]
    Keep,
    Compress(CompressionOptions),
    Expand,
}

impl VacuumOptions {
    /// Compresses every sealed segment that is not compressed yet. Reading a record of a compressed one costs the
    /// decompression of a block.
    #[must_use]
    pub fn compress(options: CompressionOptions) -> Self {
        Self { compression: Compression::Compress(options), epoch: None }
    }

    /// Turns compressed segments back into plain ones.
    #[must_use]
    pub fn expand() -> Self {
        Self { compression: Compression::Expand, epoch: None }
    }

    /// Encrypts all frames with the key of an epoch, or not at all for 0.
    pub(crate) fn encrypted_with(epoch: u32) -> Self {
        Self { epoch: Some(epoch), ..Self::default() }
    }
}

/// The result of a vacuum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct VacuumReport {
    /// How many sealed segments there are.
    pub segments: u64,
    /// How many of them were replaced.
    pub replaced: u64,
    /// Records that were dropped: importances, pins, titles and tags with a later one after them.
    pub dropped: u64,
    /// Records of erased messages, summaries, views and notes that were removed or replaced by what is left of them.
    pub erased: u64,
    /// Messages that became notes: versions without notes kept notes as messages.
    pub noted: u64,
    /// Bytes of all sealed segments before.
    pub bytes_before: u64,
    /// Bytes of all sealed segments now.
    pub bytes_after: u64,
}

/// True if conversations may have messages that become notes.
fn may_note(shared: &Shared) -> Result<bool, StoreError> {
    Ok(!Noted::of(&*shared.current()?).is_empty())
}

/// True if the last segment should be sealed before a vacuum, which rewrites only sealed ones: it holds erased content,
/// or there may be messages that become notes, whose conversation is rewritten as a whole.
pub(crate) fn wants_seal(shared: &Shared) -> Result<bool, StoreError> {
    let (segments, end, erasing) = {
        let state = shared.current()?;
        (Arc::clone(&state.segments), state.cursor.end, Erasing::of(&state))
    };
    let Some(last) = segments.last().filter(|last| last.number() == end.segment && !erasing.is_empty()) else {
        return may_note(shared);
    };
    let mut image = read(last)?;
    image.truncate(end.offset as usize);
    let holds_erased = erasing.found(id_and_keys(shared), last.number(), &image).next().is_some();
    Ok(holds_erased || may_note(shared)?)
}

pub(crate) fn vacuum(
    shared: &Shared,
    options: VacuumOptions,
    progress: &dyn Progress,
) -> Result<VacuumReport, StoreError> {
    let may_note = may_note(shared)?;
    match vacuum_once(shared, options, may_note, progress) {
        // A process of an older version may have appended to a conversation whose messages were becoming notes.
        Err(StoreError::Damaged { .. }) if may_note && shared.current()?.damage.is_empty() => {
            vacuum_once(shared, options, false, progress)
        }
        done => done,
    }
}

fn vacuum_once(
    shared: &Shared,
    options: VacuumOptions,
    may_note: bool,
    progress: &dyn Progress,
) -> Result<VacuumReport, StoreError> {
    let log = shared.directory.log();
    remove_leftovers(shared)?;
    let (segments, end, erasing, mut noted, cuts) = {
        let state = shared.current()?;
        if let Some(damage) = state.damage.first() {
            return Err(damage.clone().into());
        }
        let noted = if may_note { Noted::of(&state) } else { Noted::default() };
        (Arc::clone(&state.segments), state.cursor.end, Erasing::of(&state), noted, cuts(&state))
    };
    let sealed: Vec<&Segment> = segments.iter().filter(|segment| segment.number() < end.segment).collect();
    // Read once, from the end, to find what is alive, and once more to write.
    let total = 2 * sealed.len() as u64;
    let (mut alive, mut salts) = (Alive::default(), Vec::new());
    for (done, segment) in segments.iter().rev().enumerate() {
        let mut image = read(segment)?;
        if segment.number() == end.segment {
            image.truncate(end.offset as usize);
        }
        alive.note(id_and_keys(shared), segment.number(), &image);
        noted.look(id_and_keys(shared), segment.number(), &image, segment.number() < end.segment);
        if shared.directory.keys.is_some() && !erasing.is_empty() {
            salts.extend(erasing.found(id_and_keys(shared), segment.number(), &image).flatten());
        }
        progress.report(done as u64, total);
    }
    // Salts of erased records are overwritten first, since the file system may keep the replaced bytes.
    shared.directory.keys.shred(salts)?;
    let noted = noted.conversations();
    let reserve = |records| reserve(shared, records);
    let mut salts = SaltSource::new(&reserve);
    let mut report = VacuumReport { segments: sealed.len() as u64, ..VacuumReport::default() };
    let mut replacements = Vec::new();
    for (done, segment) in sealed.iter().enumerate() {
        progress.report((sealed.len() + done) as u64, total);
        let size = segment.file().size().map_err(io_error("read", segment.path()))?;
        report.bytes_before += size;
        report.bytes_after += size;
        let image = read(segment)?;
        let dead = alive.dead_in(segment.number());
        let rewriting = Rewriting { dead, noted: &noted, erasing: &erasing, epoch: options.epoch };
        let Rewritten { bytes: image, dropped, noted, erased, resealed } =
            rewriting.rewritten(shared.directory.id, segment, image, &mut salts)?;
        let is_changed = dropped + noted + erased + resealed > 0;
        let is_compressed = segment.is_compressed();
        let file = match options.compression {
            Compression::Compress(options) if is_changed || !is_compressed => {
                Some(compressed(segment, &image, &options)?)
            }
            Compression::Keep if is_changed && is_compressed => {
                Some(compressed(segment, &image, &CompressionOptions::default())?)
            }
            Compression::Keep if is_changed => Some(image),
            Compression::Expand if is_changed || is_compressed => Some(image),
            Compression::Keep | Compression::Compress(_) | Compression::Expand => None,
        };
        // A segment that would not get smaller stays as it is, unless its encoding must change.
        let Some(bytes) =
            file.filter(|file| is_changed || options.compression == Compression::Expand || (file.len() as u64) < size)
        else {
            continue;
        };
        let path = log.join(format!("{}{NEW}", segment_name(segment.number())));
        write(&*shared.media, &path, &bytes).map_err(io_error("write", &path))?;
        report.replaced += 1;
        report.dropped += dropped;
        report.noted += noted;
        report.erased += erased;
        report.bytes_after = report.bytes_after - size + bytes.len() as u64;
        replacements.push(Replacement { number: segment.number(), file: path });
    }
    if !replacements.is_empty() {
        let state = renewed(shared, &segments, end, &replacements)?;
        checkpointer::write_ahead(shared, &state);
        // A salt that was erased meanwhile has the mark of the old key, so that the new files do not fit it.
        let cuts = options.epoch.map(|_| cuts);
        replace(shared, &replacements, (report.noted > 0, cuts), state)?;
    }
    // A writer may be about to write a checkpoint of the old segments. Besides, the contents of a checkpoint need not
    // stay in memory.
    if !erasing.is_empty() {
        checkpointer::renew(shared)?;
    } else if !replacements.is_empty() {
        checkpointer::write_now(shared);
    }
    progress.report(total, total);
    Ok(report)
}

/// Number of erasures in all conversations.
fn cuts(state: &State) -> usize {
    state.conversations().map(|one| one.erased.cuts().len()).sum()
}

fn id_and_keys(shared: &Shared) -> (StoreId, &Keys) {
    (shared.directory.id, &shared.directory.keys)
}

/// Reserves salts under the write lock, as writers do.
fn reserve(shared: &Shared, records: u32) -> Result<Slots, StoreError> {
    let lock = Lock::write(&*shared.media, &shared.directory.path, &shared.directory.log())?;
    lock.take(&*shared.media, PATIENCE, || shared.watermark().into_iter().for_each(Watermark::want))?;
    let reserved = shared.directory.keys.reserve(records);
    lock.release();
    reserved.map_err(|failure| StoreError::from(&failure))
}

fn read(segment: &Segment) -> Result<Vec<u8>, StoreError> {
    segment.image().map_err(io_error("read", segment.path()))
}

fn compressed(segment: &Segment, image: &[u8], options: &CompressionOptions) -> Result<Vec<u8>, StoreError> {
    compress_segment(image, options).map_err(|error| StoreError::Io {
        action: "compress",
        place: segment.path().into(),
        source: io::Error::other(error),
    })
}

fn write(media: &dyn Media, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = media.open(path, Access::Create)?;
    file.write_at(bytes, 0)?;
    file.sync_all()
}

/// Number of records that hold erased content, or hold more of it than a vacuum leaves. Reads all of the log.
pub(crate) fn erased_content(shared: &Shared) -> Result<u64, StoreError> {
    let (segments, end, erasing) = {
        let state = shared.current()?;
        (Arc::clone(&state.segments), state.cursor.end, Erasing::of(&state))
    };
    let mut found = 0;
    for segment in segments.iter().filter(|_| !erasing.is_empty()) {
        let mut image = read(segment)?;
        if segment.number() == end.segment {
            image.truncate(end.offset as usize);
        }
        found += erasing.found(id_and_keys(shared), segment.number(), &image).count() as u64;
    }
    Ok(found)
}

/// Removes the files of an interrupted vacuum. The caller holds the lease, so none is under way.
pub(crate) fn remove_leftovers(shared: &Shared) -> Result<(), StoreError> {
    checkpointer::remove_ahead(shared);
    let log = shared.directory.log();
    for name in shared.media.list(&log).map_err(io_error("list", &log))? {
        if name.ends_with(NEW) {
            let path = log.join(name);
            shared.media.remove(&path).map_err(io_error("remove", &path))?;
        }
    }
    Ok(())
}

/// Puts the new files in place, with the write lock held, and makes all processes look again. `state` was read from the
/// new files, so writers wait only for the renames and for what was appended since.
///
/// Nothing is replaced where there were other erasures: the caller asks for another vacuum.
///
/// Where messages become notes, the files before the last replaced one must be the old ones whenever the power fails:
/// they are replaced from the last to the first, each for good before the next.
fn replace(
    shared: &Shared,
    replacements: &[Replacement],
    (is_in_order, cuts_before): (bool, Option<usize>),
    mut state: State,
) -> Result<(), StoreError> {
    let log = shared.directory.log();
    let lock = Lock::write(&*shared.media, &shared.directory.path, &log)?;
    let waiting = || shared.watermark().into_iter().for_each(Watermark::want);
    lock.take(&*shared.media, PATIENCE, waiting)?;
    lock.sign(&*shared.media);
    let _held = shared.hold_following();
    let before = shared.catch_up_locked()?;
    read_to(&mut state, &*shared.media, &shared.directory, before.end)?;
    let damage = shared.state().damage.first().or(state.damage.first()).cloned();
    if let Some(damage) = damage {
        return Err(damage.into());
    }
    if cuts_before.is_some_and(|before| before != cuts(&state)) {
        lock.release();
        return Ok(());
    }
    // The generation is odd while files are being replaced. If this process dies here, the next writer makes it even.
    let during = Durable { generation: before.generation.wrapping_add(1), ..before };
    shared.tell(during);
    let renamed = replacements.iter().rev().try_for_each(|Replacement { number, file }| {
        let path = segment_path(&log, *number);
        shared.media.rename(file, &path).map_err(io_error("replace", &path))?;
        if is_in_order { shared.media.sync_dir(&log).map_err(io_error("sync", &log)) } else { Ok(()) }
    });
    let synced = shared.media.sync_dir(&log).map_err(io_error("sync", &log));
    let after = Durable { generation: during.generation.wrapping_add(1), ..before };
    match &renamed {
        Ok(()) => {
            checkpointer::put_ahead(shared);
            shared.renew(state, after);
        }
        // Some files may have been replaced: the ones on disk count now.
        Err(_) => shared.reload(after)?,
    }
    shared.tell(after);
    lock.release();
    renamed.and(synced)
}
