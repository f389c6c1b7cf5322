//! One file of blocks, as `docs/format.md` describes it.

use std::{
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use memory_core::{Block, BlockKey, ConversationId, Hash, NodeId, NodeRange};

use crate::{
    cache_format::{self, CacheFormat},
    checksum,
    log::Leaves,
    turn::Turn,
};

pub(crate) const FORMAT: CacheFormat = CacheFormat { magic: *b"MEMBLK\r\n", version: 1 };
const BLOCK_MAGIC: [u8; 4] = *b"blok";
/// Magic, first node, last node, its leaf, length of the content, checksum over all of this and the content.
const BLOCK_HEADER: usize = 4 + 8 + 8 + 32 + 8 + 4;

/// Where the blocks of one kind and conversation are kept.
pub(super) struct BlockFile<'a> {
    path: PathBuf,
    leaves: &'a Leaves,
    conversation: &'a ConversationId,
    header: Vec<u8>,
}

/// A block in the bytes of a file.
struct Found<'a> {
    nodes: NodeRange,
    content: &'a [u8],
    /// Where it ends in the file.
    end: usize,
}

impl<'a> BlockFile<'a> {
    pub(super) fn new(path: PathBuf, leaves: &'a Leaves, key: &BlockKey<'a>) -> Self {
        let names = [key.kind, key.conversation.as_str()];
        let header = FORMAT.header(leaves.store(), &key.version.to_le_bytes(), names);
        Self { path, leaves, conversation: key.conversation, header }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The blocks up to the first that is not good.
    pub(super) fn read(&self) -> Vec<Block> {
        let bytes = match cache_format::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "a cache cannot be read: deriving it again");
                return Vec::new();
            }
        };
        let found = self.good(&bytes);
        if found.last().map_or(0, |last| last.end) < bytes.len() {
            // Most often another process is writing it at this moment.
            tracing::info!(path = %self.path.display(), blocks = found.len(), "a cache is not good to its end");
        }
        found.into_iter().map(|found| Block { nodes: found.nodes, bytes: found.content.into() }).collect()
    }

    /// Puts a block behind those that end before it; `false` where it does not fit.
    ///
    /// Nothing is synced: what a power failure leaves is told by its checksum, and to derive it again takes less time
    /// than the disk would.
    pub(super) fn write(&self, block: &Block) -> io::Result<bool> {
        let Some(leaf) = self.leaves.get(self.conversation, block.nodes.last()) else { return Ok(false) };
        let Some(_turn) = Turn::wait(self.path.parent().unwrap_or(Path::new(".")))? else { return Ok(false) };
        let there = match cache_format::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let good = self.good(&there);
        let reached = good.last().map(|last| last.nodes.last());
        let keep = match block.nodes.first().previous() {
            None => Some(self.header.len()),
            Some(before) => good.iter().find(|found| found.nodes.last() == before).map(|found| found.end),
        };
        let Some(keep) = keep.filter(|_| reached < Some(block.nodes.last())) else { return Ok(false) };
        let file = match cache_format::open_written(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => cache_format::create(&self.path)?,
            opened => opened?,
        };
        // Cut first: nobody is to take what is behind for a part of what is written now.
        file.set_len(keep as u64)?;
        if good.is_empty() {
            file.write_all_at(&self.header, 0)?;
        }
        file.write_all_at(&encode(block, leaf), keep as u64)?;
        Ok(true)
    }

    fn good<'b>(&self, bytes: &'b [u8]) -> Vec<Found<'b>> {
        let mut good: Vec<Found<'b>> = Vec::new();
        let Some(mut rest) = bytes.strip_prefix(self.header.as_slice()) else { return good };
        while let Some((nodes, leaf, content, behind)) = decode(rest) {
            let next = good.last().map_or(NodeId::FIRST, |last| last.nodes.last().next());
            if nodes.first() != next || self.leaves.get(self.conversation, nodes.last()) != Some(leaf) {
                break;
            }
            good.push(Found { nodes, content, end: bytes.len() - behind.len() });
            rest = behind;
        }
        good
    }
}

fn encode(block: &Block, leaf: Hash) -> Vec<u8> {
    let mut out = Vec::with_capacity(BLOCK_HEADER + block.bytes.len());
    out.extend_from_slice(&BLOCK_MAGIC);
    out.extend_from_slice(&block.nodes.first().get().to_le_bytes());
    out.extend_from_slice(&block.nodes.last().get().to_le_bytes());
    out.extend_from_slice(leaf.as_bytes());
    out.extend_from_slice(&(block.bytes.len() as u64).to_le_bytes());
    let crc = checksum::crc32c_append(checksum::crc32c(&out), &block.bytes);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&block.bytes);
    out
}

/// The nodes, leaf and content of the block that begins here, if it is whole, and what is behind it.
fn decode(bytes: &[u8]) -> Option<(NodeRange, Hash, &[u8], &[u8])> {
    let (header, behind) = bytes.split_first_chunk::<BLOCK_HEADER>()?;
    let (fields, sum) = header.split_last_chunk::<4>()?;
    let (magic, rest) = fields.split_first_chunk::<4>()?;
    let (first, rest) = rest.split_first_chunk::<8>()?;
    let (last, rest) = rest.split_first_chunk::<8>()?;
    let (leaf, length) = rest.split_first_chunk::<32>()?;
    let length = usize::try_from(u64::from_le_bytes(*length.first_chunk()?)).ok()?;
    let (content, behind) = behind.split_at_checked(length)?;
    let is_whole = checksum::crc32c_append(checksum::crc32c(fields), content) == u32::from_le_bytes(*sum);
    let node = |bytes: &[u8; 8]| NodeId::new(u64::from_le_bytes(*bytes));
    let nodes = NodeRange::new(node(first)?, node(last)?)?;
    (*magic == BLOCK_MAGIC && is_whole).then_some((nodes, Hash::from_bytes(*leaf), content, behind))
}
