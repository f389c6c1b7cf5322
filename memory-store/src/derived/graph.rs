//! A graph of near neighbours over rows of codes that the caller owns.

mod codes;
mod file;
mod levels;
mod link;
mod links;
mod pool;
mod select;
mod stored;
mod walk;

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};

pub use codes::Codes;
pub(crate) use file::GraphBinding;
pub(super) use levels::{MIX_STEP, mix};
pub(super) use stored::KIND;

use self::{
    links::{NONE, Rows},
    walk::{Layer, Walk},
};

/// Options of building a graph. Two graphs with the same options and rows are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphOptions {
    /// Neighbours that a node chooses on each layer. It has at most that many on each layer, on the lowest at most
    /// twice as many: the paper's M. 8 to 64, by default 24.
    pub degree: usize,
    /// Candidates that a node chooses its neighbours from: the paper's efConstruction. 1 to 4096, by default 200.
    pub ef_construction: usize,
    /// The seed of the layers of nodes.
    pub seed: u64,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { degree: 24, ef_construction: 200, seed: 0 }
    }
}

impl GraphOptions {
    memory_core::setters! {
        const degree: usize,
        const ef_construction: usize,
        const seed: u64,
    }

    /// Clamps each value to its range.
    fn checked(self) -> Self {
        Self { degree: self.degree.clamp(8, 64), ef_construction: self.ef_construction.clamp(1, 4096), seed: self.seed }
    }

    /// Neighbours of a node on a layer at most.
    fn capacity(&self, layer: usize) -> usize {
        if layer == 0 { 2 * self.degree } else { self.degree }
    }
}

/// A row that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Near {
    /// Number of the row.
    pub row: u32,
    /// Inner product of its vector with the query's codes: approximately the cosine, up to the scale of the query.
    pub likeness: f32,
}

/// A hierarchical navigable small world (HNSW: Malkov and Yashunin, IEEE TPAMI 42(4), 2020, arXiv 1603.09320) over rows
/// of int8 codes. Comments refer to the algorithms of that paper by number.
///
/// A graph contains only links. Lists of neighbours have fixed widths of whole cache lines: an array for the lowest
/// layer, indexed by node, and an array for the layers above. The layers of a node follow from its number and the seed,
/// so that the same rows linked by the same calls give the same graph, on any number of threads and after any
/// reopening.
///
/// Results are nearest by the codes; the owner of the components rescores the best.
///
/// Searches take `&self`, as [`link`](Self::link) does, and may run during it. [`grow`](Self::grow) takes `&mut self`
/// briefly: if rows are appended under a lock, make room under the exclusive lock and link the rows under a shared one.
///
/// ```
/// use std::num::NonZero;
///
/// use memory_store::{Codes, Graph, GraphOptions, quantize};
///
/// let (mut codes, mut scales) = (Vec::new(), Vec::new());
/// for vector in [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]] {
///     scales.push(quantize(&vector, &mut codes));
/// }
/// let codes = Codes::new(2, &codes, &scales);
/// let mut graph = Graph::new(GraphOptions::default());
/// graph.grow(codes.len());
/// graph.link(&codes, NonZero::<usize>::MIN);
///
/// let mut query = Vec::new();
/// let _ = quantize(&[0.8, 0.6], &mut query);
/// let near = graph.search(&codes, &query, 2, 10, |row| row != 2);
/// assert_eq!(near.iter().map(|near| near.row).collect::<Vec<_>>(), [1, 0]);
/// ```
#[derive(Debug)]
pub struct Graph {
    options: GraphOptions,
    lower: Rows,
    upper: Rows,
    /// Index of each node's list on layer 1; its lists on higher layers follow.
    upper_rows: Vec<u32>,
    /// Nodes below this number are linked.
    linked: AtomicUsize,
    /// Node where walks begin; no linked node has more layers.
    entry: AtomicU32,
    /// Held during linking.
    linking: Mutex<()>,
    /// Reusable working memory of walks.
    walks: Mutex<Vec<Walk>>,
}

impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new(options: GraphOptions) -> Self {
        let options = options.checked();
        let (lower, upper) = (Rows::new(options.capacity(0)), Rows::new(options.capacity(1)));
        Self::of(options, lower, upper)
    }

    fn of(options: GraphOptions, lower: Rows, upper: Rows) -> Self {
        Self {
            options,
            lower,
            upper,
            upper_rows: Vec::new(),
            linked: AtomicUsize::new(0),
            entry: AtomicU32::new(NONE),
            linking: Mutex::default(),
            walks: Mutex::default(),
        }
    }

    /// The options it is built with.
    #[must_use]
    pub fn options(&self) -> GraphOptions {
        self.options
    }

    /// Number of linked rows, which are those below this number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.linked.load(Ordering::Acquire)
    }

    /// True if no row is linked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of its arrays, in memory or in a mapped file.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lower.bytes() + self.upper.bytes() + self.upper_rows.len() * size_of::<u32>()
    }

    /// Makes room for `rows` in total, at most the maximum number of nodes. Copies a mapped graph into memory.
    pub fn grow(&mut self, rows: usize) {
        let rows = rows.min(pool::MAX_NODES);
        self.number_upper_rows(rows);
        self.lower.grow(rows);
        self.upper.grow(self.upper_rows_in_use());
    }

    fn number_upper_rows(&mut self, rows: usize) {
        let mut upper = self.upper_rows_in_use();
        for node in (0u32..).take(rows).skip(self.upper_rows.len()) {
            // Fits, because upper rows are fewer than nodes.
            self.upper_rows.push(u32::try_from(upper).unwrap_or(NONE));
            upper += self.level(node);
        }
    }

    /// Upper rows of the nodes with room.
    fn upper_rows_in_use(&self) -> usize {
        let Some(last) = self.upper_rows.len().checked_sub(1) else { return 0 };
        let level = u32::try_from(last).map_or(0, |last| self.level(last));
        self.upper_rows.get(last).map_or(0, |first| *first as usize + level)
    }

    /// Number of rows with room.
    fn room(&self) -> usize {
        self.upper_rows.len()
    }

    /// The `limit` nearest rows that `keep` accepts, nearest first, ties by number. A larger `ef` (at least `limit` is
    /// used) improves recall and takes longer.
    ///
    /// Rows that `codes` does not have are ignored. Walks pass through rows that `keep` rejects, such as removed ones.
    /// There are fewer than `limit` results only if there are fewer rows
    /// to find.
    ///
    /// A filter that accepts few rows makes the walk long, since it continues until it has met `ef` of them. Scan the
    /// rows instead if it accepts less than about a tenth.
    #[must_use]
    pub fn search(
        &self,
        codes: &Codes<'_>,
        query: &[i8],
        limit: usize,
        ef: usize,
        keep: impl Fn(u32) -> bool,
    ) -> Vec<Near> {
        let Some(entry) = self.entry() else { return Vec::new() };
        let limit = limit.min(codes.len());
        if limit == 0 || query.len() != codes.dimensions() {
            return Vec::new();
        }
        let mut walk = self.walks().pop().unwrap_or_default();
        let entries = [walk.descend(self, codes, query, entry, 0)];
        let layer = Layer { number: 0, entries: &entries };
        let ef = ef.clamp(limit, codes.len().max(limit));
        walk.search_layer(self, codes, query, layer, ef, &keep);
        if walk.pool.len() < limit {
            walk.search_unmet(codes, query, &keep);
        }
        let near = walk.pool.results().take(limit).map(|(row, likeness)| Near { row, likeness }).collect();
        self.walks().push(walk);
        near
    }

    fn walks(&self) -> std::sync::MutexGuard<'_, Vec<Walk>> {
        self.walks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self) -> Option<u32> {
        Some(self.entry.load(Ordering::Acquire)).filter(|entry| *entry != NONE)
    }

    fn level(&self, node: u32) -> usize {
        levels::level(self.options.seed, node, self.options.degree)
    }

    /// The lists of a layer, and the index of a node's list among them.
    fn list(&self, node: u32, layer: usize) -> Option<(&Rows, usize)> {
        match layer.checked_sub(1) {
            None => Some((&self.lower, node as usize)),
            Some(above) if layer <= self.level(node) => {
                Some((&self.upper, *self.upper_rows.get(node as usize)? as usize + above))
            }
            Some(_) => None,
        }
    }

    /// Passes the neighbours of a node on a layer to `take`. In a damaged file they may be arbitrary numbers.
    #[inline]
    fn neighbours(&self, node: u32, layer: usize, take: impl FnMut(u32)) {
        if let Some((rows, row)) = self.list(node, layer) {
            rows.read(row, take);
        }
    }

    fn write(&self, node: u32, layer: usize, neighbours: &[u32]) {
        if let Some((rows, row)) = self.list(node, layer) {
            rows.write(row, neighbours);
        }
    }
}

#[cfg(test)]
mod tests;
