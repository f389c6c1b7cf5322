//! What a format's reader does with a record.

use crate::{TranscriptError, out::Out, records::Place};

/// Nothing: what is read has no records.
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
    /// Takes a record in.
    ///
    /// # Errors
    /// For what is no transcript of the format. A record of an unknown type is counted.
    fn record(&mut self, record: &str, place: Place, out: &mut Out) -> Result<(), TranscriptError>;

    /// Gives what was held back. There are no more records.
    ///
    /// # Errors
    /// For what is no transcript of the format, as far as only all of it shows.
    fn finish(&mut self, _: &mut Out) -> Result<(), TranscriptError> {
        Ok(())
    }

    /// The first byte of what is held back because it may go on.
    fn held_from(&self) -> Option<u64> {
        None
    }

    /// What a later reader needs to go on here, as JSON.
    fn state(&self, _: &Out) -> String {
        String::new()
    }
}

/// Reads the rows of a database.
#[cfg(feature = "sqlite")]
pub(crate) trait Rows: std::fmt::Debug + Send {
    /// Gives what comes next to `out`; `false` where there is nothing more.
    ///
    /// # Errors
    /// Where the database cannot be read on. What is of an unknown type is counted.
    fn next(&mut self, out: &mut Out) -> Result<bool, TranscriptError>;
}
