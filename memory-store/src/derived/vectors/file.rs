//! Cache files of a conversation's vectors: blocks, and rows that the blocks refer to.

mod contents;
mod reading;
mod stored;

use std::{io, path::Path, sync::Arc};

use memory_core::{ModelId, port::DerivedKind};
use memory_files::DataFile;

use self::contents::Batch;
pub(in crate::derived) use self::stored::KIND;
use super::{
    super::{
        anchor::Anchor,
        cached::{CacheFile, Data},
        disk,
        file::{BlockFile, NewBlock, temporary},
        header::VECTORS,
        map::ROWS_AT,
        packs::Packs,
    },
    rows::{Codes, DamagedRow, Rows},
};

/// Cache files of a conversation's vectors: blocks in `.vec`, and their rows as codes in `.i8` and as components in
/// `.f32`. Only rows that a block refers to are used.
#[derive(Debug)]
pub(super) struct VectorFile {
    file: BlockFile,
    dimensions: usize,
    /// Number of rows of the valid blocks.
    rows: usize,
    /// Number of removed rows among them.
    removed: usize,
    /// True if the codes on disk must be rewritten from the components.
    codes_owed: bool,
    /// True if the files contain data that must be removed.
    must_rewrite: bool,
    /// True once a damaged row was found in use: all rows are verified when they are read from then on.
    wary: bool,
}

impl CacheFile for VectorFile {
    type Data = Rows;
    type Shape = usize;

    const KIND: DerivedKind = DerivedKind::Vectors;
    const DIRECTORY: &'static str = "vectors";
    const EXTENSIONS: &'static [&'static str] = &["vec", "i8", "f32"];

    fn new(packs: &Arc<Packs>, anchor: Anchor, model: &ModelId, dimensions: &usize) -> Self {
        let file = BlockFile::new(packs, anchor, model, (VECTORS, "vec"), &(*dimensions as u64).to_le_bytes());
        Self { file, dimensions: *dimensions, rows: 0, removed: 0, codes_owed: false, must_rewrite: false, wary: false }
    }

    fn empty(dimensions: &usize) -> Rows {
        Rows::new(*dimensions)
    }

    fn try_read(&mut self) -> io::Result<Rows> {
        self.forget();
        self.read_good().inspect_err(|_| {
            self.forget();
            self.file.leave_alone();
        })
    }

    fn refresh(&mut self, rows: &mut Rows) -> io::Result<()> {
        let saved = self.file.through();
        let theirs = self.try_read()?;
        let is_whole = theirs.through() >= saved;
        rows.follow(theirs, is_whole);
        Ok(())
    }

    fn owes(&self, rows: &Rows) -> bool {
        rows.through() > self.file.through() || self.differs(rows)
    }

    fn save(&mut self, rows: &mut Rows) -> io::Result<()> {
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
                && !self.must_rewrite
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

    fn remove(&mut self) -> io::Result<()> {
        self.forget();
        self.file.remove(&["i8", "f32"])
    }

    fn blocks(&self) -> &BlockFile {
        &self.file
    }
}

impl VectorFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    /// Invalidates the files from the block of a damaged row on; returns the last node before it.
    pub(super) fn cut(&mut self, damaged: DamagedRow) -> u64 {
        self.wary = true;
        self.drop_blocks(damaged.0);
        self.file.through()
    }

    /// Valid bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        let of_rows = |row: usize| if self.rows == 0 { 0 } else { ROWS_AT + self.rows * row };
        self.file.bytes() + (of_rows(self.row_bytes(1)) + of_rows(self.row_bytes(4))) as u64
    }

    /// True if the files must be rewritten, because saved rows were removed or the files contain wrong data.
    fn differs(&self, rows: &Rows) -> bool {
        rows.removed_before(self.rows) != self.removed || self.codes_owed || self.must_rewrite
    }

    /// Last readable node among those with vectors; `None` if the log does not have all of these nodes, or none of the
    /// new ones is readable.
    fn end(&self, rows: &Rows) -> Option<u64> {
        let first = if self.differs(rows) { 1 } else { self.file.through() + 1 };
        self.file.anchor().last_readable(first..=rows.through())
    }

    /// Appends rows, then the blocks that refer to them.
    fn append(&mut self, rows: &mut Rows, end: u64) -> Result<(), Unwritten> {
        self.file.unpack()?;
        let [codes, components] =
            ["i8", "f32"].map(|extension| disk::open_written(&self.path().with_extension(extension), self.file.keys()));
        let (codes, components) = (codes?, components?);
        let Written { blocks, sums } =
            self.write_rows(rows, (self.file.through(), self.rows), end, &codes, &components)?;
        components.sync_data()?;
        self.file.append(blocks.into_iter().map(Ok))?;
        self.rebase(rows, sums)
    }

    /// Rewrites the files with the content of removed rows zeroed, or without these rows if they are many.
    ///
    /// Between two renames the old blocks usually stay valid for the unchanged rows. If data must be forgotten, rows
    /// keep their numbers and the new blocks are renamed first: they mark removed rows as removed even while the old
    /// row files still have their content, and all other rows are the same in both.
    fn rewrite(&mut self, rows: &mut Rows, end: u64) -> Result<(), Unwritten> {
        // Rows in memory keep their numbers until the new files are in place, so that after a failure they are still
        // unsaved.
        let forgets = self.must_rewrite;
        let compacted = if rows.wants_rebuilding() && !forgets { Some(rows.without_removed()?) } else { None };
        let create = |extension: &str| {
            let file = disk::create(&temporary(&self.path().with_extension(extension)), self.file.keys())?;
            file.write_all_at(&self.rows_header(extension), 0)?;
            Ok::<_, io::Error>(file)
        };
        let (codes, components) = (create("i8")?, create("f32")?);
        let Written { blocks, sums } =
            self.write_rows(compacted.as_ref().unwrap_or(rows), (0, 0), end, &codes, &components)?;
        let staged = self.file.stage(blocks.into_iter().map(Ok))?;
        components.sync_all()?;
        let before = self.file.through();
        // Reset below, after all files are renamed.
        self.must_rewrite = true;
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
        // The log has lost nodes since these rows were written.
        if end < before {
            rows.cut(end);
        }
        (self.rows, self.codes_owed, self.must_rewrite) = (0, false, false);
        self.file.leave_packs()?;
        self.rebase(rows, sums)
    }

    fn rename_rows(&self) -> io::Result<()> {
        ["f32", "i8"]
            .iter()
            .map(|extension| self.path().with_extension(extension))
            .try_for_each(|path| disk::rename(&temporary(&path), &path))
    }

    /// Writes rows from `row` on, for the nodes after `through` up to `end`; returns the blocks that refer to them.
    fn write_rows(
        &self,
        rows: &Rows,
        (mut through, mut row): (u64, usize),
        end: u64,
        codes: &DataFile,
        components: &DataFile,
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

    /// Maps all rows, including those just written.
    fn rebase(&mut self, rows: &mut Rows, sums: Vec<u32>) -> Result<(), Unwritten> {
        self.rows += sums.len();
        self.removed = rows.removed_before(self.rows);
        if self.rows > 0 {
            let mapped =
                self.map("i8", self.row_bytes(1)).and_then(|codes| Ok((codes, self.map("f32", self.row_bytes(4))?)));
            // After a failure, memory cannot tell what the files contain, so the next save rewrites everything.
            self.codes_owed = mapped.is_err();
            let (codes, components) = mapped?;
            rows.rebase(Codes::Mapped(codes), components, self.rows, sums);
        }
        Ok(())
    }
}

/// Blocks whose rows are on disk, and the checksum of each row's components.
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
