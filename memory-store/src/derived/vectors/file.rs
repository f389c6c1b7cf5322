//! The cache files of a conversation's vectors: blocks that are appended, and the rows that they name.

mod batch;
mod contents;
mod entries;
mod reading;
mod stored;

use std::{fs::File, io, os::unix::fs::FileExt, path::Path, sync::Arc};

use memory_core::ModelId;

use self::batch::Batch;
pub(in crate::derived) use self::stored::KIND;
use super::{
    super::{
        anchor::Anchor,
        disk,
        file::{BlockFile, NewBlock, temporary},
        header::{VECTORS, file_name},
        map::ROWS_AT,
        packs::Packs,
    },
    rows::{Codes, DamagedRow, Rows},
};

/// The extensions of the files of a conversation.
pub(super) const EXTENSIONS: &[&str] = &["vec", "i8", "f32"];

/// Where a conversation's vectors are kept between runs: blocks in `.vec`, and the rows that they name, one after the
/// other, as codes in `.i8` and as components in `.f32`. A row counts when a block names it.
#[derive(Debug)]
pub(super) struct VectorFile {
    file: BlockFile,
    dimensions: usize,
    /// Rows that the good blocks name.
    rows: usize,
    /// Rows on disk that are marked as removed.
    removed: usize,
    /// True if the codes on disk must be rewritten from the components.
    codes_owed: bool,
    /// True if the files hold something that must not be there, so that the next save rewrites them.
    anew: bool,
    /// True if a damaged row was found in use: from then on all rows are checked when they are read.
    wary: bool,
}

impl VectorFile {
    /// The files for a conversation and `model`, loose or in `packs`, and the good part of them: undamaged, and derived
    /// from the log of `anchor`. The next [`Self::save`] overwrites the rest, which is not an error. Files that are
    /// unreadable for a reason other than damage count as missing until they can be read.
    pub(super) fn load(packs: &Arc<Packs>, anchor: Anchor, model: &ModelId, dimensions: usize) -> (Self, Rows) {
        let mut file = Self::new(packs, anchor, model, dimensions);
        let rows = file.read();
        (file, rows)
    }

    /// The files of [`Self::load`], nothing of them read yet.
    fn new(packs: &Arc<Packs>, anchor: Anchor, model: &ModelId, dimensions: usize) -> Self {
        let conversation = anchor.conversation().clone();
        let path = packs.dir().join(file_name(conversation.as_str(), model.as_str())).with_extension("vec");
        let (fields, names) = ((dimensions as u64).to_le_bytes(), [model.as_str(), conversation.as_str()]);
        let file = BlockFile::new(path, anchor, VECTORS, &fields, names).packed(Some(packs));
        Self { file, dimensions, rows: 0, removed: 0, codes_owed: false, anew: false, wary: false }
    }

    /// Sets aside the files on disk from the block of a damaged row on; gives how far the rest reaches.
    pub(super) fn cut(&mut self, damaged: DamagedRow) -> u64 {
        self.wary = true;
        self.drop_blocks(damaged.0);
        self.file.through()
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Removes the files; the next [`Self::save`] rebuilds them.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.forget();
        self.file.remove(&["i8", "f32"])
    }

    /// Bytes on disk that are good.
    pub(super) fn bytes(&self) -> u64 {
        let of_rows = |row: usize| if self.rows == 0 { 0 } else { ROWS_AT + self.rows * row };
        self.file.bytes() + (of_rows(self.row_bytes(1)) + of_rows(self.row_bytes(4))) as u64
    }

    /// Bytes on the heap.
    pub(super) fn heap(&self) -> usize {
        size_of::<Self>() + self.file.heap()
    }

    /// Writes the rows that are not on disk yet, and destroys removed ones there. Where another process has written
    /// more than these, loads what that process has written.
    ///
    /// Writes nothing while another process is writing: the next call does. Also writes nothing after the last node
    /// that the log can read: the vectors could not be matched to a log later.
    ///
    /// # Errors
    /// When the files cannot be read or written; the set of unwritten rows is unchanged.
    pub(super) fn save(&mut self, rows: &mut Rows) -> io::Result<()> {
        if !self.owes(rows) || self.end(rows).is_none() {
            return Ok(());
        }
        let Some(_turn) = self.file.turn()? else {
            tracing::warn!(path = %self.path().display(), "another process is writing vectors: these are saved later");
            return Ok(());
        };
        if !self.file.is_as_it_was()? {
            let theirs = self.try_read()?;
            rows.follow(theirs, true);
        }
        while self.owes(rows) {
            let Some(end) = self.end(rows) else { break };
            let appends = !self.file.is_overlong()
                && !self.codes_owed
                && !self.anew
                && self.rows > 0
                && rows.removed_before(self.rows) == self.removed;
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

    /// True if another process has changed the files since they were read or written here.
    pub(super) fn is_outdated(&self) -> bool {
        self.file.is_outdated()
    }

    /// Reads what another process has changed. Rows that are in no file stay, unless rows before them are gone.
    ///
    /// # Errors
    /// When the files cannot be read; `rows` stays as it is.
    pub(super) fn refresh(&mut self, rows: &mut Rows) -> io::Result<()> {
        let saved = self.file.through();
        let theirs = self.try_read()?;
        let is_whole = theirs.through() >= saved;
        rows.follow(theirs, is_whole);
        Ok(())
    }

    /// True if the files must be updated from the memory.
    pub(super) fn owes(&self, rows: &Rows) -> bool {
        rows.through() > self.file.through() || self.differs(rows)
    }

    /// True if the files differ from the memory in the rows that they hold, or must be rewritten.
    fn differs(&self, rows: &Rows) -> bool {
        rows.removed_before(self.rows) != self.removed || self.codes_owed || self.anew
    }

    /// The last readable node among those with vectors; `None` where the log does not have all of these nodes, or no
    /// new one could be read.
    fn end(&self, rows: &Rows) -> Option<u64> {
        let first = if self.differs(rows) { 1 } else { self.file.through() + 1 };
        self.file.anchor().last_readable(first..=rows.through())
    }

    /// Appends rows, and then the blocks that name them.
    fn append(&mut self, rows: &mut Rows, end: u64) -> Result<(), Unwritten> {
        self.file.unpack()?;
        let [codes, components] =
            ["i8", "f32"].map(|extension| disk::open_written(&self.path().with_extension(extension)));
        let (codes, components) = (codes?, components?);
        let Written { blocks, sums } =
            self.write_rows(rows, (self.file.through(), self.rows), end, &codes, &components)?;
        components.sync_data()?;
        self.file.append(blocks.into_iter().map(Ok))?;
        self.rebase(rows, sums)
    }

    /// Rewrites the files without the content of removed rows, and without these rows where they are many.
    ///
    /// Between two renames the old blocks usually count, for the rows that are unchanged. Where something is
    /// forgotten, rows keep their places and the new blocks come first: they call removed rows removed, whether their
    /// content is gone or not, and the old files of rows hold all others.
    fn rewrite(&mut self, rows: &mut Rows, end: u64) -> Result<(), Unwritten> {
        // Rows keep their numbers until the new ones are on disk: after an earlier failure the old ones are still
        // unwritten.
        let forgets = self.anew;
        let compacted = if rows.wants_rebuilding() && !forgets { Some(rows.without_removed()?) } else { None };
        let create = |extension: &str| {
            let file = disk::create(&temporary(&self.path().with_extension(extension)))?;
            file.write_all_at(&self.rows_header(extension), 0)?;
            Ok::<_, io::Error>(file)
        };
        let (codes, components) = (create("i8")?, create("f32")?);
        let Written { blocks, sums } =
            self.write_rows(compacted.as_ref().unwrap_or(rows), (0, 0), end, &codes, &components)?;
        let staged = self.file.stage(blocks.into_iter().map(Ok))?;
        components.sync_all()?;
        let before = self.file.through();
        // Until all are renamed.
        self.anew = true;
        if forgets {
            self.file.commit(staged)?;
            self.rename_rows()?;
        } else {
            self.rename_rows()?;
            self.file.commit(staged)?;
        }
        if let Some(compacted) = compacted {
            *rows = compacted;
        }
        // The log has lost nodes that it had when these were written.
        if end < before {
            rows.cut(end);
        }
        (self.rows, self.codes_owed, self.anew) = (0, false, false);
        self.file.leave_packs()?;
        self.rebase(rows, sums)
    }

    fn rename_rows(&self) -> io::Result<()> {
        ["f32", "i8"]
            .iter()
            .map(|extension| self.path().with_extension(extension))
            .try_for_each(|path| disk::rename(&temporary(&path), &path))
    }

    /// Writes the rows of the nodes after `through`, from row `row` on, up to node `end`; gives the blocks that are to
    /// name them.
    fn write_rows(
        &self,
        rows: &Rows,
        (mut through, mut row): (u64, usize),
        end: u64,
        codes: &File,
        components: &File,
    ) -> Result<Written, Unwritten> {
        let mut written = Written::default();
        while through < end {
            let batch = Batch::after(rows, through, row, end, self.file.anchor())?;
            codes.write_all_at(&batch.codes, (ROWS_AT + row * self.row_bytes(1)) as u64)?;
            components.write_all_at(&batch.components, (ROWS_AT + row * self.row_bytes(4)) as u64)?;
            (through, row) = (batch.last, row + batch.sums.len());
            written.blocks.push(batch.block);
            written.sums.extend(batch.sums);
        }
        Ok(written)
    }

    /// Counts the written rows, and maps all of them as they are on disk.
    fn rebase(&mut self, rows: &mut Rows, sums: Vec<u32>) -> Result<(), Unwritten> {
        self.rows += sums.len();
        self.removed = rows.removed_before(self.rows);
        if self.rows > 0 {
            let mapped =
                self.map("i8", self.row_bytes(1)).and_then(|codes| Ok((codes, self.map("f32", self.row_bytes(4))?)));
            // All of it is rewritten the next time: the memory does not know what is where.
            self.codes_owed = mapped.is_err();
            let (codes, components) = mapped?;
            rows.rebase(Codes::Mapped(codes), components, self.rows, sums);
        }
        Ok(())
    }
}

/// Blocks whose rows are on disk, and a checksum over the components of each row.
#[derive(Default)]
struct Written {
    blocks: Vec<NewBlock>,
    sums: Vec<u32>,
}

/// Why rows were not written.
enum Unwritten {
    /// A row is damaged.
    Damaged(DamagedRow),
    /// The disk failed.
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
