//! The crate hnsw_rs as a backend, with the input validation that it lacks.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{PoisonError, RwLock},
};

use hnsw_rs::prelude::{Distance, Hnsw};

use super::{super::graph::Near, kernel::Kernels};

/// Tolerance of a vector's unit length.
const UNIT_TOLERANCE: f32 = 1e-3;
/// Maximum layers, also the limit of hnsw_rs.
const LAYERS: usize = 16;

/// Options of building the crate's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HnswRsOptions {
    /// Neighbours of a node: the crate's `max_nb_connection`. 2 to 128, by default 16.
    pub degree: usize,
    /// Candidates for the neighbours of a node. 1 to 4096, by default 200.
    pub ef_construction: usize,
}

impl HnswRsOptions {
    memory_core::setters! {
        const degree: usize,
        const ef_construction: usize,
    }
}

impl Default for HnswRsOptions {
    fn default() -> Self {
        Self { degree: 16, ef_construction: 200 }
    }
}

/// Why the backend rejected or did not find vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HnswRsError {
    /// The vector has another number of components.
    #[error("a vector has {found} components, the index holds vectors of {expected}")]
    Dimensions {
        /// Dimensions of the index.
        expected: usize,
        /// Components of the vector.
        found: usize,
    },
    /// The vector is not finite or not of unit length.
    #[error("a vector is not finite, or not of unit length")]
    BadVector,
    /// The crate panicked in this or an earlier call. Its state is undefined, so build a new index.
    #[error("hnsw_rs panicked: {message}; build the index anew")]
    Panicked {
        /// The message of the panic.
        message: String,
    },
}

/// An index of rows with the crate [hnsw_rs](https://docs.rs/hnsw_rs).
///
/// Holds a copy of each vector, is built on demand, and is never written to disk, because the crate reads its own files
/// without checking edges, and a damaged one ends the process. Vectors are validated before the crate sees them.
/// Inserts and searches exclude each other, which the crate requires but does not enforce. Its points are never
/// iterated, which can hang during an insert. A panic becomes an error of that call and all later ones.
///
/// The crate draws levels at random, so two indexes of the same rows differ.
///
/// ```
/// use memory_store::{HnswRs, HnswRsOptions};
///
/// let index = HnswRs::new(2, 100, HnswRsOptions::default());
/// index.insert(&[&[1.0, 0.0], &[0.6, 0.8]])?;
/// assert_eq!(index.search(&[0.0, 1.0], 1, 20, |_| true)?[0].row, 1);
/// # Ok::<(), memory_store::HnswRsError>(())
/// ```
pub struct HnswRs {
    dimensions: usize,
    state: RwLock<State>,
}

struct State {
    index: Hnsw<'static, f32, Cosine>,
    rows: usize,
    /// Message of the crate's panic.
    broken: Option<String>,
}

/// One minus the cosine of unit vectors.
#[derive(Clone, Copy, Debug)]
struct Cosine(Kernels);

impl Distance<f32> for Cosine {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        // Rounding must not make it negative, because the crate uses negative values as markers.
        (1.0 - self.0.dot_f32(a, b)).max(0.0)
    }
}

impl HnswRs {
    /// An empty index with room for about `rows`.
    #[must_use]
    pub fn new(dimensions: usize, rows: usize, options: HnswRsOptions) -> Self {
        // More than 256 neighbours end the process.
        let (degree, ef) = (options.degree.clamp(2, 128), options.ef_construction.clamp(1, 4096));
        let index = Hnsw::new(degree, rows.max(1), LAYERS, ef, Cosine(Kernels::detected()));
        Self { dimensions, state: RwLock::new(State { index, rows: 0, broken: None }) }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.read().unwrap_or_else(PoisonError::into_inner).rows
    }

    /// True if the index has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds rows, numbered from [`len`](Self::len) on; on all cores if there are many.
    ///
    /// # Errors
    /// [`HnswRsError`]; no row is added then, unless the crate panicked.
    pub fn insert(&self, vectors: &[&[f32]]) -> Result<(), HnswRsError> {
        vectors.iter().try_for_each(|vector| self.check(vector))?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let first = state.rows;
        let rows: Vec<(&[f32], usize)> = vectors.iter().copied().zip(first..).collect();
        state.contained(|index| {
            // The first row is added alone, because rows that are added in parallel to an empty index find no
            // neighbours.
            let (alone, others) = rows.split_at(rows.len().min(usize::from(first == 0)));
            alone.iter().for_each(|row| index.insert_slice(*row));
            match others {
                [row] => index.insert_slice(*row),
                _ => index.parallel_insert_slice(&others.to_vec()),
            }
        })?;
        state.rows += rows.len();
        Ok(())
    }

    /// The `limit` nearest rows that `keep` accepts, nearest first, as far as they are among `ef` candidates.
    ///
    /// # Errors
    /// [`HnswRsError`]
    pub fn search(
        &self,
        query: &[f32],
        limit: usize,
        ef: usize,
        keep: impl Fn(u32) -> bool,
    ) -> Result<Vec<Near>, HnswRsError> {
        self.check(query)?;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let limit = limit.min(state.rows);
        if let Some(message) = &state.broken {
            return Err(HnswRsError::Panicked { message: message.clone() });
        }
        if limit == 0 {
            return Ok(Vec::new());
        }
        let ef = ef.clamp(limit, state.rows);
        let row = |id: usize| u32::try_from(id).ok();
        let filter = |id: &usize| row(*id).is_some_and(&keep);
        let found = catch_unwind(AssertUnwindSafe(|| state.index.search_filter(query, ef, ef, Some(&filter))));
        drop(state);
        let found = match found {
            Ok(found) => found,
            Err(panic) => return Err(self.fail(&*panic)),
        };
        let near =
            found.iter().filter_map(|found| Some(Near { row: row(found.d_id)?, likeness: 1.0 - found.distance }));
        let mut near: Vec<Near> = near.collect();
        near.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then(a.row.cmp(&b.row)));
        near.truncate(limit);
        Ok(near)
    }

    fn check(&self, vector: &[f32]) -> Result<(), HnswRsError> {
        if vector.len() != self.dimensions {
            return Err(HnswRsError::Dimensions { expected: self.dimensions, found: vector.len() });
        }
        // NaN and infinity make the length invalid.
        let length = Kernels::detected().dot_f32(vector, vector).sqrt();
        let is_unit = length.is_finite() && (length - 1.0).abs() <= UNIT_TOLERANCE;
        if is_unit { Ok(()) } else { Err(HnswRsError::BadVector) }
    }

    fn fail(&self, panic: &(dyn Any + Send)) -> HnswRsError {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.fail(panic)
    }
}

impl State {
    /// Changes the index; a panic is caught and recorded.
    fn contained(&mut self, change: impl FnOnce(&Hnsw<'static, f32, Cosine>)) -> Result<(), HnswRsError> {
        if let Some(message) = &self.broken {
            return Err(HnswRsError::Panicked { message: message.clone() });
        }
        catch_unwind(AssertUnwindSafe(|| change(&self.index))).map_err(|panic| self.fail(&*panic))
    }

    fn fail(&mut self, panic: &(dyn Any + Send)) -> HnswRsError {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        let message = said.unwrap_or("without a word").to_owned();
        self.broken = Some(message.clone());
        HnswRsError::Panicked { message }
    }
}

impl fmt::Debug for HnswRs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HnswRs")
            .field("dimensions", &self.dimensions)
            .field("rows", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
