//! The cache file of a graph: a header, and its arrays as they stand in memory.

use std::{
    fmt,
    ops::{Deref, Range},
    sync::{Arc, atomic::Ordering},
};

use super::{
    Graph, GraphOptions,
    links::{NONE, Rows},
    pool::MAX_NODES,
    tombstones::Tombstones,
};
use crate::checksum;

const MAGIC: &[u8; 8] = b"MEMHNSW\n";
const FORMAT: u32 = 2;
/// Everything before the names.
const FIXED: usize = 116;
/// Arrays begin at a multiple of this.
const ALIGN: usize = 64;
/// A name is not longer.
const LONGEST_NAME: usize = 4096;

/// What a graph file belongs to. It is of use only beside exactly these rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphBinding {
    /// The store that the vectors were derived from; zeros beside none.
    pub store: [u8; 16],
    /// What the vectors are of.
    pub conversation: String,
    /// What made them.
    pub model: String,
    /// Codes of a row.
    pub dimensions: u32,
    /// The position in the log up to which the rows are true.
    pub through: u64,
    /// What tells these rows from others up to that position, as a digest over what each is of and where the log stood.
    pub rows: [u8; 32],
}

impl GraphBinding {
    /// What a file says that it belongs to; `None` of one whose header is not whole.
    #[must_use]
    pub fn of_file(bytes: &[u8]) -> Option<Self> {
        Some(read_header(bytes)?.ok()?.0.binding)
    }
}

/// Why a graph file is not used. None of these is an error: the graph is built anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetAside {
    /// It is shorter or longer than its header says.
    #[error("it is {found} bytes long, and should be {expected}")]
    Size {
        /// Bytes that its header asks for, or that a header needs at least.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// It is no graph file, or of a format that this program does not read.
    #[error("it is no graph of format 2")]
    Format,
    /// A checksum does not match, or a number is beyond what it can be.
    #[error("it is damaged: {what}")]
    Damaged {
        /// Where.
        what: &'static str,
    },
    /// It was built otherwise.
    #[error("it was built with other options")]
    Options,
    /// It belongs to something else.
    #[error("it belongs to another {what}")]
    Foreign {
        /// What of the binding differs.
        what: &'static str,
    },
    /// It ends before the rows do, or after.
    #[error("it is true up to position {found}, the vectors are up to {expected}")]
    Position {
        /// How far the vectors reach.
        expected: u64,
        /// How far the file does.
        found: u64,
    },
}

/// The bytes of a file, held as long as somebody reads in them.
type Image = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A part of a file's bytes.
#[derive(Clone)]
pub(super) struct Section {
    image: Image,
    range: Range<usize>,
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

/// Reads numbers one behind the other.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn name(&mut self, bytes: u32) -> Option<&'a [u8]> {
        let (name, rest) = self.0.split_at_checked(bytes as usize)?;
        self.0 = rest;
        Some(name)
    }
}

/// The numbers of a header, apart from the binding.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    nodes: usize,
    upper_rows: usize,
    entry: u32,
}

/// Where the arrays stand.
struct Layout {
    lower: Range<usize>,
    upper: Range<usize>,
    tombstones: Range<usize>,
}

impl Layout {
    /// `None` when it would be longer than a file can be.
    fn of(header: usize, options: &GraphOptions, sizes: Sizes) -> Option<Self> {
        let mut at = header.checked_next_multiple_of(ALIGN)?;
        let mut section = |bytes: Option<usize>| {
            let start = at;
            at = at.checked_add(bytes?)?;
            Some(start..at)
        };
        Some(Self {
            lower: section(sizes.nodes.checked_mul(Rows::row_bytes(options.capacity(0))))?,
            upper: section(sizes.upper_rows.checked_mul(Rows::row_bytes(options.capacity(1))))?,
            tombstones: section(Some(Tombstones::bytes_of(sizes.nodes)))?,
        })
    }

    /// Bytes of the whole file, its last checksum included.
    fn file(&self) -> usize {
        self.tombstones.end.saturating_add(size_of::<u32>())
    }
}

impl Graph {
    /// The graph as the bytes of a file. Waits for whoever links rows.
    #[must_use]
    pub fn encode(&self, binding: &GraphBinding) -> Vec<u8> {
        let _turn = self.linking.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let nodes = self.len();
        let upper_rows = match nodes.checked_sub(1).and_then(|last| u32::try_from(last).ok()) {
            Some(last) => self.upper_rows.get(last as usize).map_or(0, |row| *row as usize + self.level(last)),
            None => 0,
        };
        let sizes = Sizes { nodes, upper_rows, entry: self.entry.load(Ordering::Acquire) };
        let mut out = header(binding, &self.options, sizes);
        let body = out.len();
        out.resize(body.next_multiple_of(ALIGN), 0);
        self.lower.encode(nodes, &mut out);
        self.upper.encode(upper_rows, &mut out);
        self.tombstones.encode(nodes, &mut out);
        let checksum = checksum::crc32c(out.get(body..).unwrap_or_default());
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// The graph of a file, which is read where it lies. Checksums are compared first; what comes to be changed under
    /// it later leads walks astray at worst: no number in it is believed.
    ///
    /// # Errors
    /// [`SetAside`] when the file is not the one of these rows, or not whole.
    pub fn decode(
        image: Arc<dyn AsRef<[u8]> + Send + Sync>,
        binding: &GraphBinding,
        options: GraphOptions,
    ) -> Result<Self, SetAside> {
        let bytes = (*image).as_ref();
        let too_short = SetAside::Size { expected: FIXED as u64, found: bytes.len() as u64 };
        let (found, sizes, header) = read_header(bytes).unwrap_or(Err(too_short))?;
        let options = options.checked();
        found.check(binding, &options)?;
        let layout = Layout::of(header, &options, sizes).ok_or(SetAside::Damaged { what: "its sizes" })?;
        if layout.file() != bytes.len() {
            return Err(SetAside::Size { expected: layout.file() as u64, found: bytes.len() as u64 });
        }
        let (body, checksum) = bytes.split_last_chunk::<4>().unwrap_or((bytes, &[0; 4]));
        if checksum::crc32c(body.get(header..).unwrap_or_default()) != u32::from_le_bytes(*checksum) {
            return Err(SetAside::Damaged { what: "its lists" });
        }
        let tombstones = Tombstones::decode(bytes.get(layout.tombstones).unwrap_or_default());
        let section = |range| Section { image: Arc::clone(&image), range };
        let lower = Rows::mapped(options.capacity(0), section(layout.lower));
        let upper = Rows::mapped(options.capacity(1), section(layout.upper));
        let mut graph = Self { tombstones, ..Self::of(options, lower, upper) };
        graph.number_upper_rows(sizes.nodes);
        let has_entry = (sizes.entry as usize) < sizes.nodes;
        if graph.upper_rows_in_use() != sizes.upper_rows || has_entry == (sizes.nodes == 0) {
            return Err(SetAside::Damaged { what: "its sizes" });
        }
        graph.linked = sizes.nodes.into();
        graph.entry = if has_entry { sizes.entry.into() } else { NONE.into() };
        Ok(graph)
    }
}

/// What a header says that the graph is of.
struct Found {
    binding: GraphBinding,
    options: GraphOptions,
}

impl Found {
    fn check(&self, expected: &GraphBinding, options: &GraphOptions) -> Result<(), SetAside> {
        let Self { binding: found, options: built_with } = self;
        let foreign = |differs, what| if differs { Err(SetAside::Foreign { what }) } else { Ok(()) };
        foreign(found.store != expected.store, "store")?;
        foreign(found.conversation != expected.conversation, "conversation")?;
        foreign(found.model != expected.model, "model")?;
        foreign(found.dimensions != expected.dimensions, "number of dimensions")?;
        if built_with != options {
            return Err(SetAside::Options);
        }
        if found.through != expected.through {
            return Err(SetAside::Position { expected: expected.through, found: found.through });
        }
        foreign(found.rows != expected.rows, "file of vectors")
    }
}

fn header(binding: &GraphBinding, options: &GraphOptions, sizes: Sizes) -> Vec<u8> {
    let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&binding.dimensions.to_le_bytes());
    out.extend_from_slice(&binding.store);
    out.extend_from_slice(&binding.through.to_le_bytes());
    out.extend_from_slice(&binding.rows);
    out.extend_from_slice(&options.seed.to_le_bytes());
    out.extend_from_slice(&word(options.degree));
    out.extend_from_slice(&word(options.ef_construction));
    out.extend_from_slice(&(sizes.nodes as u64).to_le_bytes());
    out.extend_from_slice(&(sizes.upper_rows as u64).to_le_bytes());
    out.extend_from_slice(&sizes.entry.to_le_bytes());
    out.extend_from_slice(&word(binding.model.len()));
    out.extend_from_slice(&word(binding.conversation.len()));
    out.extend_from_slice(binding.model.as_bytes());
    out.extend_from_slice(binding.conversation.as_bytes());
    let checksum = checksum::crc32c(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
}

/// What the header says, and where it ends; `None` when the file ends before it.
fn read_header(bytes: &[u8]) -> Option<Result<(Found, Sizes, usize), SetAside>> {
    let mut cursor = Cursor(bytes);
    if cursor.take::<8>()? != *MAGIC || cursor.u32()? != FORMAT {
        return Some(Err(SetAside::Format));
    }
    let (dimensions, store, through, rows) = (cursor.u32()?, cursor.take()?, cursor.u64()?, cursor.take()?);
    let (seed, degree, ef_construction) = (cursor.u64()?, cursor.u32()? as usize, cursor.u32()? as usize);
    let (nodes, upper_rows, entry) = (cursor.u64()?, cursor.u64()?, cursor.u32()?);
    let (model, conversation) = (cursor.u32()?, cursor.u32()?);
    let damaged = Some(Err(SetAside::Damaged { what: "its header" }));
    if model.max(conversation) as usize > LONGEST_NAME {
        return damaged;
    }
    let (model, conversation) = (cursor.name(model)?, cursor.name(conversation)?);
    let covered = bytes.len() - cursor.0.len();
    let checksum = cursor.u32()?;
    if checksum::crc32c(bytes.get(..covered)?) != checksum {
        return damaged;
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let (Some(model), Some(conversation)) = (text(model), text(conversation)) else { return damaged };
    let (Ok(nodes), Ok(upper_rows)) = (usize::try_from(nodes), usize::try_from(upper_rows)) else { return damaged };
    if nodes > MAX_NODES {
        return damaged;
    }
    let options = GraphOptions { degree, ef_construction, seed };
    let binding = GraphBinding { store, conversation, model, dimensions, through, rows };
    Some(Ok((Found { binding, options }, Sizes { nodes, upper_rows, entry }, covered + size_of::<u32>())))
}
