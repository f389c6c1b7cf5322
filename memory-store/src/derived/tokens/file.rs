//! Cache file of a conversation's tokens: blocks with mapped rows.

use std::{
    io,
    ops::Range,
    sync::{Arc, atomic::AtomicBool},
};

use memory_core::{ModelId, port::DerivedKind};

use super::{
    super::{
        anchor::Anchor,
        block::BlockHeader,
        cached::{CacheFile, Data},
        disk::is_damage,
        file::{BlockFile, NewBlock},
        header::TOKENS,
        map::{ROWS_AT, RowMap},
        packs::{FileSource, Packs},
    },
    codec::Codec,
    kept::{Kept, MappedRows, OnDisk, read_entry},
};
use crate::checksum;

/// Maximum rows of a block, except for the rows of a single node, since damage to a block loses all of them.
const BLOCK_ROWS: u64 = 8192;

/// Cache file of a conversation's tokens.
#[derive(Debug)]
pub(super) struct TokenFile {
    file: BlockFile,
    row_bytes: usize,
    /// True if the file contains tokens that memory no longer has.
    must_rewrite: bool,
}

impl CacheFile for TokenFile {
    type Data = Kept;
    type Shape = Codec;

    const KIND: DerivedKind = DerivedKind::Tokens;
    const DIRECTORY: &'static str = "tokens";
    const EXTENSIONS: &'static [&'static str] = &["tok"];

    fn new(packs: &Arc<Packs>, anchor: Anchor, model: &ModelId, codec: &Codec) -> Self {
        let fields = [codec.dimensions(), codec.bits().count()].map(|number| (number as u64).to_le_bytes()).concat();
        let file = BlockFile::new(packs, anchor, model, (TOKENS, "tok"), &fields);
        Self { file, row_bytes: codec.row_bytes(), must_rewrite: false }
    }

    fn empty(_codec: &Codec) -> Kept {
        Kept::default()
    }

    fn try_read(&mut self) -> io::Result<Kept> {
        let (mut kept, row_bytes) = (Kept::default(), self.row_bytes as u64);
        let Some(file) = self.file.read(|header, index| apply(header, index, row_bytes, &mut kept).is_some())? else {
            return Ok(kept);
        };
        match self.on_disk(&file) {
            Ok(on_disk) => kept.rebase(on_disk, self.row_bytes),
            // Another process truncated the file meanwhile.
            Err(error) if is_damage(&error) => {
                tracing::warn!(path = %self.file.path().display(), %error, "a token cache cannot be mapped");
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

    fn refresh(&mut self, kept: &mut Kept) -> io::Result<()> {
        if self.must_rewrite {
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

    fn owes(&self, kept: &Kept) -> bool {
        kept.through() > self.file.through() || self.wants_rewriting()
    }

    fn save(&mut self, kept: &mut Kept) -> io::Result<()> {
        if !self.owes(kept) {
            return Ok(());
        }
        let Some(_turn) = self.file.turn()? else {
            tracing::warn!(path = %self.file.path().display(), "another process is writing tokens: these are saved later");
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
        kept.rebase(self.on_disk(&FileSource::Loose(file))?, self.row_bytes);
        Ok(())
    }

    fn remove(&mut self) -> io::Result<()> {
        self.must_rewrite = false;
        self.file.remove(&[])
    }

    fn blocks(&self) -> &BlockFile {
        &self.file
    }
}

impl TokenFile {
    /// Last node of the valid blocks, and their number of tokens. Does not read their rows.
    ///
    /// # Errors
    /// If the file cannot be checked, for example for lack of descriptors or memory.
    pub(super) fn survey(&mut self) -> io::Result<(u64, u64)> {
        let (mut kept, row_bytes) = (Kept::default(), self.row_bytes as u64);
        self.file.read(|header, index| apply(header, index, row_bytes, &mut kept).is_some())?;
        Ok((kept.through(), kept.tokens()))
    }

    /// Valid bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Rows of the valid blocks.
    fn on_disk(&self, file: &FileSource) -> io::Result<OnDisk> {
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
    pub(super) fn rewrite_on_save(&mut self) {
        self.must_rewrite = true;
    }

    /// True if the file must be rewritten before tokens can be appended.
    fn wants_rewriting(&self) -> bool {
        self.file.is_overlong() || self.must_rewrite
    }

    /// Loads the tokens of another process, and keeps own tokens after them.
    fn merge(&mut self, kept: &mut Kept) -> io::Result<()> {
        let theirs = self.try_read()?;
        if !self.must_rewrite {
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
        self.must_rewrite = false;
        *kept = all;
        self.file.leave_packs()?;
        kept.rebase(self.on_disk(&FileSource::Loose(file))?, self.row_bytes);
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
