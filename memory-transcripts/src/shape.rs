//! The interface of a format's reader.

use crate::{TranscriptError, out::Out, records::Place};

/// Reader for sources without records.
#[cfg(feature = "sqlite")]
#[derive(Debug)]
pub(crate) struct NoRecords;

#[cfg(feature = "sqlite")]
impl Shape for NoRecords {
    fn record(&mut self, _: &str, _: Place, _: &mut Out) -> Result<(), TranscriptError> {
        Ok(())
    }
}

/// Reads the records of one format.
pub(crate) trait Shape: std::fmt::Debug + Send {
    /// Reads a record.
    ///
    /// # Errors
    /// If the input does not have the format. A record of an unknown type is counted.
    fn record(&mut self, record: &str, place: Place, out: &mut Out) -> Result<(), TranscriptError>;

    /// Emits what was held back. No records follow.
    ///
    /// # Errors
    /// If the whole input does not have the format.
    fn finish(&mut self, _: &mut Out) -> Result<(), TranscriptError> {
        Ok(())
    }

    /// Offset of the first byte that is held back because it may be incomplete.
    fn held_from(&self) -> Option<u64> {
        None
    }

    /// State that a later reader needs to resume here, as JSON.
    fn state(&self, _: &Out) -> String {
        String::new()
    }
}

/// Reads the rows of a database.
#[cfg(feature = "sqlite")]
pub(crate) trait Rows: std::fmt::Debug + Send {
    /// Emits the next items to `out`; `false` at the end.
    ///
    /// # Errors
    /// If the database cannot be read any further. A row of an unknown type is counted.
    fn next(&mut self, out: &mut Out) -> Result<bool, TranscriptError>;
}
