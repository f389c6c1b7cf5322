//! A file of blocks: the valid prefix is read, blocks are appended, and any other change rewrites the file.

use std::{
    fs::{self, Metadata},
    io::{self, BufReader, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use memory_core::{Hash, ModelId};
use memory_files::{DataFile, seal::KeySet};

pub(super) use super::disk::remove;
use super::{
    anchor::Anchor,
    block::{BlockHeader, HEADER},
    disk,
    header::{Format, file_name},
    packs::{self, FileSource, Packs},
    turn::Turn,
};
use crate::checksum;

/// Read-ahead in bytes; a block of a few nodes is smaller.
const BUFFER: usize = 64 << 10;
/// Maximum bytes of a body.
const LONGEST_BODY: u64 = 4 << 30;

/// A file of consecutive blocks that cover nodes from 1 without a gap.
///
/// Only the blocks before the first invalid one are used: each is undamaged, and the leaf of its last node matches the
/// log. Bytes after them are not an error.
#[derive(Debug)]
pub(super) struct BlockFile {
    path: PathBuf,
    /// Packs that may contain the file.
    packs: Arc<Packs>,
    header: Vec<u8>,
    anchor: Anchor,
    /// True if the file exists with the expected header.
    fits: bool,
    /// Valid blocks.
    blocks: Vec<ValidBlock>,
    /// True if the file is longer than its valid blocks.
    overlong: bool,
    /// Identity of the file when this process last read or wrote it.
    seen: Option<FileIdentity>,
    /// [Generation](Packs::generation) of the packs when the file was last found unchanged.
    generation: AtomicU64,
    /// True if the last read failed. The file is not overwritten until it can be read.
    is_unread: bool,
}

/// Identity of a file's contents, by metadata.
#[derive(Clone, Debug, PartialEq)]
enum FileIdentity {
    Loose(u64, u64, Option<SystemTime>),
    Packed(PathBuf),
}

impl FileIdentity {
    fn loose(file: &Metadata) -> Self {
        Self::Loose(file.ino(), file.len(), file.modified().ok())
    }

    fn of(source: &FileSource) -> io::Result<Self> {
        Ok(match source {
            FileSource::Loose(file) => Self::loose(&file.metadata()?),
            FileSource::Packed(packed) => Self::Packed(packed.path().to_owned()),
        })
    }
}

/// A valid block in the file.
#[derive(Clone, Debug)]
pub(super) struct ValidBlock {
    pub(super) header: BlockHeader,
    begin: u64,
    pub(super) rows_at: u64,
    end: u64,
}

/// A block to be written.
#[derive(Debug)]
pub(super) struct NewBlock {
    header: BlockHeader,
    bytes: Vec<u8>,
}

impl NewBlock {
    /// A block with the header of [`BlockHeader::of`].
    pub(super) fn new(nodes: (u64, u64), leaf: Hash, body: &[u8], rows: &[u8], rows_sum: u32) -> Self {
        let header = BlockHeader::of(nodes, leaf, body, rows, rows_sum);
        Self { bytes: [&header.bytes(), body, rows].concat(), header }
    }
}

/// A new file that has not replaced the old one yet.
#[derive(Debug)]
pub(super) struct Staged {
    file: DataFile,
    blocks: Vec<ValidBlock>,
}

impl BlockFile {
    /// The file of a conversation and `model`, loose or in `packs`, unread. `fields` are those of the expected header.
    pub(super) fn new(
        packs: &Arc<Packs>,
        anchor: Anchor,
        model: &ModelId,
        (format, extension): (Format, &str),
        fields: &[u8],
    ) -> Self {
        let (model, conversation) = (model.as_str(), anchor.conversation().as_str());
        Self {
            path: packs.dir().join(file_name(conversation, model)).with_extension(extension),
            packs: Arc::clone(packs),
            header: format.header(anchor.store(), fields, [model, conversation]),
            anchor,
            fits: false,
            blocks: Vec::new(),
            overlong: false,
            seen: None,
            generation: AtomicU64::new(0),
            is_unread: false,
        }
    }

    /// Opens this or another file of the conversation, loose or in a pack.
    pub(super) fn open(&self, path: &Path) -> io::Result<FileSource> {
        packs::open(path, &self.packs)
    }

    /// Makes the packed files of the conversation loose, so that they can be written. The caller holds the turn.
    pub(super) fn unpack(&self) -> io::Result<()> {
        self.packs.unpack(&self.path)
    }

    /// Removes old copies of the conversation's rewritten files from the packs. The caller holds the turn.
    pub(super) fn leave_packs(&self) -> io::Result<()> {
        let own = self.path.file_stem().and_then(|stem| stem.to_str());
        self.packs.forget(|stem| Some(stem) == own)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    pub(super) fn blocks(&self) -> &[ValidBlock] {
        &self.blocks
    }

    /// Bytes of the valid prefix.
    pub(super) fn bytes(&self) -> u64 {
        let header = if self.fits { self.header.len() as u64 } else { 0 };
        self.blocks.last().map_or(header, |last| last.end)
    }

    /// Bytes on the heap.
    pub(super) fn heap(&self) -> usize {
        self.path.capacity() + self.header.capacity() + self.blocks.capacity() * size_of::<ValidBlock>()
    }

    /// Last node of the valid blocks.
    pub(super) fn through(&self) -> u64 {
        self.blocks.last().map_or(0, |last| last.header.last)
    }

    /// True if the file must be rewritten before blocks can be appended.
    pub(super) fn is_overlong(&self) -> bool {
        self.overlong
    }

    /// Keys of the conversation's files.
    pub(super) fn keys(&self) -> &KeySet {
        self.packs.keys()
    }

    /// Waits for the turn; `None` if another process keeps it.
    pub(super) fn turn(&self) -> io::Result<Option<Turn>> {
        Turn::wait(self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Reads the valid blocks, passing each with its body to `apply`. A block that `apply` rejects ends the valid
    /// prefix. Returns the file, if it exists.
    ///
    /// # Errors
    /// If the file cannot be checked, for example for lack of descriptors or memory.
    pub(super) fn read(&mut self, apply: impl FnMut(&BlockHeader, &[u8]) -> bool) -> io::Result<Option<FileSource>> {
        self.forget();
        self.read_good(apply).inspect_err(|_| self.leave_alone())
    }

    fn read_good(&mut self, mut apply: impl FnMut(&BlockHeader, &[u8]) -> bool) -> io::Result<Option<FileSource>> {
        // Read before the file is opened, so that a concurrent change is noticed later.
        let generation = self.packs.generation();
        let file = match self.open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = file.len()?;
        (self.seen, self.generation) = (Some(FileIdentity::of(&file)?), AtomicU64::new(generation));
        let buffer = usize::try_from(length).unwrap_or(BUFFER).min(BUFFER);
        let mut input = BufReader::with_capacity(buffer, file.reader());
        let mut body = vec![0; self.header.len()];
        self.fits = fill(&mut input, &mut body)? && body == self.header;
        while let Some(placed) = self.next_block(&mut input, length, &mut body)?
            && apply(&placed.header, &body)
        {
            input.seek_relative(i64::try_from(placed.header.row_bytes).unwrap_or(i64::MAX))?;
            self.blocks.push(placed);
        }
        let (path, good) = (self.path.display(), self.bytes());
        self.overlong = good < length;
        match good {
            0 => tracing::warn!(%path, of = length, "a derived file does not fit: it is derived again"),
            // Usually another process is writing it.
            _ if self.overlong => tracing::info!(%path, good, of = length, "the end of a derived file is not whole"),
            _ => {}
        }
        drop(input);
        Ok(Some(file))
    }

    /// Reads the next valid block, its body into `body`.
    fn next_block(&self, input: &mut impl Read, length: u64, body: &mut Vec<u8>) -> io::Result<Option<ValidBlock>> {
        if !self.fits {
            return Ok(None);
        }
        body.resize(HEADER, 0);
        if !fill(input, body)? {
            return Ok(None);
        }
        let Some(header) = BlockHeader::read(body) else { return Ok(None) };
        let begin = self.bytes();
        let rows_at = header.body_bytes.checked_add(begin + HEADER as u64);
        let end = rows_at.and_then(|rows_at| rows_at.checked_add(header.row_bytes));
        // Checked before memory is allocated.
        let (Some(rows_at), Some(end)) = (rows_at, end.filter(|end| *end <= length)) else { return Ok(None) };
        let follows = header.first == self.through() + 1 && header.last >= header.first;
        let Some(bytes) = usize::try_from(header.body_bytes).ok().filter(|_| header.body_bytes <= LONGEST_BODY) else {
            return Ok(None);
        };
        body.resize(bytes, 0);
        let is_good = follows
            && fill(input, body)?
            && checksum::crc32c(body) == header.body_sum
            && self.anchor.leaf(header.last) == Some(header.leaf);
        Ok(is_good.then_some(ValidBlock { header, begin, rows_at, end }))
    }

    /// True if no other process has written to the file since this process last read or wrote it.
    pub(super) fn is_as_it_was(&self) -> io::Result<bool> {
        let file = match self.open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self.bytes() == 0 && !self.is_unread),
            Err(error) => return Err(error),
        };
        let Some(last) = self.blocks.last() else { return Ok(false) };
        let mut header = [0; HEADER];
        let is_there = file.read_exact_at(&mut header, last.begin).is_ok();
        Ok(is_there && header == last.header.bytes() && file.len()? == last.end)
    }

    /// True if the file was replaced or changed since this process last read or wrote it. Reads only metadata.
    pub(super) fn is_outdated(&self) -> bool {
        let generation = self.packs.generation();
        let is_packed = matches!(self.seen, Some(FileIdentity::Packed(_)));
        if is_packed && generation == self.generation.load(Ordering::Relaxed) {
            return false;
        }
        let found = match fs::symlink_metadata(&self.path) {
            Ok(loose) => Some(FileIdentity::loose(&loose)),
            Err(_) => match self.packs.find(packs::name_of(&self.path)) {
                Ok(found) => found.map(|packed| FileIdentity::Packed(packed.path().to_owned())),
                Err(_) => return true,
            },
        };
        self.generation.store(generation, Ordering::Relaxed);
        found != self.seen
    }

    /// Treats the blocks from index `from` on as invalid.
    pub(super) fn drop_blocks(&mut self, from: usize) {
        self.overlong |= from < self.blocks.len();
        self.blocks.truncate(from);
    }

    /// Forgets everything that was read.
    pub(super) fn forget(&mut self) {
        self.blocks.clear();
        (self.fits, self.overlong, self.seen, self.is_unread) = (false, false, None, false);
    }

    /// Marks the file as currently unreadable.
    pub(super) fn leave_alone(&mut self) {
        self.forget();
        self.is_unread = true;
    }

    /// Appends blocks to the valid ones.
    pub(super) fn append(&mut self, blocks: impl IntoIterator<Item = io::Result<NewBlock>>) -> io::Result<DataFile> {
        let (file, mut written) = self.extend(blocks)?;
        file.sync_data()?;
        (self.fits, self.seen) = (true, file.metadata().ok().map(|file| FileIdentity::loose(&file)));
        self.blocks.append(&mut written);
        Ok(file)
    }

    fn extend(
        &self,
        blocks: impl IntoIterator<Item = io::Result<NewBlock>>,
    ) -> io::Result<(DataFile, Vec<ValidBlock>)> {
        if self.bytes() == 0 {
            let file = disk::create(&self.path, self.packs.keys())?;
            let written = self.write_all(&file, blocks)?;
            return Ok((file, written));
        }
        self.unpack()?;
        let file = disk::open_written(&self.path, self.packs.keys())?;
        let written = write(&file, self.bytes(), blocks)?;
        Ok((file, written))
    }

    /// Writes a new file of these blocks next to this one. Maps of the old file stay valid when it is replaced.
    pub(super) fn stage(&self, blocks: impl IntoIterator<Item = io::Result<NewBlock>>) -> io::Result<Staged> {
        let file = disk::create(&temporary(&self.path), self.packs.keys())?;
        let blocks = self.write_all(&file, blocks)?;
        file.sync_all()?;
        Ok(Staged { file, blocks })
    }

    /// Replaces this file with a staged one.
    pub(super) fn commit(&mut self, staged: Staged) -> io::Result<DataFile> {
        disk::rename(&temporary(&self.path), &self.path)?;
        self.forget();
        (self.fits, self.blocks) = (true, staged.blocks);
        self.seen = staged.file.metadata().ok().map(|file| FileIdentity::loose(&file));
        Ok(staged.file)
    }

    fn write_all(
        &self,
        file: &DataFile,
        blocks: impl IntoIterator<Item = io::Result<NewBlock>>,
    ) -> io::Result<Vec<ValidBlock>> {
        file.write_all_at(&self.header, 0)?;
        write(file, self.header.len() as u64, blocks)
    }

    /// Removes the file, and files of the same name with other extensions.
    pub(super) fn remove(&mut self, beside: &[&str]) -> io::Result<()> {
        self.forget();
        let mut paths = vec![self.path.clone()];
        paths.extend(beside.iter().map(|extension| self.path.with_extension(extension)));
        // Another process must not write between its check of the files and its block. The files are removed even
        // without the turn.
        let is_there = |path: &PathBuf| self.open(path).is_ok();
        let _turn = if paths.iter().any(is_there) { self.turn()? } else { None };
        // Loose files take precedence, so that no older data becomes visible between the two removals.
        self.leave_packs()?;
        paths.iter().try_for_each(|path| disk::remove(path))
    }
}

/// Path of the new file that will be renamed to `path`.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

fn write(
    file: &DataFile,
    mut at: u64,
    blocks: impl IntoIterator<Item = io::Result<NewBlock>>,
) -> io::Result<Vec<ValidBlock>> {
    let mut written = Vec::new();
    for block in blocks {
        let NewBlock { header, bytes } = block?;
        file.write_all_at(&bytes, at)?;
        let (begin, rows_at) = (at, at + HEADER as u64 + header.body_bytes);
        at += bytes.len() as u64;
        written.push(ValidBlock { header, begin, rows_at, end: at });
    }
    Ok(written)
}

/// Reads exactly enough bytes to fill the buffer; `false` if the file is shorter.
fn fill(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
