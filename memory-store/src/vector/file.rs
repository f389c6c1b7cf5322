//! The cache file of one conversation's vectors: a header, and blocks that are appended, by one process at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use memory_core::{ConversationId, Hash, ModelId, NodeId, Slot};

use crate::log::{Leaves, StoreId};

const MAGIC: &[u8; 8] = b"MEMVEC\r\n";
const FORMAT: u32 = 2;
const BLOCK_MAGIC: [u8; 4] = *b"blok";
/// Magic, first node, last node, its leaf, number of vectors, checksum.
const BLOCK_HEADER: usize = 4 + 8 + 8 + 32 + 4 + 4;
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(1);
/// Node and chunk of a vector.
const SLOT_BYTES: usize = 8 + 4;

/// Bytes at the beginning of a file that say what it is and of which store.
pub(crate) const NAMED_BY: usize = 8 + 4 + 16;

/// Whether the file that begins with `header` was derived from the log of this store.
pub(crate) fn is_of_store(header: &[u8; NAMED_BY], store: StoreId) -> bool {
    *header == *[MAGIC.as_slice(), &FORMAT.to_le_bytes(), &store].concat()
}

/// Vectors of a conversation, one behind the other.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Vectors {
    pub(crate) slots: Vec<Slot>,
    /// `slots.len()` times the dimensions.
    pub(crate) components: Vec<f32>,
    /// All nodes up to here are in.
    pub(crate) through: u64,
}

/// Where a conversation's vectors are kept between runs.
#[derive(Debug)]
pub(crate) struct VectorFile {
    path: PathBuf,
    conversation: ConversationId,
    /// The log that the vectors are derived from, where the index stands beside one.
    leaves: Option<Leaves>,
    header: Vec<u8>,
    dimensions: usize,
    /// How much of it is good.
    good: Good,
}

/// How far a file is good: undamaged, and of this log. Nothing is where there is no file, or none that fits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Good {
    bytes: u64,
    /// The vectors of all nodes up to here are in.
    through: u64,
    /// Where the last block begins, and how: whether the file is still the same is told by it.
    last: Option<(u64, [u8; BLOCK_HEADER])>,
}

/// Where a block ends.
#[derive(Clone, Copy, Debug)]
struct End {
    through: u64,
    leaf: Hash,
}

/// The right to write to the files of a directory, which one opening at a time has. It dies with its process.
struct Turn {
    _dir: File,
}

impl VectorFile {
    /// The file for `conversation` and `model` in `dir`, and what of it is good: undamaged, and derived from the
    /// log of `leaves`. Whatever else is in it is overwritten by the next [`Self::append`]; nothing about it is
    /// an error.
    pub(crate) fn load(
        dir: &Path,
        leaves: Option<&Leaves>,
        conversation: &ConversationId,
        model: &ModelId,
        dimensions: usize,
    ) -> (Self, Vectors) {
        let name = Hash::of_parts([conversation.as_str().as_bytes(), model.as_str().as_bytes()]).to_string();
        let path = dir.join(name).with_extension("vec");
        let store = leaves.map_or([0; 16], Leaves::store);
        let header = header(store, conversation, model, dimensions);
        let (conversation, leaves) = (conversation.clone(), leaves.cloned());
        let mut file = Self { path, conversation, leaves, header, dimensions, good: Good::default() };
        let vectors = file.read();
        (file, vectors)
    }

    /// Reads what of the file is good.
    fn read(&mut self) -> Vectors {
        let mut vectors = Vectors::default();
        self.good = Good::default();
        match fs::read(&self.path) {
            Ok(bytes) => {
                self.good = self.read_blocks(&bytes, &mut vectors);
                let (path, good, of) = (self.path.display(), self.good.bytes, bytes.len());
                match good {
                    0 => tracing::warn!(%path, of, "a vector cache does not fit: rebuilding"),
                    // Most often another process is writing it at this moment.
                    _ if good < of as u64 => tracing::info!(%path, good, of, "the end of a vector cache is not whole"),
                    _ => {}
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = %self.path.display(), %error, "a vector cache cannot be read"),
        }
        vectors
    }

    /// Takes in blocks up to the first that is not good.
    fn read_blocks(&self, bytes: &[u8], vectors: &mut Vectors) -> Good {
        let Some(mut rest) = bytes.strip_prefix(self.header.as_slice()) else { return Good::default() };
        let mut last = None;
        while let Some(behind) = self.read_block(rest, vectors) {
            let at = (bytes.len() - rest.len()) as u64;
            last = rest.first_chunk().map(|header| (at, *header));
            rest = behind;
        }
        Good { bytes: (bytes.len() - rest.len()) as u64, through: vectors.through, last }
    }

    fn read_block<'a>(&self, bytes: &'a [u8], vectors: &mut Vectors) -> Option<&'a [u8]> {
        let (header, behind) = bytes.split_first_chunk::<BLOCK_HEADER>()?;
        let (fields, checksum) = header.split_last_chunk::<4>()?;
        let (magic, fields) = fields.split_first_chunk::<4>()?;
        let (first, fields) = fields.split_first_chunk::<8>()?;
        let (last, fields) = fields.split_first_chunk::<8>()?;
        let (leaf, count) = fields.split_first_chunk::<32>()?;
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        let count = u32::from_le_bytes(*count.first_chunk::<4>()?) as usize;
        let body = behind.get(..count.checked_mul(SLOT_BYTES + 4 * self.dimensions)?)?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(header.get(..BLOCK_HEADER - 4)?), body);
        let follows = *magic == BLOCK_MAGIC && first == vectors.through + 1 && last >= first;
        if !follows || crc != u32::from_le_bytes(*checksum) {
            return None;
        }
        if self.leaf(last)?.as_bytes() != leaf {
            return None;
        }
        let (slots, components) = body.split_at_checked(count * SLOT_BYTES)?;
        let slots: Option<Vec<Slot>> = slots.as_chunks::<SLOT_BYTES>().0.iter().map(read_slot).collect();
        vectors.slots.extend(slots?);
        vectors.components.extend(components.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        vectors.through = last;
        behind.get(body.len()..)
    }

    /// The leaf of a node, zeros beside no log; `None` when the log has no such node or cannot read it.
    fn leaf(&self, node: u64) -> Option<Hash> {
        match &self.leaves {
            Some(leaves) => leaves.get(&self.conversation, NodeId::new(node)?),
            None => Some(Hash::from_bytes([0; 32])),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file; the next [`Self::save`] makes it anew.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        self.good = Good::default();
        // Not between another process's look at the file and its block; but gone it will be.
        let _turn = if self.path.exists() { self.turn()? } else { None };
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Bytes of it that are good.
    pub(crate) fn bytes(&self) -> u64 {
        self.good.bytes
    }

    /// Puts on disk what of the vectors is not there yet. Where another process has put there more than these, they
    /// become what it has put there.
    ///
    /// Puts nothing there while another process is writing, for the next time; and nothing behind the last node that
    /// the log can read: later nobody could tell whose vectors they are.
    pub(crate) fn save(&mut self, vectors: &mut Vectors) -> io::Result<()> {
        if vectors.through <= self.good.through {
            return Ok(());
        }
        let Some(end) = self.end(vectors.through) else { return Ok(()) };
        let Some(_turn) = self.turn()? else {
            tracing::warn!(path = %self.path.display(), "another process is writing vectors: these are saved later");
            return Ok(());
        };
        if !self.is_as_it_was() {
            let theirs = self.read();
            if theirs.through >= vectors.through {
                *vectors = theirs;
                return Ok(());
            }
        }
        match self.good {
            good if good.through >= end.through => Ok(()),
            Good { bytes: 0, .. } => self.rewrite(vectors, end),
            _ => self.append(vectors, end),
        }
    }

    /// The last node up to `through`, and behind what is on disk, that can be read; none where the log does not have
    /// all of these nodes.
    fn end(&self, through: u64) -> Option<End> {
        if self.leaves.as_ref().is_some_and(|leaves| leaves.count(&self.conversation) < through) {
            return None;
        }
        let behind = self.good.through + 1..=through;
        behind.rev().find_map(|node| Some(End { through: node, leaf: self.leaf(node)? }))
    }

    /// Waits for the right to write; `None` when another process keeps it.
    fn turn(&self) -> io::Result<Option<Turn>> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir)?;
        // The directory, since the file is replaced now and then.
        let dir = File::open(dir)?;
        let start = Instant::now();
        loop {
            match dir.try_lock() {
                Ok(()) => return Ok(Some(Turn { _dir: dir })),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Whether nobody else has written to the file since it was read or written here.
    fn is_as_it_was(&self) -> bool {
        let Ok(file) = File::open(&self.path) else { return self.good.bytes == 0 };
        let mut header = [0; BLOCK_HEADER];
        let Some((at, expected)) = self.good.last else { return false };
        let read = file.read_exact_at(&mut header, at);
        file.metadata().is_ok_and(|file| file.len() == self.good.bytes) && read.is_ok() && header == expected
    }

    fn append(&mut self, vectors: &Vectors, end: End) -> io::Result<()> {
        let block = self.block(vectors, end);
        let file = OpenOptions::new().write(true).open(&self.path)?;
        file.set_len(self.good.bytes)?;
        file.write_all_at(&block, self.good.bytes)?;
        file.sync_data()?;
        self.note(self.good.bytes, &block, end);
        Ok(())
    }

    fn rewrite(&mut self, vectors: &Vectors, end: End) -> io::Result<()> {
        let temporary = self.path.with_extension("tmp");
        let block = self.block(vectors, end);
        let file = File::create(&temporary)?;
        file.write_all_at(&[self.header.as_slice(), &block].concat(), 0)?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)?;
        self.note(self.header.len() as u64, &block, end);
        Ok(())
    }

    /// Notes that a block was written.
    fn note(&mut self, at: u64, block: &[u8], end: End) {
        let last = block.first_chunk().map(|header| (at, *header));
        self.good = Good { bytes: at + block.len() as u64, through: end.through, last };
    }

    /// The vectors of the nodes behind those on disk, up to `end`.
    fn block(&self, vectors: &Vectors, end: End) -> Vec<u8> {
        let through = |node: u64| vectors.slots.partition_point(|slot| slot.node.get() <= node);
        let (from, to) = (through(self.good.through), through(end.through));
        let slots = vectors.slots.get(from..to).unwrap_or_default();
        let components = vectors.components.get(from * self.dimensions..to * self.dimensions).unwrap_or_default();
        let mut out = Vec::with_capacity(BLOCK_HEADER + slots.len() * SLOT_BYTES + components.len() * 4);
        out.extend_from_slice(&BLOCK_MAGIC);
        out.extend_from_slice(&(self.good.through + 1).to_le_bytes());
        out.extend_from_slice(&end.through.to_le_bytes());
        out.extend_from_slice(end.leaf.as_bytes());
        out.extend_from_slice(&u32::try_from(slots.len()).unwrap_or(u32::MAX).to_le_bytes());
        let mut body = Vec::with_capacity(slots.len() * SLOT_BYTES + components.len() * 4);
        for Slot { node, chunk } in slots {
            body.extend_from_slice(&node.get().to_le_bytes());
            body.extend_from_slice(&chunk.to_le_bytes());
        }
        body.extend(components.iter().flat_map(|component| component.to_le_bytes()));
        let crc = crc32c::crc32c_append(crc32c::crc32c(&out), &body);
        out.extend_from_slice(&crc.to_le_bytes());
        out.append(&mut body);
        out
    }
}

/// Names everything that must be the same for the vectors to be of use; compared as a whole.
fn header(store: StoreId, conversation: &ConversationId, model: &ModelId, dimensions: usize) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&store);
    out.extend_from_slice(&(dimensions as u64).to_le_bytes());
    for name in [model.as_str(), conversation.as_str()] {
        out.extend_from_slice(&(name.len() as u64).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
    }
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

fn read_slot(bytes: &[u8; SLOT_BYTES]) -> Option<Slot> {
    let (node, chunk) = bytes.split_first_chunk::<8>()?;
    let node = NodeId::new(u64::from_le_bytes(*node))?;
    Some(Slot { node, chunk: u32::from_le_bytes(*chunk.first_chunk::<4>()?) })
}
