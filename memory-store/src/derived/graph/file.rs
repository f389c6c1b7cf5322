//! Cache file of a graph: one block whose rows are the arrays as in memory.

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use memory_core::Hash;

use super::{
    super::{
        block::{BlockHeader, HEADER},
        header::{BadHeader, GRAPH},
    },
    Graph, GraphOptions,
    links::{NONE, Rows, Section},
    pool::MAX_NODES,
};
use crate::{checksum, wire::In};

/// Seed, degree, candidates, nodes, lists above the lowest layer, entry node, hash of the rows.
const FIXED: usize = 8 + 4 + 4 + 8 + 8 + 4 + 32;
/// Alignment of the arrays in bytes.
const ALIGN: usize = 64;

/// Rows that a graph file was built from. The file is valid only for exactly these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GraphBinding {
    /// Store of the vectors; zeros without one.
    pub(crate) store: [u8; 16],
    pub(crate) conversation: String,
    /// Model of the vectors.
    pub(crate) model: String,
    /// Codes per row.
    pub(crate) dimensions: u32,
    /// Last node of the rows.
    pub(crate) through: u64,
    /// Leaf of that node; zeros without a log.
    pub(crate) leaf: [u8; 32],
    /// Hash over node and chunk of each row.
    pub(crate) rows: [u8; 32],
}

impl GraphBinding {
    /// Binding of a file; `None` if its header is invalid.
    pub(crate) fn of_file(bytes: &[u8]) -> Option<Self> {
        Some(read(bytes).ok()?.binding)
    }
}

/// Why a graph file is ignored. Never an error: the graph is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SetAside {
    /// The file is shorter or longer than its header states.
    #[error("it is {found} bytes long, and should be {expected}")]
    Size {
        /// Required bytes.
        expected: u64,
        /// Actual bytes.
        found: u64,
    },
    /// The file is not a graph, or of an unknown format version.
    #[error("it is not a graph of format 3")]
    Format,
    /// A checksum does not match, or a number is out of range.
    #[error("it is damaged: {what}")]
    Damaged {
        /// The damaged part.
        what: &'static str,
    },
    /// The graph was built with other options.
    #[error("it was built with other options")]
    Options,
    /// The graph belongs to other rows.
    #[error("it belongs to another {what}")]
    Foreign {
        /// The field of the binding that differs.
        what: &'static str,
    },
    /// The graph covers fewer or more nodes than the rows.
    #[error("it is true up to position {found}, the vectors are up to {expected}")]
    Position {
        /// Last node of the vectors.
        expected: u64,
        /// Last node of the file.
        found: u64,
    },
}

/// Sizes of a graph.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    nodes: usize,
    upper_rows: usize,
    entry: u32,
}

/// Bytes of the unused bits at the end of a file, one for each node: zeros, because the index hides removed rows.
const fn unused_bytes(nodes: usize) -> usize {
    nodes.div_ceil(64) * size_of::<u64>()
}

/// Byte ranges of the lower and upper lists in a file of `length` bytes whose lists begin at `at`; `None` if the sizes
/// require another length.
fn lists(at: usize, length: usize, options: &GraphOptions, sizes: Sizes) -> Option<[Range<usize>; 2]> {
    let upper = at.checked_add(sizes.nodes.checked_mul(Rows::row_bytes(options.capacity(0)))?)?;
    let end = upper.checked_add(sizes.upper_rows.checked_mul(Rows::row_bytes(options.capacity(1)))?)?;
    (end.checked_add(unused_bytes(sizes.nodes))? == length).then_some([at..upper, upper..end])
}

impl Graph {
    /// The bytes of a file with this graph. Waits for linking to finish.
    pub(crate) fn encode(&self, binding: &GraphBinding) -> Vec<u8> {
        let _turn = self.linking.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let nodes = self.len();
        let upper_rows = match nodes.checked_sub(1).and_then(|last| u32::try_from(last).ok()) {
            Some(last) => self.upper_rows.get(last as usize).map_or(0, |row| *row as usize + self.level(last)),
            None => 0,
        };
        let sizes = Sizes { nodes, upper_rows, entry: self.entry.load(Ordering::Acquire) };
        let dimensions = u64::from(binding.dimensions).to_le_bytes();
        let mut out = GRAPH.header(binding.store, &dimensions, [&binding.model, &binding.conversation]);
        let block = out.len();
        out.resize(block + HEADER, 0);
        write_body(&mut out, binding, &self.options, sizes);
        let rows = out.len();
        self.lower.encode(nodes, &mut out);
        self.upper.encode(upper_rows, &mut out);
        out.resize(out.len() + unused_bytes(nodes), 0);
        let part = |range: Range<usize>| out.get(range).unwrap_or_default();
        let (body, rows) = (part(block + HEADER..rows), part(rows..out.len()));
        let leaf = Hash::from_bytes(binding.leaf);
        let header = BlockHeader::of((1, binding.through), leaf, body, rows, checksum::crc32c(rows)).bytes();
        out.iter_mut().skip(block).zip(header).for_each(|(out, byte)| *out = byte);
        out
    }

    /// Opens the graph of a file in place, after comparing checksums. If the mapped bytes change later, walks may go
    /// astray but stay in bounds, because every number is checked on use.
    ///
    /// # Errors
    /// [`SetAside`] if the file does not belong to these rows, or is damaged.
    pub(crate) fn decode(
        image: Arc<dyn AsRef<[u8]> + Send + Sync>,
        binding: &GraphBinding,
        options: GraphOptions,
    ) -> Result<Self, SetAside> {
        let bytes = (*image).as_ref();
        let options = options.checked();
        let found = read(bytes)?;
        found.check(binding, &options)?;
        let (sizes, rows) = (found.sizes, bytes.get(found.rows_at..).unwrap_or_default());
        let lists = lists(found.rows_at, bytes.len(), &options, sizes);
        let [lower, upper] = lists.ok_or(SetAside::Damaged { what: "its sizes" })?;
        if checksum::crc32c(rows) != found.rows_sum {
            return Err(SetAside::Damaged { what: "its lists" });
        }
        let lower = Rows::mapped(options.capacity(0), Section::new(Arc::clone(&image), lower));
        let upper = Rows::mapped(options.capacity(1), Section::new(Arc::clone(&image), upper));
        let mut graph = Self::of(options, lower, upper);
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

/// Binding of a graph file, and its number of linked nodes. If `all`, the lists are verified too.
///
/// # Errors
/// [`SetAside`] if the file is damaged.
pub(super) fn survey(bytes: &[u8], all: bool) -> Result<(GraphBinding, u64), SetAside> {
    let found = read(bytes)?;
    let rows = bytes.get(found.rows_at..).unwrap_or_default();
    if all && checksum::crc32c(rows) != found.rows_sum {
        return Err(SetAside::Damaged { what: "its lists" });
    }
    Ok((found.binding, found.sizes.nodes as u64))
}

struct Found {
    binding: GraphBinding,
    options: GraphOptions,
    sizes: Sizes,
    rows_at: usize,
    rows_sum: u32,
}

impl Found {
    fn check(&self, expected: &GraphBinding, options: &GraphOptions) -> Result<(), SetAside> {
        let Self { binding: found, options: built_with, .. } = self;
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
        foreign(found.rows != expected.rows || found.leaf != expected.leaf, "file of vectors")
    }
}

/// Appends the body of a block, and zeros up to the alignment of its rows.
fn write_body(out: &mut Vec<u8>, binding: &GraphBinding, options: &GraphOptions, sizes: Sizes) {
    let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    out.extend_from_slice(&options.seed.to_le_bytes());
    out.extend_from_slice(&word(options.degree));
    out.extend_from_slice(&word(options.ef_construction));
    out.extend_from_slice(&(sizes.nodes as u64).to_le_bytes());
    out.extend_from_slice(&(sizes.upper_rows as u64).to_le_bytes());
    out.extend_from_slice(&sizes.entry.to_le_bytes());
    out.extend_from_slice(&binding.rows);
    out.resize(out.len().next_multiple_of(ALIGN), 0);
}

/// Parses a body: options, sizes, and the hash of the rows.
fn read_body(body: &[u8; FIXED]) -> Option<(GraphOptions, Sizes, [u8; 32])> {
    let mut fields = In(body);
    let options = GraphOptions {
        seed: u64::from_le_bytes(fields.array()?),
        degree: u32::from_le_bytes(fields.array()?) as usize,
        ef_construction: u32::from_le_bytes(fields.array()?) as usize,
    };
    let nodes = usize::try_from(u64::from_le_bytes(fields.array()?)).ok().filter(|nodes| *nodes <= MAX_NODES)?;
    let upper_rows = usize::try_from(u64::from_le_bytes(fields.array()?)).ok()?;
    let entry = u32::from_le_bytes(fields.array()?);
    Some((options, Sizes { nodes, upper_rows, entry }, fields.array()?))
}

/// Parses everything but the lists.
fn read(bytes: &[u8]) -> Result<Found, SetAside> {
    let (damaged, found) = (SetAside::Damaged { what: "its header" }, bytes.len() as u64);
    let size = |expected: u64| SetAside::Size { expected, found };
    let named = GRAPH.read(bytes, 8).map_err(|why| match why {
        BadHeader::Short => size((bytes.len() + HEADER + FIXED) as u64),
        BadHeader::Format => SetAside::Format,
        BadHeader::Damaged => damaged,
    })?;
    let begin = bytes.len() - named.rest.len() + HEADER;
    let (header, rest) = named.rest.split_first_chunk::<HEADER>().ok_or(size((begin + FIXED) as u64))?;
    let header = BlockHeader::read(header).ok_or(damaged)?;
    let expected = header.body_bytes.saturating_add(header.row_bytes).saturating_add(begin as u64);
    if expected != found {
        return Err(size(expected));
    }
    let body = usize::try_from(header.body_bytes).ok().and_then(|bytes| rest.get(..bytes)).ok_or(damaged)?;
    if checksum::crc32c(body) != header.body_sum {
        return Err(damaged);
    }
    let (options, sizes, rows) = body.first_chunk().and_then(read_body).ok_or(damaged)?;
    let binding = GraphBinding {
        store: named.store,
        conversation: named.names[1].to_owned(),
        model: named.names[0].to_owned(),
        dimensions: u64::from_le_bytes(named.fields.try_into().map_err(|_| damaged)?)
            .try_into()
            .map_err(|_| damaged)?,
        through: header.last,
        leaf: *header.leaf.as_bytes(),
        rows,
    };
    Ok(Found { binding, options, sizes, rows_at: begin + body.len(), rows_sum: header.rows_sum })
}
