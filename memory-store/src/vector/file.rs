//! The cache file of one conversation's vectors: a header, and blocks that are appended.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use memory_core::{ConversationId, Hash, ModelId, NodeId, Slot};

use crate::log::{Leaves, StoreId};

const MAGIC: &[u8; 8] = b"MEMVEC\r\n";
const FORMAT: u32 = 2;
const BLOCK_MAGIC: [u8; 4] = *b"blok";
/// Magic, first node, last node, its leaf, number of vectors, checksum.
const BLOCK_HEADER: usize = 4 + 8 + 8 + 32 + 4 + 4;
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
    /// How much of the file is good; 0 when there is none, or none that fits.
    good: u64,
}

/// How far vectors are on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The first slots, this many.
    pub(crate) slots: usize,
    /// They are those of the nodes up to this one.
    pub(crate) through: u64,
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
        let mut file = Self { path, conversation, leaves, header, dimensions, good: 0 };
        let mut vectors = Vectors::default();
        match fs::read(&file.path) {
            Ok(bytes) => {
                file.good = file.read(&bytes, &mut vectors);
                if file.good < bytes.len() as u64 {
                    let path = file.path.display();
                    tracing::warn!(%path, good = file.good, of = bytes.len(), "a vector cache does not fit: rebuilding");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = %file.path.display(), %error, "a vector cache cannot be read"),
        }
        (file, vectors)
    }

    /// Takes in blocks up to the first that is not good, and says how many bytes that were.
    fn read(&self, bytes: &[u8], vectors: &mut Vectors) -> u64 {
        let Some(mut rest) = bytes.strip_prefix(self.header.as_slice()) else { return 0 };
        while let Some(behind) = self.read_block(rest, vectors) {
            rest = behind;
        }
        (bytes.len() - rest.len()) as u64
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

    /// Removes the file; the next [`Self::append`] makes it anew.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        self.good = 0;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Bytes of it that are good.
    pub(crate) fn bytes(&self) -> u64 {
        self.good
    }

    /// Puts the vectors of the nodes behind `saved` on disk, as far as the last node that the log can read: of what
    /// comes behind it nobody could tell later whose vectors they are. Puts nothing there when the log does not have
    /// all these nodes. Gives how far it came.
    pub(crate) fn append(&mut self, vectors: &Vectors, saved: Saved) -> io::Result<Saved> {
        if self.leaves.as_ref().is_some_and(|leaves| leaves.count(&self.conversation) < vectors.through) {
            return Ok(saved);
        }
        let readable = |node| Some((node, self.leaf(node)?));
        let Some((through, leaf)) = (saved.through + 1..=vectors.through).rev().find_map(readable) else {
            return Ok(saved);
        };
        let slots = vectors.slots.partition_point(|slot| slot.node.get() <= through);
        let reached = Saved { slots, through };
        let size = fs::metadata(&self.path).map_or(0, |file| file.len());
        if self.good == 0 || size < self.good {
            // There is none that fits, or somebody has taken it away since.
            return self.rewrite(vectors, reached, &leaf).map(|()| reached);
        }
        let block = self.block(vectors, saved, reached, &leaf);
        let file = OpenOptions::new().write(true).open(&self.path)?;
        file.set_len(self.good)?;
        file.write_all_at(&block, self.good)?;
        file.sync_data()?;
        self.good += block.len() as u64;
        Ok(reached)
    }

    fn rewrite(&mut self, vectors: &Vectors, reached: Saved, leaf: &Hash) -> io::Result<()> {
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        let temporary = self.path.with_extension("tmp");
        let mut bytes = self.header.clone();
        bytes.extend(self.block(vectors, Saved::default(), reached, leaf));
        let file = File::create(&temporary)?;
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)?;
        self.good = bytes.len() as u64;
        Ok(())
    }

    fn block(&self, vectors: &Vectors, from: Saved, to: Saved, leaf: &Hash) -> Vec<u8> {
        let slots = vectors.slots.get(from.slots..to.slots).unwrap_or_default();
        let components = from.slots * self.dimensions..to.slots * self.dimensions;
        let components = vectors.components.get(components).unwrap_or_default();
        let mut out = Vec::with_capacity(BLOCK_HEADER + slots.len() * SLOT_BYTES + components.len() * 4);
        out.extend_from_slice(&BLOCK_MAGIC);
        out.extend_from_slice(&(from.through + 1).to_le_bytes());
        out.extend_from_slice(&to.through.to_le_bytes());
        out.extend_from_slice(leaf.as_bytes());
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
