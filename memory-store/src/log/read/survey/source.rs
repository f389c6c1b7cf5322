//! The files of a store that may be damaged, and the store's id.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_core::port::StoreError;

use super::RawFinding;
use crate::log::{
    failure::io_error,
    format::{
        Location,
        frame::StoreId,
        segment::{SEGMENT_HEADER, Segment, SegmentHeader, segment_number},
    },
    keys::{self, Keys, MasterKey},
    media::{Access, Media, read_from},
    read::{checkpoint, directory::Directory, watermark::Watermark},
};

/// Longest image of a segment that is read: no segment is longer than the largest that the options allow.
const MOST_SEGMENT_BYTES: usize = 1 << 30;
const READ_AT_ONCE: usize = 4 << 20;
/// Smallest unit that a disk fails to read.
const SECTOR: usize = 512;

/// A store, as found in its files.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) id: StoreId,
    /// True if the store is encrypted.
    pub(crate) is_encrypted: bool,
    /// Its keys, once they were [opened](Self::unlock).
    pub(crate) keys: Keys,
    /// Location before which everything is known to have been on disk; `None` if neither the durable watermark nor a
    /// checkpoint shows it.
    pub(super) durable: Option<Location>,
    /// Segments by number.
    pub(super) segments: Vec<SourceSegment>,
    /// Faults of files as a whole.
    pub(super) findings: Vec<RawFinding>,
    /// Files that were never finished.
    pub(crate) leftovers: Vec<PathBuf>,
}

/// A segment, by the number in its header, or in its name if the header is damaged.
#[derive(Debug)]
pub(super) struct SourceSegment {
    pub(super) number: u32,
    pub(super) path: PathBuf,
}

impl SourceSegment {
    pub(super) fn open(&self, media: &dyn Media) -> io::Result<Segment> {
        Ok(Segment::new(self.number, &self.path, media.open(&self.path, Access::Read)?, &Keys::default()))
    }
}

impl Source {
    /// Reads the files of the store in `path`. Nothing is locked and nothing written.
    ///
    /// If `FORMAT` is lost or damaged, the store's id is the one that most of its segments have.
    pub(crate) fn find(media: &dyn Media, path: &Path) -> Result<Self, StoreError> {
        let log = path.join("log");
        // The checkpoint is read before the durable watermark and the segments, so that they cover it. It is not
        // mapped, since the disk may fail to read a part.
        let checkpoint = media.open(&path.join("cache").join(checkpoint::FILE), Access::Read);
        let checkpoint = checkpoint.and_then(|file| read_from(&*file, 0)).ok();
        let checkpoint = checkpoint.and_then(|bytes| checkpoint::Saved::of(Arc::new(bytes)));
        let format = Directory::open(media, path);
        if let Err(error @ (StoreError::NewerFormat { .. } | StoreError::Io { .. })) = format {
            return Err(error);
        }
        let known_by_watermark = |id| {
            let watermark = Watermark::open(media, path, id, Access::Read).ok().flatten();
            watermark.and_then(|watermark| watermark.durable()).map(|durable| durable.end)
        };
        let told = format.as_ref().ok().and_then(|directory| known_by_watermark(directory.id));
        let names = match media.list(&log) {
            Ok(names) => names,
            // Without a log, the error of `FORMAT` is more useful.
            Err(error) => return Err(format.err().unwrap_or_else(|| io_error("list", &log)(error))),
        };
        let leftovers = names
            .iter()
            .filter(|name| name.ends_with(".tmp") || name.ends_with(".new"))
            .map(|name| log.join(name))
            .collect();
        let (mut files, mut findings) = (Vec::new(), Vec::new());
        for name in names {
            let Some(number) = segment_number(&name) else { continue };
            let file = SourceSegment { number, path: log.join(&name) };
            let header = file.open(media).and_then(|open| {
                let mut scratch = Vec::new();
                for (place, why) in open.damaged_copies() {
                    let (offset, bytes) = (place.start.into(), u64::from(place.end - place.start));
                    findings.push(RawFinding { offset, ..finding(&file.path, bytes, why) });
                }
                Ok(SegmentHeader::parse(open.bytes(0, SEGMENT_HEADER as usize, &mut scratch)?).ok())
            });
            files.push((file, header.unwrap_or_default()));
        }
        let mut is_encrypted = keys::is_there(media, path)?;
        let (id, durable) = match format {
            Ok(directory) => {
                is_encrypted = directory.is_encrypted;
                (directory.id, told)
            }
            Err(error) => {
                let Some(id) = named_most(files.iter().filter_map(|(_, header)| Some(header.as_ref()?.store))) else {
                    return Err(error);
                };
                findings.push(finding(&path.join("FORMAT"), 0, format!("{error}; the segments identify the store")));
                (id, known_by_watermark(id))
            }
        };
        let checkpoint = checkpoint.filter(|checkpoint| checkpoint.store == id);
        let durable = durable.max(checkpoint.map(|checkpoint| checkpoint.end()));
        let mut source = Self {
            path: path.to_owned(),
            id,
            is_encrypted,
            keys: Keys::default(),
            durable,
            segments: Vec::new(),
            findings,
            leftovers,
        };
        files.into_iter().for_each(|(file, header)| source.add(file, header));
        source.segments.sort_by(|a, b| (a.number, &a.path).cmp(&(b.number, &b.path)));
        if source.segments.is_empty() {
            source.findings.push(finding(&log, 0, "it holds no segment".to_owned()));
        }
        Ok(source)
    }

    /// Opens the keys of an encrypted store.
    pub(crate) fn unlock(&mut self, media: &Arc<dyn Media>, key: Option<&MasterKey>) -> Result<(), StoreError> {
        if !self.is_encrypted {
            return Ok(());
        }
        self.keys = Keys::open(media, &self.path, self.id, key)?;
        let checkpoint = media.open(&self.path.join("cache").join(checkpoint::FILE), Access::Read);
        let checkpoint = checkpoint.and_then(|file| read_from(&*file, 0)).ok();
        let checkpoint = checkpoint.and_then(|bytes| checkpoint::Saved::of(Arc::new(self.keys.open_file(&bytes)?)));
        let end = checkpoint.filter(|checkpoint| checkpoint.store == self.id).map(|checkpoint| checkpoint.end());
        self.durable = self.durable.max(end);
        Ok(())
    }

    fn add(&mut self, file: SourceSegment, header: Option<SegmentHeader>) {
        match header {
            Some(header) if header.store != self.id => {
                let why = "the segment belongs to another store".to_owned();
                self.findings.push(RawFinding { hides: true, ..finding(&file.path, u64::from(SEGMENT_HEADER), why) });
            }
            Some(header) if header.number != file.number => {
                let why = format!("the file has the name of another segment: it is segment {}", header.number);
                self.findings.push(finding(&file.path, 0, why));
                self.segments.push(SourceSegment { number: header.number, ..file });
            }
            _ => self.segments.push(file),
        }
    }
}

fn finding(path: &Path, bytes: u64, why: String) -> RawFinding {
    RawFinding { path: path.to_owned(), offset: 0, bytes, why, conversation: None, node: None, hides: false }
}

fn named_most(ids: impl Iterator<Item = StoreId>) -> Option<StoreId> {
    let mut votes: BTreeMap<StoreId, usize> = BTreeMap::new();
    ids.for_each(|id| *votes.entry(id).or_default() += 1);
    votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(id, _)| id)
}

/// The readable contents of a segment.
pub(crate) fn read_image(segment: &Segment) -> io::Result<Vec<u8>> {
    // The length is bounded, and zeros replace lost blocks, so that the data after them is still found.
    if segment.is_compressed() {
        return segment.image();
    }
    let (mut bytes, mut scratch) = (Vec::new(), Vec::new());
    while bytes.len() < MOST_SEGMENT_BYTES {
        let at = bytes.len();
        let more = READ_AT_ONCE.min(MOST_SEGMENT_BYTES - at);
        let offset = u32::try_from(at).unwrap_or(u32::MAX);
        let read = match segment.bytes(offset, more, &mut scratch) {
            Ok(read) => read,
            Err(error) => match around_bad_sectors(segment, offset, more) {
                Some(read) => {
                    scratch = read;
                    &scratch
                }
                None if at == 0 => return Err(error),
                None => break,
            },
        };
        bytes.extend_from_slice(read);
        if read.len() < more {
            break;
        }
    }
    Ok(bytes)
}

/// Readable bytes of a range whose read as a whole failed, with zeros in place of the others; `None` if there are none.
fn around_bad_sectors(segment: &Segment, offset: u32, length: usize) -> Option<Vec<u8>> {
    let (mut found, mut scratch) = (Vec::with_capacity(length), Vec::new());
    let mut any = false;
    while found.len() < length {
        let at = u32::try_from(found.len()).ok().and_then(|at| offset.checked_add(at))?;
        let wanted = SECTOR.min(length - found.len());
        match segment.bytes(at, wanted, &mut scratch) {
            Ok(read) => {
                any |= !read.is_empty();
                found.extend_from_slice(read);
                if read.len() < wanted {
                    break;
                }
            }
            Err(_) => found.resize(found.len() + wanted, 0),
        }
    }
    any.then_some(found)
}
