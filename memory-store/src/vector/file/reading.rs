//! Reading the cache files of vectors: what of them is good.

use std::{fs, io, os::unix::fs::FileExt};

use super::{
    super::{
        kernel::quantize,
        map::{ROWS_AT, RowMap},
        rows::{Base, Codes, Rows},
    },
    Begin, Good, VectorFile,
    block::{Block, HEADER},
    contents::Contents,
};
use crate::{
    cache_format::{self, NAMED_BY, is_damage},
    checksum,
};

impl VectorFile {
    /// Reads what of the files is good; nothing where they cannot be read.
    pub(super) fn read(&mut self) -> Rows {
        self.try_read().unwrap_or_else(|error| {
            tracing::warn!(path = %self.path.display(), %error, "a vector cache cannot be read: it is left alone");
            Rows::new(self.dimensions)
        })
    }

    /// Reads what of the files is good.
    ///
    /// # Errors
    /// When that cannot be told: for want of descriptors or of memory, say.
    pub(super) fn try_read(&mut self) -> io::Result<Rows> {
        self.forget_all();
        let rows = self.read_good();
        if rows.is_err() {
            self.forget_all();
            self.is_unread = true;
        }
        rows
    }

    fn read_good(&mut self) -> io::Result<Rows> {
        let mut contents = Contents::default();
        match cache_format::read(&self.path) {
            Ok(bytes) => {
                self.read_blocks(&bytes, &mut contents);
                let (path, good, of) = (self.path.display(), self.good.bytes, bytes.len());
                self.overlong = good < of as u64;
                match good {
                    0 => tracing::warn!(%path, of, "a vector cache does not fit: rebuilding"),
                    // Most often another process is writing it at this moment.
                    _ if self.overlong => tracing::info!(%path, good, of, "the end of a vector cache is not whole"),
                    _ => {}
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let base = self.base(&mut contents)?;
        self.removed = contents.scales.iter().filter(|scale| **scale == 0.0).count();
        Ok(Rows::of_base(self.dimensions, contents.slots, contents.scales, base, self.good.through))
    }

    pub(super) fn forget_all(&mut self) {
        self.good = Good::default();
        self.blocks.clear();
        (self.removed, self.overlong, self.codes_owed, self.is_unread) = (0, false, false, false);
    }

    /// Takes in blocks up to the first that is not good.
    fn read_blocks(&mut self, bytes: &[u8], contents: &mut Contents) {
        let Some(mut rest) = bytes.strip_prefix(self.header.as_slice()) else { return };
        self.good.bytes = self.header.len() as u64;
        while let Some((block, behind)) = Block::read(rest, self.good.through) {
            if self.leaf(block.last) != Some(block.leaf) {
                break;
            }
            let Some(header) = rest.first_chunk() else { break };
            contents.add(&block);
            self.note(*header, (rest.len() - behind.len()) as u64, &block);
            rest = behind;
        }
    }

    /// Notes a block that is on disk behind the good ones.
    pub(super) fn note(&mut self, header: [u8; HEADER], bytes: u64, block: &Block) {
        self.blocks.push(Begin { before: self.good, header });
        let Good { bytes: before, rows, .. } = self.good;
        self.good = Good { bytes: before + bytes, rows: rows + block.entries.len(), through: block.last };
    }

    /// The rows that the good blocks name, as far as they are good themselves.
    fn base(&mut self, contents: &mut Contents) -> io::Result<Base> {
        let components = loop {
            if self.good.rows == 0 {
                return Ok(Base::default());
            }
            let (rows, there) = (self.good.rows, self.rows_there("f32", self.row_bytes(4)));
            match self.map("f32", self.row_bytes(4)) {
                Ok(map) => break map,
                // Fewer rows, or none, or of something else.
                Err(error) if is_damage(&error) => {
                    tracing::warn!(path = %self.path.display(), %error, "the components of vectors are missing");
                    let whole = if there < rows { there } else { 0 };
                    self.cut_contents(whole, contents);
                }
                Err(error) => return Err(error),
            }
        };
        let codes = match self.map("i8", self.row_bytes(1)) {
            Ok(map) => Some(map).filter(|map| contents.are_whole(map, self.dimensions)),
            Err(error) if is_damage(&error) => None,
            Err(error) => return Err(error),
        };
        self.codes_owed = codes.is_none();
        let codes = match codes {
            Some(map) if !self.wary => Codes::Mapped(map),
            map => {
                let derived = self.derive(&components, contents);
                map.filter(|map| map.codes().len() == derived.len()).map_or(Codes::Derived(derived), Codes::Mapped)
            }
        };
        Ok(Base::new(codes, components, contents.sums.clone()))
    }

    pub(super) fn row_bytes(&self, of_component: usize) -> usize {
        self.dimensions * of_component
    }

    /// Rows that a file is long enough for.
    fn rows_there(&self, extension: &str, row: usize) -> usize {
        let bytes = fs::metadata(self.path.with_extension(extension)).map_or(0, |file| file.len());
        usize::try_from(bytes).unwrap_or(usize::MAX).saturating_sub(ROWS_AT).checked_div(row).unwrap_or(0)
    }

    /// The good rows of a file.
    pub(super) fn map(&self, extension: &str, row: usize) -> io::Result<RowMap> {
        let file = cache_format::open(&self.path.with_extension(extension))?;
        let mut begin = [0; ROWS_AT];
        file.read_exact_at(&mut begin, 0)?;
        if begin != self.rows_header(extension) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is of another store or format"));
        }
        RowMap::of(&file, self.good.rows * row)
    }

    /// What a file of rows begins with.
    pub(super) fn rows_header(&self, extension: &str) -> [u8; ROWS_AT] {
        let mut out = [0; ROWS_AT];
        let named = self.header.iter().take(NAMED_BY).copied();
        out.iter_mut().zip(named.chain(extension.bytes())).for_each(|(out, byte)| *out = byte);
        out
    }

    /// Codes of all components, up to the first block of which some are damaged.
    fn derive(&mut self, components: &RowMap, contents: &mut Contents) -> Vec<i8> {
        let mut codes = Vec::with_capacity(self.good.rows * self.dimensions);
        for row in 0..self.good.rows {
            let place = row * self.dimensions..(row + 1) * self.dimensions;
            let bytes = components.bytes().get(place.start * 4..place.end * 4).unwrap_or_default();
            let is_removed = contents.scales.get(row).is_none_or(|scale| *scale == 0.0);
            if !is_removed && contents.sums.get(row) != Some(&checksum::crc32c(bytes)) {
                self.cut_contents(row, contents);
                codes.truncate(self.good.rows * self.dimensions);
                break;
            }
            let _scale = quantize(components.components().get(place).unwrap_or_default(), &mut codes);
        }
        codes
    }

    fn cut_contents(&mut self, row: usize, contents: &mut Contents) {
        self.drop_blocks(row);
        contents.truncate(self.good.rows);
    }

    /// Counts the block of a row, and what is behind it, as not good.
    pub(super) fn drop_blocks(&mut self, row: usize) {
        let containing = self.blocks.partition_point(|block| block.before.rows <= row).saturating_sub(1);
        if let Some(block) = self.blocks.get(containing) {
            tracing::warn!(path = %self.path.display(), row, "a vector cache is damaged: rebuilding the rest of it");
            self.good = block.before;
            self.blocks.truncate(containing);
            self.overlong = true;
        }
    }
}
