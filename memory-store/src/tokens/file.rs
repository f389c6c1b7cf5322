//! The cache file of a conversation's tokens: blocks that are appended.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use memory_core::{ConversationId, Hash, ModelId, NodeId};

use super::{
    TokenBits,
    block::{Block, HEADER, read_entry},
    codec::Codec,
    kept::{Kept, MappedRows, OnDisk},
};
use crate::{
    cache_format::{self, CacheFormat, file_name, is_damage},
    checksum,
    log::Leaves,
    turn::Turn,
    vector::map::{ROWS_AT, RowMap},
};

pub(crate) const FORMAT: CacheFormat = CacheFormat { magic: *b"MEMTOK\r\n", version: 2 };
/// A block holds no more rows than this but for a node that alone has more: as many are lost when one is damaged.
const BLOCK_ROWS: u64 = 8192;
/// The most bytes of an index that are believed to be one.
const MAX_INDEX: u32 = 64 << 20;

/// Where a conversation's tokens are kept between runs.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    conversation: ConversationId,
    /// The log that the tokens are derived from, where the index stands beside one.
    leaves: Option<Leaves>,
    header: Vec<u8>,
    row_bytes: usize,
    /// The good blocks: undamaged, and of this log.
    blocks: Vec<Placed>,
    /// Whether there is more in the file than is good.
    overlong: bool,
    /// Whether there is something in the good blocks that the memory does not have any more.
    altered: bool,
    /// Whether the file could not be read when it was last looked at: whatever is in it, it is not written over before it
    /// can.
    is_unread: bool,
}

/// A block in the file.
#[derive(Clone, Debug)]
struct Placed {
    block: Block,
    header: [u8; HEADER],
    begin: u64,
    rows_at: u64,
    end: u64,
}

impl TokenFile {
    /// The file for `conversation` and `model` in `dir`, and what of it is good. Whatever else is in it is overwritten
    /// by the next [`Self::save`]; nothing about it is an error. A file that cannot be read for another reason than that is
    /// as good as none until it can.
    pub(super) fn load(
        dir: &Path,
        leaves: Option<&Leaves>,
        conversation: &ConversationId,
        model: &ModelId,
        (codec, bits): (&Codec, TokenBits),
    ) -> (Self, Kept) {
        let name = file_name(conversation, model);
        let store = leaves.map_or([0; 16], Leaves::store);
        let fields = [codec.dimensions(), bits.count()].map(|number| (number as u64).to_le_bytes());
        let mut file = Self {
            path: dir.join(name).with_extension("tok"),
            conversation: conversation.clone(),
            leaves: leaves.cloned(),
            header: FORMAT.header(store, &fields.concat(), [model.as_str(), conversation.as_str()]),
            row_bytes: codec.row_bytes(),
            blocks: Vec::new(),
            overlong: false,
            altered: false,
            is_unread: false,
        };
        let kept = file.read();
        (file, kept)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes on disk that are good.
    pub(super) fn bytes(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.end)
    }

    /// Reads what of the file is good; nothing where it cannot be read.
    fn read(&mut self) -> Kept {
        self.try_read().unwrap_or_else(|error| {
            tracing::warn!(path = %self.path.display(), %error, "a token cache cannot be read: it is left alone");
            Kept::default()
        })
    }

    /// Reads what of the file is good.
    ///
    /// # Errors
    /// When that cannot be told: for want of descriptors or of memory, say.
    fn try_read(&mut self) -> io::Result<Kept> {
        self.forget_all();
        let kept = self.read_good();
        if kept.is_err() {
            self.forget_all();
            self.is_unread = true;
        }
        kept
    }

    fn forget_all(&mut self) {
        self.blocks.clear();
        (self.overlong, self.is_unread) = (false, false);
    }

    fn read_good(&mut self) -> io::Result<Kept> {
        let mut kept = Kept::default();
        let opened = match cache_format::open(&self.path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(kept),
            Err(error) => return Err(error),
        };
        let length = opened.metadata()?.len();
        while let Some(placed) = self.read_block(&opened, length, &mut kept)? {
            self.blocks.push(placed);
        }
        match self.on_disk(&opened) {
            Ok(on_disk) => kept.rebase(on_disk, self.row_bytes),
            // It was cut meanwhile.
            Err(error) if is_damage(&error) => {
                tracing::warn!(path = %self.path.display(), %error, "a token cache cannot be mapped");
                (self.blocks, kept) = (Vec::new(), Kept::default());
            }
            Err(error) => return Err(error),
        }
        self.overlong = self.bytes() < length;
        if self.overlong {
            let (path, good) = (self.path.display(), self.bytes());
            tracing::info!(%path, good, of = length, "a token cache is not whole: what is missing is made again");
        }
        Ok(kept)
    }

    /// The good block behind those that were read, whose entries are added.
    fn read_block(&self, file: &File, length: u64, kept: &mut Kept) -> io::Result<Option<Placed>> {
        let begin = if let Some(last) = self.blocks.last() {
            last.end
        } else {
            let mut header = vec![0; self.header.len()];
            if !fill(file, &mut header, 0)? || header != self.header {
                return Ok(None);
            }
            header.len() as u64
        };
        let mut header = [0; HEADER];
        if !fill(file, &mut header, begin)? {
            return Ok(None);
        }
        let Some(placed) = self.place(header, begin, kept.through()) else { return Ok(None) };
        // Before any memory is asked for.
        if placed.end > length || placed.block.index_bytes > MAX_INDEX {
            return Ok(None);
        }
        let mut index = vec![0; placed.block.index_bytes as usize];
        if !fill(file, &mut index, begin + HEADER as u64)? {
            return Ok(None);
        }
        Ok(self.take_index(&placed, &index, kept).map(|()| placed))
    }

    /// The block of this header behind node `through`, and where it and its rows stand.
    fn place(&self, header: [u8; HEADER], begin: u64, through: u64) -> Option<Placed> {
        let block = Block::read(&header, through)?;
        let rows_at = (begin + HEADER as u64).checked_add(u64::from(block.index_bytes))?;
        let end = rows_at.checked_add(u64::from(block.rows).checked_mul(self.row_bytes as u64)?)?;
        Some(Placed { block, header, begin, rows_at, end })
    }

    /// Adds the entries of a block; `None`, and none is added, where it is not good.
    fn take_index(&self, placed: &Placed, index: &[u8], kept: &mut Kept) -> Option<()> {
        let block = &placed.block;
        if !Block::is_whole(&placed.header, index) || self.leaf(block.last)? != block.leaf {
            return None;
        }
        // What passed its checksum was written so; but nothing is believed that does not agree.
        let (mut nodes, mut rows, mut rest) = (kept.through(), 0_u64, index);
        while !rest.is_empty() {
            let (tokens, _, behind) = read_entry(rest)?;
            (nodes, rows, rest) = (nodes + 1, rows + u64::from(tokens), behind);
        }
        if nodes != block.last || rows != u64::from(block.rows) {
            return None;
        }
        rest = index;
        while !rest.is_empty() {
            rest = kept.push_entry(rest)?;
        }
        Some(())
    }

    /// The rows of the good blocks.
    fn on_disk(&self, file: &File) -> io::Result<OnDisk> {
        let Some(last) = self.blocks.last() else { return Ok(OnDisk::default()) };
        let behind = |at: u64| usize::try_from(at).map_or(0, |at| at.saturating_sub(ROWS_AT));
        let map = RowMap::of(file, behind(last.end))?;
        let mut first = 0;
        let blocks = self.blocks.iter().map(|placed| {
            let rows = first..first + u64::from(placed.block.rows);
            first = rows.end;
            let (first_node, sum) = (placed.block.first, placed.block.rows_sum);
            MappedRows { first_node, rows, at: behind(placed.rows_at), sum, checked: AtomicBool::new(false) }
        });
        Ok(OnDisk::new(Some(map), blocks.collect()))
    }

    /// The leaf of a node, zeros beside no log; `None` when the log has no such node or cannot read it.
    fn leaf(&self, node: u64) -> Option<Hash> {
        match &self.leaves {
            Some(leaves) => leaves.get(&self.conversation, NodeId::new(node)?),
            None => Some(Hash::from_bytes([0; 32])),
        }
    }

    /// Has the file written anew by the next [`Self::save`], all of it.
    pub(super) fn write_anew(&mut self) {
        self.altered = true;
    }

    /// Whether the file is to be written anew before anything is appended.
    fn wants_rewriting(&self) -> bool {
        self.overlong || self.altered
    }

    fn through(&self) -> u64 {
        self.blocks.last().map_or(0, |placed| placed.block.last)
    }

    /// Puts on disk what is not there yet. Where another process has put there more, it becomes what it has put there.
    ///
    /// Puts nothing there while another process is writing, for the next time; and nothing behind the last node that the
    /// log can read: later nobody could tell whose tokens they are.
    ///
    /// # Errors
    /// When the file cannot be read or written; the tokens are what they were, and owed still.
    pub(super) fn save(&mut self, kept: &mut Kept) -> io::Result<()> {
        if kept.through() <= self.through() && !self.wants_rewriting() {
            return Ok(());
        }
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let Some(_turn) = Turn::wait(dir)? else {
            tracing::warn!(path = %self.path.display(), "another process is writing tokens: these are saved later");
            return Ok(());
        };
        if !self.is_as_it_was()? {
            self.take_in(kept)?;
        }
        let Some(end) = self.end(kept) else { return Ok(()) };
        if self.wants_rewriting() { self.rewrite(kept, end) } else { self.append(kept, end) }
    }

    /// Takes in what another process has put there, and behind it what it has not.
    fn take_in(&mut self, kept: &mut Kept) -> io::Result<()> {
        let theirs = self.try_read()?;
        if !self.altered {
            let mine = std::mem::replace(kept, theirs);
            kept.take_behind(&mine, self.row_bytes);
            return Ok(());
        }
        // What is removed here is in it still, and what was found damaged may be: then this memory has it again, or it is
        // left out with all behind it.
        let mut all = theirs.without(&kept.nodes_without_tokens(), self.row_bytes);
        all.take_behind(kept, self.row_bytes);
        all.take_behind(&theirs, self.row_bytes);
        *kept = all;
        Ok(())
    }

    /// Whether nobody else has written to the file since it was read or written here.
    fn is_as_it_was(&self) -> io::Result<bool> {
        let file = match cache_format::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(self.blocks.is_empty() && !self.is_unread);
            }
            Err(error) => return Err(error),
        };
        let Some(last) = self.blocks.last() else { return Ok(false) };
        let mut header = [0; HEADER];
        let is_there = fill(&file, &mut header, last.begin)?;
        Ok(file.metadata()?.len() == last.end && is_there && header == last.header)
    }

    /// The last node that can be read, of those whose tokens there are; none where nothing is to be written.
    fn end(&self, kept: &Kept) -> Option<u64> {
        let through = kept.through();
        if self.leaves.as_ref().is_some_and(|leaves| leaves.count(&self.conversation) < through) {
            return None;
        }
        let first = if self.wants_rewriting() { 1 } else { self.through() + 1 };
        (first..=through).rev().find(|node| self.leaf(*node).is_some())
    }

    /// Writes the nodes behind those that are there.
    fn append(&mut self, kept: &mut Kept, end: u64) -> io::Result<()> {
        let is_new = self.blocks.is_empty();
        let file = if is_new { cache_format::create(&self.path) } else { cache_format::open_written(&self.path) }?;
        self.write(&file, kept, end)?;
        file.sync_data()?;
        kept.rebase(self.on_disk(&file)?, self.row_bytes);
        Ok(())
    }

    /// Makes the file anew: what is mapped by others stays as it is.
    fn rewrite(&mut self, kept: &mut Kept, end: u64) -> io::Result<()> {
        let mut all = Kept::default();
        all.take_behind(kept, self.row_bytes);
        let temporary = self.path.with_extension("tok.tmp");
        let file = cache_format::create(&temporary)?;
        let before = std::mem::take(&mut self.blocks);
        let written = self.write(&file, &all, end.min(all.through())).and_then(|()| file.sync_all());
        if let Err(error) = written.and_then(|()| fs::rename(&temporary, &self.path)) {
            self.blocks = before;
            return Err(error);
        }
        (self.overlong, self.altered) = (false, false);
        *kept = all;
        kept.rebase(self.on_disk(&file)?, self.row_bytes);
        Ok(())
    }

    /// Writes blocks of the nodes that are not in `self.blocks`, up to node `end`, and notes them.
    fn write(&mut self, file: &File, kept: &Kept, end: u64) -> io::Result<()> {
        let mut at = self.bytes();
        if self.blocks.is_empty() {
            file.write_all_at(&self.header, 0)?;
            at = self.header.len() as u64;
        }
        let mut blocks = Vec::new();
        let mut through = self.through();
        while through < end {
            let first_row = kept.rows_through(through);
            let full = |node: &u64| kept.rows_through(*node) - first_row > BLOCK_ROWS;
            let last = (through + 1..=end).find(full).map_or(end, |node| (node - 1).max(through + 1));
            let readable = (last..=end).find_map(|node| Some((node, self.leaf(node)?)));
            let Some((last, leaf)) = readable else { break };
            let index = kept.entries(through, last);
            let rows = first_row..kept.rows_through(last);
            let bytes = kept.unsaved(rows.clone(), self.row_bytes);
            let too_many = || io::Error::new(io::ErrorKind::FileTooLarge, "a block of 2^32 tokens");
            let block = Block {
                first: through + 1,
                last,
                leaf,
                index_bytes: u32::try_from(index.len()).map_err(|_| too_many())?,
                rows: u32::try_from(rows.end - rows.start).map_err(|_| too_many())?,
                rows_sum: checksum::crc32c(bytes),
            };
            let header = block.header(index);
            let rows_at = at + (header.len() + index.len()) as u64;
            let placed = Placed {
                header: *header.first_chunk().ok_or(io::ErrorKind::Other)?,
                block,
                begin: at,
                rows_at,
                end: rows_at + bytes.len() as u64,
            };
            file.write_all_at(&[&header, index, bytes].concat(), at)?;
            (at, through) = (placed.end, last);
            blocks.push(placed);
        }
        self.blocks.extend(blocks);
        Ok(())
    }

    /// Removes the file; the next [`Self::save`] makes it anew.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.forget_all();
        self.altered = false;
        // Not between another process's look at the file and its block; but gone it will be.
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let _turn = if self.path.exists() { Turn::wait(dir)? } else { None };
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Reads as many bytes as there should be; gives whether there are.
fn fill(file: &File, bytes: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
