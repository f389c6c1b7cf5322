//! Lists of neighbours in rows of equal width.

use std::{
    fmt,
    ops::{Deref, Range},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// Fills the unused end of a row.
pub(super) const NONE: u32 = u32::MAX;
/// Words of a cache line. A row is a whole number of cache lines.
pub(super) const LINE: usize = 16;

/// A cache line; alignment keeps a row from crossing more lines than needed.
#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU32; LINE]);

/// Bytes of a file, kept alive while they are used.
pub(super) type Image = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A range of a file's bytes.
#[derive(Clone)]
pub(super) struct Section {
    image: Image,
    range: Range<usize>,
}

impl Section {
    pub(super) fn new(image: Image, range: Range<usize>) -> Self {
        Self { image, range }
    }
}

impl Deref for Section {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.image).as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Section({:?})", self.range)
    }
}

/// Rows that can be read while one is written.
///
/// Words are written with release and read with acquire, so that a reader that finds a node in a list also sees the
/// node's own lists from when it was linked. A row that is being written may be read partly old and partly new: all its
/// nodes exist, and at worst the reader misses a link. No two writers write to one row.
#[derive(Debug)]
pub(super) struct Rows {
    words: Words,
    /// Cache lines per row.
    width: usize,
}

#[derive(Debug)]
enum Words {
    Held(Vec<Line>),
    /// Rows of a file, read-only.
    Mapped(Section),
}

impl Rows {
    /// No rows, each with a capacity of at least `capacity` neighbours.
    pub(super) fn new(capacity: usize) -> Self {
        Self { words: Words::Held(Vec::new()), width: Self::lines(capacity) }
    }

    pub(super) fn mapped(capacity: usize, section: Section) -> Self {
        Self { words: Words::Mapped(section), width: Self::lines(capacity) }
    }

    /// Cache lines of a row of `capacity` neighbours.
    const fn lines(capacity: usize) -> usize {
        if capacity == 0 { 1 } else { capacity.div_ceil(LINE) }
    }

    /// Bytes of a row of `capacity` neighbours.
    pub(super) const fn row_bytes(capacity: usize) -> usize {
        Self::lines(capacity) * size_of::<Line>()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes() / (self.width * size_of::<Line>())
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.words {
            Words::Held(lines) => lines.len() * size_of::<Line>(),
            Words::Mapped(section) => section.len(),
        }
    }

    /// Adds empty rows up to `rows`; copies the rows of a file into memory.
    pub(super) fn grow(&mut self, rows: usize) {
        if rows <= self.len() {
            return;
        }
        if let Words::Mapped(section) = &self.words {
            let word = |bytes: &[u8; 4]| AtomicU32::new(u32::from_le_bytes(*bytes));
            let lines = section.as_chunks::<4>().0.as_chunks::<LINE>().0;
            self.words = Words::Held(lines.iter().map(|line| Line(line.each_ref().map(word))).collect());
        }
        if let Words::Held(lines) = &mut self.words {
            lines.resize_with(rows * self.width, || Line([const { AtomicU32::new(NONE) }; LINE]));
        }
    }

    /// Passes the list of a row to `take`, if the row exists. Numbers from a file are not validated.
    #[inline]
    pub(super) fn read(&self, row: usize, mut take: impl FnMut(u32)) {
        let start = row.saturating_mul(self.width);
        match &self.words {
            Words::Held(lines) => {
                let lines = lines.get(start..start.saturating_add(self.width)).unwrap_or_default();
                for word in lines.iter().flat_map(|line| &line.0) {
                    match word.load(Ordering::Acquire) {
                        NONE => return,
                        node => take(node),
                    }
                }
            }
            Words::Mapped(section) => {
                let words = section.as_chunks::<4>().0.as_chunks::<LINE>().0;
                let lines = words.get(start..start.saturating_add(self.width)).unwrap_or_default();
                for word in lines.iter().flatten() {
                    match u32::from_le_bytes(*word) {
                        NONE => return,
                        node => take(node),
                    }
                }
            }
        }
    }

    /// Replaces the list of a row, cut to its width. Does nothing for rows of a file.
    pub(super) fn write(&self, row: usize, list: &[u32]) {
        let Words::Held(lines) = &self.words else { return };
        let start = row.saturating_mul(self.width);
        let lines = lines.get(start..start.saturating_add(self.width)).unwrap_or_default();
        let list = list.iter().copied().chain(std::iter::repeat(NONE));
        for (word, node) in lines.iter().flat_map(|line| &line.0).zip(list) {
            word.store(node, Ordering::Release);
        }
    }

    /// Appends the first `rows` rows in the file layout.
    pub(super) fn encode(&self, rows: usize, out: &mut Vec<u8>) {
        match &self.words {
            Words::Held(lines) => {
                for word in lines.iter().take(rows * self.width).flat_map(|line| &line.0) {
                    out.extend_from_slice(&word.load(Ordering::Acquire).to_le_bytes());
                }
            }
            Words::Mapped(section) => {
                let end = (rows * self.width * size_of::<Line>()).min(section.len());
                out.extend_from_slice(section.get(..end).unwrap_or_default());
            }
        }
    }
}
