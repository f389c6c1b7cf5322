//! Cache file of a conversation's tokens: blocks with mapped rows.

use std::{
    io,
    ops::Range,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use memory_core::ModelId;

use super::{
    super::{
        anchor::Anchor,
        block::BlockHeader,
        disk::is_damage,
        file::{BlockFile, NewBlock},
        header::{TOKENS, file_name},
        map::{ROWS_AT, RowMap},
        packs::{Packs, Source},
    },
    TokenBits,
    codec::Codec,
    entries::read_entry,
    kept::{Kept, MappedRows, OnDisk},
};
use crate::checksum;

/// Maximum rows of a block, except for the rows of a single node, since damage to a block loses all of them.
const BLOCK_ROWS: u64 = 8192;

/// Extension of the files.
pub(super) const EXTENSIONS: &[&str] = &["tok"];

/// Cache file of a conversation's tokens.
#[derive(Debug)]
pub(super) struct TokenFile {
    file: BlockFile,
    row_bytes: usize,
    /// True if the file contains tokens that memory no longer has.
    altered: bool,
}

impl TokenFile {
    /// The file of a conversation and `model`, loose or in `packs`, with its valid part. The next [`Self::save`]
    /// overwrites the rest, which is not an error. A file that cannot be read for another reason than damage counts as
    /// missing until it can be read.
    pub(super) fn load(
        packs: &Arc<Packs>,
        anchor: Anchor,
        model: &ModelId,
        quantized: (&Codec, TokenBits),
    ) -> (Self, Kept) {
        let mut file = Self::new(packs, anchor, model, quantized);
        let kept = file.read();
        (file, kept)
    }

    /// The file of [`Self::load`], unread.
    pub(super) fn new(packs: &Arc<Packs>, anchor: Anchor, model: &ModelId, (codec, bits): (&Codec, TokenBits)) -> Self {
        let conversation = anchor.conversation().clone();
        let path = packs.dir().join(file_name(conversation.as_str(), model.as_str())).with_extension("tok");
        let fields = [codec.dimensions(), bits.count()].map(|number| (number as u64).to_le_bytes()).concat();
        let names = [model.as_str(), conversation.as_str()];
        let row_bytes = codec.row_bytes();
        let file = BlockFile::new(path, anchor, TOKENS, &fields, names).packed(Some(packs));
        Self { file, row_bytes, altered: false }
    }

    /// Last node of the valid blocks, and their number of tokens. Does not read their rows.
    ///
    /// # Errors
    /// If the file cannot be checked, for example for lack of descriptors or memory.
    pub(super) fn survey(&mut self) -> io::Result<(u64, u64)> {
        let (mut kept, row_bytes) = (Kept::default(), self.row_bytes as u64);
        self.file.read(|header, index| apply(header, index, row_bytes, &mut kept).is_some())?;
        Ok((kept.through(), kept.tokens()))
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Valid bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Reads the valid part of the file; nothing if it cannot be read.
    fn read(&mut self) -> Kept {
        self.try_read().unwrap_or_else(|error| {
            tracing::warn!(path = %self.path().display(), %error, "a token cache cannot be read: it is left alone");
            Kept::default()
        })
    }

    /// Reads the valid part of the file.
    ///
    /// # Errors
    /// If the file cannot be checked, for example for lack of descriptors or memory.
    pub(super) fn try_read(&mut self) -> io::Result<Kept> {
        let (mut kept, row_bytes) = (Kept::default(), self.row_bytes as u64);
        let Some(file) = self.file.read(|header, index| apply(header, index, row_bytes, &mut kept).is_some())? else {
            return Ok(kept);
        };
        match self.on_disk(&file) {
            Ok(on_disk) => kept.rebase(on_disk, self.row_bytes),
            // Another process truncated the file meanwhile.
            Err(error) if is_damage(&error) => {
                tracing::warn!(path = %self.path().display(), %error, "a token cache cannot be mapped");
                self.file.drop_blocks(0);
                kept = Kept::default();
            }
            Err(error) => {
                self.file.leave_alone();
                return Err(error);
            }
        }
        Ok(kept)
    }

    /// Rows of the valid blocks.
    fn on_disk(&self, file: &Source) -> io::Result<OnDisk> {
        let after_header = |at: u64| usize::try_from(at).map_or(0, |at| at.saturating_sub(ROWS_AT));
        if self.file.blocks().is_empty() {
            return Ok(OnDisk::default());
        }
        let map = RowMap::of(file, after_header(self.file.bytes()))?;
        let mut first = 0;
        let blocks = self.file.blocks().iter().map(|placed| {
            let rows = first..first + placed.header.row_bytes.checked_div(self.row_bytes as u64).unwrap_or(0);
            first = rows.end;
            let (first_node, sum) = (placed.header.first, placed.header.rows_sum);
            MappedRows { first_node, rows, at: after_header(placed.rows_at), sum, checked: AtomicBool::new(false) }
        });
        Ok(OnDisk::new(Some(map), blocks.collect()))
    }

    /// Makes the next [`Self::save`] rewrite the whole file.
    pub(super) fn write_anew(&mut self) {
        self.altered = true;
    }

    /// True if the file must be rewritten before tokens can be appended.
    fn wants_rewriting(&self) -> bool {
        self.file.is_overlong() || self.altered
    }

    /// True if another process has changed the file since this process last read or wrote it.
    pub(super) fn is_outdated(&self) -> bool {
        self.file.is_outdated()
    }

    /// Rereads a file that another process has changed. Unsaved tokens stay, unless nodes before them are gone.
    ///
    /// # Errors
    /// If the file cannot be read; `kept` is then unchanged.
    pub(super) fn refresh(&mut self, kept: &mut Kept) -> io::Result<()> {
        if self.altered {
            // The next save removes these tokens from the file.
            return Ok(());
        }
        let saved = self.file.through();
        let mut theirs = self.try_read()?;
        if theirs.through() >= saved {
            theirs.take_after(kept, self.row_bytes);
        }
        *kept = theirs;
        Ok(())
    }

    /// True if the file lacks changes in memory.
    pub(super) fn owes(&self, kept: &Kept) -> bool {
        kept.through() > self.file.through() || self.wants_rewriting()
    }

    /// Bytes on the heap.
    pub(super) fn heap(&self) -> usize {
        size_of::<Self>() + self.file.heap()
    }

    /// Writes unsaved tokens. If another process has written further, loads its tokens.
    ///
    /// Writes nothing while another process is writing; the next call does. Never writes past the last node that the
    /// log can read, because such tokens could not be matched to a log later.
    ///
    /// # Errors
    /// If the file cannot be read or written; the unsaved tokens stay unsaved.
    pub(super) fn save(&mut self, kept: &mut Kept) -> io::Result<()> {
        if !self.owes(kept) {
            return Ok(());
        }
        let Some(_turn) = self.file.turn()? else {
            tracing::warn!(path = %self.path().display(), "another process is writing tokens: these are saved later");
            return Ok(());
        };
        if !self.file.is_as_it_was()? {
            self.merge(kept)?;
        }
        let first = if self.wants_rewriting() { 1 } else { self.file.through() + 1 };
        let Some(end) = self.file.anchor().last_readable(first..=kept.through()) else { return Ok(()) };
        if self.wants_rewriting() {
            return self.rewrite(kept, end);
        }
        let blocks = self.blocks(kept, self.file.through()..end);
        let file = self.file.append(blocks)?;
        kept.rebase(self.on_disk(&Source::Loose(file))?, self.row_bytes);
        Ok(())
    }

    /// Loads the tokens of another process, and keeps own tokens after them.
    fn merge(&mut self, kept: &mut Kept) -> io::Result<()> {
        let theirs = self.try_read()?;
        if !self.altered {
            let mine = std::mem::replace(kept, theirs);
            kept.take_after(&mine, self.row_bytes);
            return Ok(());
        }
        // The file may still contain tokens that were removed here, and a damaged part. Removed tokens are dropped;
        // tokens that memory has replace the damaged part.
        let mut all = theirs.without(&kept.nodes_without_tokens(), self.row_bytes);
        all.take_after(kept, self.row_bytes);
        all.take_after(&theirs, self.row_bytes);
        *kept = all;
        Ok(())
    }

    fn rewrite(&mut self, kept: &mut Kept, end: u64) -> io::Result<()> {
        let mut all = Kept::default();
        all.take_after(kept, self.row_bytes);
        let staged = self.file.stage(self.blocks(&all, 0..end.min(all.through())))?;
        let file = self.file.commit(staged)?;
        self.altered = false;
        *kept = all;
        self.file.leave_packs()?;
        kept.rebase(self.on_disk(&Source::Loose(file))?, self.row_bytes);
        Ok(())
    }

    /// Blocks for the nodes after the start of `nodes` up to its end, whose rows are all in memory.
    fn blocks<'k>(&self, kept: &'k Kept, nodes: Range<u64>) -> impl Iterator<Item = io::Result<NewBlock>> + use<'k> {
        let (anchor, row_bytes, end, mut through) =
            (self.file.anchor().clone(), self.row_bytes, nodes.end, nodes.start);
        std::iter::from_fn(move || {
            if through >= end {
                return None;
            }
            let (first, first_row) = (through + 1, kept.rows_through(through));
            let full = |node: &u64| kept.rows_through(*node) - first_row > BLOCK_ROWS;
            let last = (first..=end).find(full).map_or(end, |node| (node - 1).max(first));
            let (last, leaf) = anchor.first_readable(last..=end)?;
            let rows = kept.unsaved(first_row..kept.rows_through(last), row_bytes);
            let index = kept.entries(through, last);
            through = last;
            Some(Ok(NewBlock::new((first, last), leaf, index, rows, checksum::crc32c(rows))))
        })
    }

    /// Removes the file; the next [`Self::save`] rebuilds it.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.altered = false;
        self.file.remove(&[])
    }
}

/// Adds the entries of a block; `None`, without adding any, if they are inconsistent.
fn apply(header: &BlockHeader, index: &[u8], row_bytes: u64, kept: &mut Kept) -> Option<()> {
    // A matching checksum does not prove consistency.
    let (mut nodes, mut rows, mut rest) = (kept.through(), 0_u64, index);
    while !rest.is_empty() {
        let (tokens, _, after) = read_entry(rest)?;
        (nodes, rows, rest) = (nodes + 1, rows + u64::from(tokens), after);
    }
    if nodes != header.last || rows.checked_mul(row_bytes) != Some(header.row_bytes) {
        return None;
    }
    rest = index;
    while !rest.is_empty() {
        rest = kept.push_entry(rest)?;
    }
    Some(())
}
