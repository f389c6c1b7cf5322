//! What a measured store must do: append batches durably, read records by position.

use std::path::Path;

use anyhow::Result;

/// A store of records under the positions 0, 1, 2, …
pub(super) trait Contender: Sized {
    /// Records ready to be appended, so that the measurement excludes their construction.
    type Batch;

    /// The name in the table.
    const NAME: &'static str;

    /// Makes a store in an empty directory.
    fn create(directory: &Path) -> Result<Self>;

    /// Makes records from texts.
    fn batch(texts: &[String]) -> Self::Batch;

    /// Called before a round of appends.
    fn begin_round(&mut self) {}

    /// Appends a batch as one unit; it is on disk when this returns.
    fn append(&mut self, batch: Self::Batch) -> Result<()>;

    /// Brings the appended records into the form that is read fastest.
    fn settle(&mut self) -> Result<()>;

    /// Reads a record into memory of the caller; returns the bytes of its text.
    fn read(&self, position: u64) -> Result<usize>;

    /// Reads a run of records as [`Self::read`] does; returns the bytes of all texts.
    fn read_run(&self, first: u64, count: u64) -> Result<usize>;
}
