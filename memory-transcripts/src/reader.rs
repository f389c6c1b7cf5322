//! Reads one transcript, item by item.

use memory_core::{ConversationId, text::mend_surrogates};
use serde::{Deserialize, Serialize};

use crate::{
    Format, Item, Report, TranscriptError, Why,
    out::ItemQueue,
    records::{Lines, Records},
};

/// Reads a transcript from start to end, in memory proportional to its largest record.
#[derive(Debug)]
pub struct Reader {
    format: Format,
    records: Records,
    of_format: Box<dyn FormatReader>,
    out: ItemQueue,
    record: Vec<u8>,
    is_over: bool,
    /// True if the file may grow, so that incomplete input is held back.
    grows: bool,
}

/// Reads the records of one format.
pub(crate) trait FormatReader: std::fmt::Debug + Send {
    /// Reads a record, whose place is that of `out`.
    ///
    /// # Errors
    /// If the input does not have the format. A record of an unknown type is counted.
    fn record(&mut self, _record: &str, _out: &mut ItemQueue) -> Result<(), TranscriptError> {
        Ok(())
    }

    /// Reads the next rows of a database; `false` at the end.
    ///
    /// # Errors
    /// If the database cannot be read any further. A row of an unknown type is counted.
    #[cfg(feature = "sqlite")]
    fn rows(&mut self, _out: &mut ItemQueue) -> Result<bool, TranscriptError> {
        Ok(false)
    }

    /// Emits what was held back. No records follow.
    ///
    /// # Errors
    /// If the whole input does not have the format.
    fn finish(&mut self, _out: &mut ItemQueue) -> Result<(), TranscriptError> {
        Ok(())
    }

    /// Titles of conversations in other files, each with the id of a record of its conversation.
    fn titles_of_others(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The conversation of a record that was read.
    fn conversation_of(&self, _record: &str) -> Option<ConversationId> {
        None
    }

    /// Offset of the first byte that is held back because it may be incomplete.
    fn held_from(&self) -> Option<u64> {
        None
    }

    /// State that a later reader needs to resume here, as JSON.
    fn state(&self, _out: &ItemQueue) -> String {
        String::new()
    }
}

/// The position of a reader in a growing file. A later reader resumes there: see [`crate::follow`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Position {
    /// Offset of the first byte that was not read completely.
    pub offset: u64,
    /// State that the format's reader needs of earlier records, as JSON.
    pub(crate) state: String,
}

impl Reader {
    pub(crate) fn new(format: Format, records: Records, of_format: Box<dyn FormatReader>, out: ItemQueue) -> Self {
        Self { format, records, of_format, out, record: Vec::new(), is_over: false, grows: false }
    }

    /// Holds incomplete input back, since the file may grow.
    pub(crate) fn growing(self) -> Self {
        Self { grows: true, ..self }
    }

    /// The format that is read.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns the next item; `None` at the end. For a followed file `None` means that there is nothing yet, and the
    /// call may be repeated.
    ///
    /// # Errors
    /// [`TranscriptError`] if the file cannot be read any further. Unknown records are counted in [`Self::report`].
    pub fn read(&mut self) -> Result<Option<Item>, TranscriptError> {
        loop {
            if let Some(item) = self.out.items.pop_front() {
                return Ok(Some(item));
            }
            if self.is_over {
                return Ok(None);
            }
            #[cfg(feature = "sqlite")]
            if let Records::Rows = self.records {
                self.is_over = !self.of_format.rows(&mut self.out)?;
                continue;
            }
            let Some(place) = self.records.next(&mut self.record)? else {
                if self.grows {
                    return Ok(None);
                }
                self.is_over = true;
                self.of_format.finish(&mut self.out)?;
                continue;
            };
            self.out.place = place;
            self.out.report.records += 1;
            if !self.format.is_text() {
                self.out.report.mended += mend_surrogates(&mut self.record);
            }
            let Ok(record) = std::str::from_utf8(&self.record) else {
                if matches!(self.records, Records::Lines(_)) {
                    self.out.skip(Why::Broken, "line that is not UTF-8");
                    continue;
                }
                return Err(self.out.damaged("not UTF-8".to_owned()));
            };
            let record = if place.start == 0 { record.trim_start_matches('\u{feff}') } else { record };
            let record = if self.format.is_text() { record } else { record.trim() };
            self.of_format.record(record, &mut self.out)?;
        }
    }

    /// Makes [`Self::read`] return everything that was held back, as if the file ended here, including a last line
    /// without an end if it is complete. A later reader reads any continuation from the [`Self::position`] before this
    /// call.
    pub const fn finish(&mut self) {
        self.grows = false;
        if let Records::Lines(lines) = &mut self.records {
            lines.finish();
        }
    }

    /// Takes the titles of conversations in other files: of each, the id of a record of its conversation, for
    /// [`Self::conversation_of`] of their reader, and the title. Complete after the end was read.
    pub fn titles_of_others(&mut self) -> Vec<(String, String)> {
        self.of_format.titles_of_others()
    }

    /// The conversation of a record that was read, by the record's id.
    #[must_use]
    pub fn conversation_of(&self, record: &str) -> Option<ConversationId> {
        self.of_format.conversation_of(record)
    }

    /// Place of the last record that was read: the file, and the line where there are lines.
    #[must_use]
    pub fn place(&self) -> String {
        self.out.here()
    }

    /// Counts so far.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.out.report
    }

    /// Position from which a later reader resumes, after [`Self::read`] has returned `None`; only for a followed file.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        let Records::Lines(lines) = &self.records else { return None };
        let offset = self.of_format.held_from().unwrap_or_else(|| Lines::end(lines));
        (self.grows && self.out.items.is_empty()).then(|| Position { offset, state: self.of_format.state(&self.out) })
    }
}
