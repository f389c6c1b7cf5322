//! The cache files of a conversation's vectors: blocks that are appended, and the rows that they speak of.

mod batch;
mod block;
mod contents;
mod reading;

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use memory_core::{ConversationId, Hash, ModelId, NodeId};

use self::{
    batch::Batch,
    block::{Block, HEADER},
};
use super::{
    map::ROWS_AT,
    rows::{Codes, DamagedRow, Rows},
};
use crate::{
    cache_format::{self, CacheFormat, file_name},
    log::Leaves,
    turn::Turn,
};

pub(crate) const FORMAT: CacheFormat = CacheFormat { magic: *b"MEMVEC\r\n", version: 3 };

/// Where a conversation's vectors are kept between runs: blocks in `.vec`, and the rows that they speak of, one behind
/// the other, as codes in `.i8` and as components in `.f32`. A row counts when a block names it.
#[derive(Debug)]
pub(super) struct VectorFile {
    path: PathBuf,
    conversation: ConversationId,
    /// The log that the vectors are derived from, where the index stands beside one.
    leaves: Option<Leaves>,
    header: Vec<u8>,
    dimensions: usize,
    good: Good,
    /// The good blocks.
    blocks: Vec<Begin>,
    /// Rows on disk that are marked as removed.
    removed: usize,
    /// Whether the files are to be written anew before anything is appended: there is more in them than is good.
    overlong: bool,
    /// Whether the codes on disk are not those of the components.
    codes_owed: bool,
    /// Whether the files could not be read when they were last looked at: whatever is in them, it is not written over
    /// before they can.
    is_unread: bool,
    /// Whether a row was found damaged in use: from then on all rows are checked when they are read.
    wary: bool,
}

/// How far the files are good: undamaged, and of this log. Nothing is where there is none, or none that fits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Good {
    /// Of the file of blocks.
    bytes: u64,
    rows: usize,
    /// The vectors of all nodes up to here are in.
    through: u64,
}

/// Where a block begins, and how: whether the file is still the same is told by it.
#[derive(Clone, Copy, Debug)]
struct Begin {
    before: Good,
    header: [u8; HEADER],
}

impl VectorFile {
    /// The files for `conversation` and `model` in `dir`, and what of them is good: undamaged, and derived from the
    /// log of `leaves`. Whatever else is in them is overwritten by the next [`Self::save`]; nothing about it is
    /// an error. Files that cannot be read for another reason than that are as good as none until they can.
    pub(super) fn load(
        dir: &Path,
        leaves: Option<&Leaves>,
        conversation: &ConversationId,
        model: &ModelId,
        dimensions: usize,
    ) -> (Self, Rows) {
        let name = file_name(conversation, model);
        let path = dir.join(name).with_extension("vec");
        let store = leaves.map_or([0; 16], Leaves::store);
        let mut file = Self {
            path,
            conversation: conversation.clone(),
            leaves: leaves.cloned(),
            header: FORMAT.header(store, &(dimensions as u64).to_le_bytes(), [model.as_str(), conversation.as_str()]),
            dimensions,
            good: Good::default(),
            blocks: Vec::new(),
            removed: 0,
            overlong: false,
            codes_owed: false,
            is_unread: false,
            wary: false,
        };
        let rows = file.read();
        (file, rows)
    }

    /// Sets aside what is on disk from the block of a damaged row on; gives how far the rest reaches.
    pub(super) fn cut(&mut self, damaged: DamagedRow) -> u64 {
        self.wary = true;
        self.drop_blocks(damaged.0);
        self.good.through
    }

    /// The leaf of a node, zeros beside no log; `None` when the log has no such node or cannot read it.
    fn leaf(&self, node: u64) -> Option<Hash> {
        match &self.leaves {
            Some(leaves) => leaves.get(&self.conversation, NodeId::new(node)?),
            None => Some(Hash::from_bytes([0; 32])),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the files; the next [`Self::save`] makes them anew.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.forget_all();
        let paths = [self.path.clone(), self.path.with_extension("i8"), self.path.with_extension("f32")];
        // Not between another process's look at the files and its block; but gone they will be.
        let _turn = if paths.iter().any(|path| path.exists()) { self.turn()? } else { None };
        paths.iter().try_for_each(|path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    /// Bytes on disk that are good.
    pub(super) fn bytes(&self) -> u64 {
        let of_rows = |row: usize| if self.good.rows == 0 { 0 } else { ROWS_AT + self.good.rows * row };
        self.good.bytes + (of_rows(self.row_bytes(1)) + of_rows(self.row_bytes(4))) as u64
    }

    /// Puts on disk what of the rows is not there yet, and destroys there what was removed. Where another process has
    /// put there more than these, they become what it has put there.
    ///
    /// Puts nothing there while another process is writing, for the next time; and nothing behind the last node that
    /// the log can read: later nobody could tell whose vectors they are.
    ///
    /// # Errors
    /// When the files cannot be read or written; the rows are what they were, and owed still.
    pub(super) fn save(&mut self, rows: &mut Rows) -> io::Result<()> {
        if !self.owes(rows) || self.end(rows).is_none() {
            return Ok(());
        }
        let Some(_turn) = self.turn()? else {
            tracing::warn!(path = %self.path.display(), "another process is writing vectors: these are saved later");
            return Ok(());
        };
        if !self.is_as_it_was()? {
            let mut theirs = self.try_read()?;
            theirs.take_behind(rows);
            theirs.remove(&rows.removed_nodes());
            *rows = theirs;
        }
        while self.owes(rows) {
            let Some(end) = self.end(rows) else { break };
            let appends = !self.overlong
                && !self.codes_owed
                && self.good.rows > 0
                && rows.removed_before(self.good.rows) == self.removed;
            let written = if appends { self.append(rows, end) } else { self.rewrite(rows, end) };
            match written {
                Ok(()) => break,
                Err(Unwritten::Damaged(row)) => {
                    let through = self.cut(row);
                    rows.cut(through);
                }
                Err(Unwritten::Io(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the disk has not what the memory has.
    fn owes(&self, rows: &Rows) -> bool {
        rows.through() > self.good.through || rows.removed_before(self.good.rows) != self.removed || self.codes_owed
    }

    /// The last node that can be read, of those whose vectors there are; none where the log does not have all of
    /// these nodes, or nothing new could be read.
    fn end(&self, rows: &Rows) -> Option<u64> {
        let through = rows.through();
        if self.leaves.as_ref().is_some_and(|leaves| leaves.count(&self.conversation) < through) {
            return None;
        }
        let anew = rows.removed_before(self.good.rows) != self.removed || self.codes_owed;
        let first = if anew { 1 } else { self.good.through + 1 };
        (first..=through).rev().find(|node| self.leaf(*node).is_some())
    }

    /// Waits for the right to write; `None` when another process keeps it.
    fn turn(&self) -> io::Result<Option<Turn>> {
        Turn::wait(self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Whether nobody else has written to the files since they were read or written here.
    fn is_as_it_was(&self) -> io::Result<bool> {
        let file = match cache_format::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(self.good.bytes == 0 && !self.is_unread);
            }
            Err(error) => return Err(error),
        };
        let mut header = [0; HEADER];
        let Some(last) = self.blocks.last() else { return Ok(false) };
        let read = file.read_exact_at(&mut header, last.before.bytes);
        Ok(file.metadata()?.len() == self.good.bytes && read.is_ok() && header == last.header)
    }

    /// Writes rows behind those that are there, and then the blocks that name them.
    fn append(&mut self, rows: &mut Rows, end: u64) -> Result<(), Unwritten> {
        let [codes, components] =
            ["i8", "f32"].map(|extension| cache_format::open_written(&self.path.with_extension(extension)));
        let (codes, components) = (codes?, components?);
        let blocks = cache_format::open_written(&self.path)?;
        let at = self.good.bytes;
        let written = self.write_rows(rows, self.good, end, &codes, &components)?;
        components.sync_data()?;
        blocks.write_all_at(&written.bytes(), at)?;
        blocks.sync_data()?;
        self.take_over(rows, &written)
    }

    /// Makes the files anew, without the content of rows that were removed; and without these rows where they are many.
    fn rewrite(&mut self, rows: &mut Rows, end: u64) -> Result<(), Unwritten> {
        // Rows keep their numbers until the disk has the new ones: whoever fails before that owes what he owed.
        let compacted = if rows.wants_rebuilding() { Some(rows.without_removed()?) } else { None };
        let temporary = |extension: &str| self.path.with_extension(format!("{extension}.tmp"));
        let [codes, components, blocks] =
            ["i8", "f32", "vec"].map(|extension| cache_format::create(&temporary(extension)));
        let (codes, components, blocks) = (codes?, components?, blocks?);
        codes.write_all_at(&self.rows_header("i8"), 0)?;
        components.write_all_at(&self.rows_header("f32"), 0)?;
        let begin = Good { bytes: self.header.len() as u64, ..Good::default() };
        let written = self.write_rows(compacted.as_ref().unwrap_or(rows), begin, end, &codes, &components)?;
        blocks.write_all_at(&[self.header.as_slice(), &written.bytes()].concat(), 0)?;
        components.sync_all()?;
        blocks.sync_all()?;
        // The blocks last: until then the old ones count, for as many rows as are the same.
        for extension in ["f32", "i8", "vec"] {
            fs::rename(temporary(extension), self.path.with_extension(extension))?;
        }
        if let Some(compacted) = compacted {
            *rows = compacted;
        }
        // The log has lost what it had when these were written.
        if end < self.good.through {
            rows.cut(end);
        }
        self.forget_all();
        self.good = begin;
        self.take_over(rows, &written)
    }

    /// Writes the rows behind `from`, up to node `end`; gives the blocks that are to name them.
    fn write_rows(
        &self,
        rows: &Rows,
        from: Good,
        end: u64,
        codes: &File,
        components: &File,
    ) -> Result<Written, Unwritten> {
        let (mut through, mut row) = (from.through, from.rows);
        let mut written = Written::default();
        while through < end {
            let batch = Batch::after(rows, through, row, end, |node| self.leaf(node))?;
            codes.write_all_at(&batch.codes, (ROWS_AT + row * self.row_bytes(1)) as u64)?;
            components.write_all_at(&batch.components, (ROWS_AT + row * self.row_bytes(4)) as u64)?;
            (through, row) = (batch.block.last, row + batch.block.entries.len());
            written.0.push(batch.block);
        }
        Ok(written)
    }

    /// Notes what was written, and sees it as it stands on disk.
    fn take_over(&mut self, rows: &mut Rows, written: &Written) -> Result<(), Unwritten> {
        for block in &written.0 {
            let mut bytes = Vec::new();
            block.write(&mut bytes);
            if let Some(header) = bytes.first_chunk() {
                self.note(*header, bytes.len() as u64, block);
            }
        }
        self.removed = rows.removed_before(self.good.rows);
        if self.good.rows > 0 {
            let mapped =
                self.map("i8", self.row_bytes(1)).and_then(|codes| Ok((codes, self.map("f32", self.row_bytes(4))?)));
            // Written anew the next time, all of it: the memory does not know then what stands where.
            self.codes_owed = mapped.is_err();
            let (codes, components) = mapped?;
            let sums = written.0.iter().flat_map(|block| block.entries.iter().map(|entry| entry.sum));
            rows.rebase(Codes::Mapped(codes), components, self.good.rows, sums.collect());
        }
        Ok(())
    }
}

/// Blocks whose rows are on disk.
#[derive(Default)]
struct Written(Vec<Block>);

impl Written {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.0.iter().for_each(|block| block.write(&mut out));
        out
    }
}

/// Why rows were not written.
enum Unwritten {
    /// They are not what they were.
    Damaged(DamagedRow),
    /// The disk did not take them.
    Io(io::Error),
}

impl From<DamagedRow> for Unwritten {
    fn from(row: DamagedRow) -> Self {
        Self::Damaged(row)
    }
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
