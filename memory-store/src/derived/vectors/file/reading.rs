//! Reads the valid part of the cache files of vectors.

use std::io;

use super::{
    super::{
        super::{
            disk::is_damage,
            header::VECTOR_ROWS,
            map::{ROWS_AT, RowMap},
        },
        kernel::quantize,
        rows::{Base, Codes, Rows},
    },
    VectorFile,
    contents::{Contents, rows_of},
};
use crate::checksum;

impl VectorFile {
    /// Reads the valid part of the files.
    pub(super) fn read_good(&mut self) -> io::Result<Rows> {
        let mut contents = Contents::default();
        self.file.read(|header, body| contents.add(header, body))?;
        self.rows = contents.slots.len();
        let base = self.base(&mut contents)?;
        self.removed = contents.scales.iter().filter(|scale| **scale == 0.0).count();
        Ok(Rows::of_base(self.dimensions, contents.slots, contents.scales, base, self.file.through()))
    }

    pub(super) fn forget(&mut self) {
        self.file.forget();
        (self.rows, self.removed, self.codes_owed) = (0, 0, false);
    }

    /// The rows of the valid blocks, up to the first invalid row.
    fn base(&mut self, contents: &mut Contents) -> io::Result<Base> {
        let components = loop {
            if self.rows == 0 {
                return Ok(Base::default());
            }
            let there = self.rows_there("f32", self.row_bytes(4));
            match self.map("f32", self.row_bytes(4)) {
                Ok(map) => break map,
                // The file is missing, too short, or of something else.
                Err(error) if is_damage(&error) => {
                    tracing::warn!(path = %self.path().display(), %error, "the components of vectors are missing");
                    let whole = if there < self.rows { there } else { 0 };
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

    /// Bytes of a file; 0 if it is missing.
    pub(super) fn length(&self, extension: &str) -> u64 {
        self.file.open(&self.path().with_extension(extension)).and_then(|file| file.len()).unwrap_or(0)
    }

    /// Number of rows that the length of a file allows.
    fn rows_there(&self, extension: &str, row: usize) -> usize {
        usize::try_from(self.length(extension))
            .unwrap_or(usize::MAX)
            .saturating_sub(ROWS_AT)
            .checked_div(row)
            .unwrap_or(0)
    }

    /// Maps the valid rows of a file.
    pub(super) fn map(&self, extension: &str, row: usize) -> io::Result<RowMap> {
        let file = self.file.open(&self.path().with_extension(extension))?;
        let mut begin = [0; ROWS_AT];
        file.read_exact_at(&mut begin, 0)?;
        if begin != self.rows_header(extension) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is of another store or format"));
        }
        RowMap::of(&file, self.rows * row)
    }

    pub(super) fn rows_header(&self, extension: &str) -> [u8; ROWS_AT] {
        let mut out = [0; ROWS_AT];
        let named = VECTOR_ROWS.named_by(self.file.anchor().store());
        out.iter_mut().zip(named.into_iter().chain(extension.bytes())).for_each(|(out, byte)| *out = byte);
        out
    }

    /// Codes of all components, up to the first block with damaged ones.
    fn derive(&mut self, components: &RowMap, contents: &mut Contents) -> Vec<i8> {
        let mut codes = Vec::with_capacity(self.rows * self.dimensions);
        for row in 0..self.rows {
            let place = row * self.dimensions..(row + 1) * self.dimensions;
            let bytes = components.bytes().get(place.start * 4..place.end * 4).unwrap_or_default();
            let is_removed = contents.scales.get(row).is_none_or(|scale| *scale == 0.0);
            if !is_removed && contents.sums.get(row) != Some(&checksum::crc32c(bytes)) {
                self.cut_contents(row, contents);
                codes.truncate(self.rows * self.dimensions);
                break;
            }
            let _scale = quantize(components.components().get(place).unwrap_or_default(), &mut codes);
        }
        codes
    }

    fn cut_contents(&mut self, row: usize, contents: &mut Contents) {
        self.drop_blocks(row);
        contents.truncate(self.rows);
    }

    /// Invalidates the block of a row and all later blocks.
    pub(super) fn drop_blocks(&mut self, row: usize) {
        let mut end = 0;
        let ends = self.file.blocks().iter().map(|block| {
            end += rows_of(&block.header);
            end
        });
        let ends: Vec<usize> = ends.collect();
        let Some(last) = ends.len().checked_sub(1) else { return };
        tracing::warn!(path = %self.path().display(), row, "a vector cache is damaged: rebuilding the rest of it");
        let containing = ends.partition_point(|end| *end <= row).min(last);
        self.file.drop_blocks(containing);
        self.rows = containing.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    }
}
