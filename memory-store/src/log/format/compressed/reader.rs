//! Reads the image of a segment from its compressed file.

use std::{
    collections::VecDeque,
    fmt, io, mem,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    header::{HEADER, Header},
    source::{ReadAt, damaged, read_exact},
    table::Table,
    zstandard::{Dictionary, restore},
};
use crate::{checksum, log::format::segment::MAGIC};

/// A compressed segment, with everything but its blocks in memory. Each call gets the file, which must be the opened
/// one.
///
/// Bytes come only from blocks whose checksum matches. Errors of kind [`io::ErrorKind::InvalidData`] mean that the file
/// is damaged. The file has header, dictionary and table twice, so that one damaged place costs at most the bytes of
/// one block.
pub struct CompressedSegment {
    header: Header,
    table: Table,
    dictionary: Option<Dictionary>,
    recent: Recent,
}

/// A part of an image that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostBlocks {
    /// Bytes in the image: those of one block, or of several in a row that are lost for the same reason.
    pub(crate) range: Range<u32>,
    /// The cause.
    pub(crate) why: String,
}

impl CompressedSegment {
    /// The compressed segment in `file`; `None` when the file is not one.
    ///
    /// # Errors
    /// When the file is a compressed segment and [`open`](Self::open) fails.
    pub(crate) fn find<F: ReadAt + ?Sized>(file: &F) -> io::Result<Option<Self>> {
        let mut begin = [0; MAGIC.len()];
        let read = file.read_at(&mut begin, 0)?;
        if begin.get(..read).is_some_and(Header::is_one) {
            return Self::open(file).map(Some);
        }
        // If the header in front is damaged, the one at the end decides.
        Ok(if begin == MAGIC { None } else { Self::open(file).ok() })
    }

    /// Reads all but the blocks.
    ///
    /// # Errors
    /// When neither copy of the header, the dictionary or the table can be read.
    pub fn open<F: ReadAt + ?Sized>(file: &F) -> io::Result<Self> {
        let header = read_header(file)?;
        let dictionary = match header.dictionary {
            0 => None,
            length => {
                let why = "the checksum of the compressed segment's dictionary does not match";
                let bytes = read_copy(file, header.dictionary_places(), length, header.dictionary_crc, why)?;
                Some(Dictionary::new(&bytes).map_err(damaged)?)
            }
        };
        let why = "the checksum of the compressed segment's block table does not match";
        let table = read_copy(file, header.table_places(), header.table(), header.table_crc, why)?;
        let table = Table::parse(&table, &header).map_err(damaged)?;
        Ok(Self { header, table, dictionary, recent: Recent::default() })
    }

    /// Bytes of the image.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an image has a header at least")]
    pub fn len(&self) -> u32 {
        self.header.image
    }

    /// Bytes of the image in a block.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.header.block
    }

    /// Bytes of the dictionary; 0 when there is none.
    #[must_use]
    pub fn dictionary_bytes(&self) -> u32 {
        self.header.dictionary
    }

    /// The segment's number, from its file.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.header.number
    }

    /// The id of the store that the segment belongs to, from its file.
    #[must_use]
    pub fn store(&self) -> [u8; 16] {
        self.header.store
    }

    /// Up to `buffer.len()` bytes of the image from `offset`; fewer only at the end of the image.
    ///
    /// # Errors
    /// When the file cannot be read, or a block that is needed is damaged.
    pub fn read_at<F: ReadAt + ?Sized>(&self, file: &F, offset: u32, buffer: &mut [u8]) -> io::Result<usize> {
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX).min(self.len().saturating_sub(offset));
        let (mut at, mut rest) = (offset, buffer);
        while at < offset + length {
            let index = at / self.header.block;
            let block = self.header.range(index);
            let end = block.end.min(offset + length);
            let Some((part, behind)) = mem::take(&mut rest).split_at_mut_checked((end - at) as usize) else { break };
            if (at..end) == block {
                self.restore(file, index, part)?;
            } else {
                let kept = self.block(file, index)?;
                let within = (at - block.start) as usize..(end - block.start) as usize;
                part.copy_from_slice(kept.get(within).ok_or_else(|| damaged("a block is cut short"))?);
            }
            (at, rest) = (end, behind);
        }
        Ok(length as usize)
    }

    /// The whole image, with zeros where blocks are lost, and the lost parts.
    pub(crate) fn image<F: ReadAt + ?Sized>(&self, file: &F) -> (Vec<u8>, Vec<LostBlocks>) {
        let mut image = vec![0; self.len() as usize];
        let mut lost: Vec<LostBlocks> = Vec::new();
        for (index, block) in (0..).zip(image.chunks_mut(self.header.block as usize)) {
            let Err(error) = self.restore(file, index, block) else { continue };
            block.fill(0);
            let (range, why) = (self.header.range(index), error.to_string());
            match lost.last_mut() {
                Some(last) if last.range.end == range.start && last.why == why => last.range.end = range.end,
                _ => lost.push(LostBlocks { range, why }),
            }
        }
        (image, lost)
    }

    /// The copies of header, dictionary and table that are damaged, as ranges of the file with the name of the part.
    /// The other copy is used, so that nothing is lost yet.
    pub(crate) fn damaged_copies<F: ReadAt + ?Sized>(&self, file: &F) -> Vec<(Range<u32>, &'static str)> {
        let Header { file: end, dictionary, dictionary_crc, table_crc, .. } = self.header;
        let header = self.header.encode();
        let mut damaged = Vec::new();
        let mut check = |places: [u32; 2], length: u32, what, is_whole: &dyn Fn(&[u8]) -> bool| {
            for place in places {
                if length > 0 && !read_exact(file, u64::from(place), length).is_ok_and(|bytes| is_whole(&bytes)) {
                    damaged.push((place..place.saturating_add(length), what));
                }
            }
        };
        check([0, end.saturating_sub(HEADER)], HEADER, "header", &|bytes| *bytes == header);
        let places = self.header.dictionary_places();
        check(places, dictionary, "dictionary", &|bytes| checksum::crc32c(bytes) == dictionary_crc);
        let places = self.header.table_places();
        check(places, self.header.table(), "block table", &|bytes| checksum::crc32c(bytes) == table_crc);
        damaged
    }

    /// A block, from the cache of recent ones if possible.
    fn block<F: ReadAt + ?Sized>(&self, file: &F, index: u32) -> io::Result<Arc<[u8]>> {
        if let Some(block) = self.recent.get(index) {
            return Ok(block);
        }
        let mut block = vec![0; self.header.range(index).len()];
        self.restore(file, index, &mut block)?;
        let block: Arc<[u8]> = block.into();
        self.recent.put(index, block.clone());
        Ok(block)
    }

    /// Reads block `index`, which is as long as `out`.
    fn restore<F: ReadAt + ?Sized>(&self, file: &F, index: u32, out: &mut [u8]) -> io::Result<()> {
        let (place, crc) = self.table.stored(index).ok_or_else(|| damaged("there is no such block"))?;
        let stored = read_exact(file, u64::from(place.start), place.end - place.start)?;
        if checksum::crc32c(&stored) != crc {
            return Err(damaged("the checksum of a block does not match"));
        }
        restore(&stored, self.dictionary.as_ref(), out)
    }
}

impl fmt::Debug for CompressedSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompressedSegment").field("header", &self.header).finish_non_exhaustive()
    }
}

/// The header in front, or else the one at the end.
fn read_header<F: ReadAt + ?Sized>(file: &F) -> io::Result<Header> {
    let at = |offset| read_exact(file, offset, HEADER).and_then(|bytes| Header::parse(&bytes).map_err(damaged));
    let front = match at(0) {
        Ok(header) => return Ok(header),
        Err(error) => error,
    };
    let size = file.size()?;
    let rear = size.checked_sub(u64::from(HEADER)).and_then(|offset| at(offset).ok());
    rear.filter(|header| u64::from(header.file) == size).ok_or(front)
}

/// The first of two copies whose checksum matches.
fn read_copy<F: ReadAt + ?Sized>(
    file: &F,
    places: [u32; 2],
    length: u32,
    crc: u32,
    why: &'static str,
) -> io::Result<Vec<u8>> {
    let mut failure = damaged(why);
    for place in places {
        match read_exact(file, u64::from(place), length) {
            Ok(bytes) if checksum::crc32c(&bytes) == crc => return Ok(bytes),
            Ok(_) => {}
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Blocks kept of each segment: neighbours are read together, by several readers at once.
const KEPT: usize = 8;

/// The last blocks, the newest in front. The lock is held only to move pointers, never to decompress a block.
#[derive(Debug, Default)]
struct Recent {
    blocks: Mutex<VecDeque<(u32, Arc<[u8]>)>>,
}

impl Recent {
    fn get(&self, index: u32) -> Option<Arc<[u8]>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let at = blocks.iter().position(|(kept, _)| *kept == index)?;
        let block = blocks.remove(at)?;
        let bytes = block.1.clone();
        blocks.push_front(block);
        Some(bytes)
    }

    fn put(&self, index: u32, bytes: Arc<[u8]>) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        // Two readers may have missed the same block.
        blocks.retain(|(kept, _)| *kept != index);
        blocks.truncate(KEPT - 1);
        blocks.push_front((index, bytes));
    }
}
