//! Reads one transcript, item by item.

use std::{collections::VecDeque, path::PathBuf};

use memory_core::text::mend_surrogates;
use memory_files::{Links, read};
use serde::{Deserialize, Serialize};

use crate::{
    Format, Item, Limits, Report, TranscriptError, Why,
    out::Out,
    records::{Lines, Place, Records, too_large},
    shape::Shape,
};

/// Reads a transcript from start to end, in memory proportional to its largest record.
#[derive(Debug)]
pub struct Reader {
    format: Format,
    records: Source,
    shape: Box<dyn Shape>,
    out: Out,
    record: Vec<u8>,
    limits: Limits,
    is_over: bool,
    /// True if the file may grow, so that incomplete input is held back.
    grows: bool,
}

/// Source of records.
#[derive(Debug)]
pub(crate) enum Source {
    Records(Records),
    /// A file for each record.
    Files(VecDeque<PathBuf>, u64),
    /// The rows of a database.
    #[cfg(feature = "sqlite")]
    Rows(Box<dyn crate::shape::Rows>),
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
    pub(crate) fn new(
        format: Format,
        records: Source,
        shape: Box<dyn Shape>,
        out: Out,
        limits: Limits,
        grows: bool,
    ) -> Self {
        Self { format, records, shape, out, record: Vec::new(), limits, is_over: false, grows }
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
            if let Source::Rows(rows) = &mut self.records {
                self.is_over = !rows.next(&mut self.out)?;
                continue;
            }
            match self.next_record()? {
                Some(place) => {
                    self.out.report.records += 1;
                    if self.format != Format::Markdown {
                        self.out.report.mended += mend_surrogates(&mut self.record);
                    }
                    let Ok(record) = std::str::from_utf8(&self.record) else {
                        if matches!(self.records, Source::Records(Records::Lines(_))) {
                            self.out.skip(Why::Broken, "line that is not UTF-8", place);
                            continue;
                        }
                        return Err(self.out.damaged(place, "not UTF-8".to_owned()));
                    };
                    let record = if place.start == 0 { record.trim_start_matches('\u{feff}') } else { record };
                    let record = if self.format == Format::Markdown { record } else { record.trim() };
                    self.out.place = place;
                    self.shape.record(record, place, &mut self.out)?;
                }
                None if self.grows => return Ok(None),
                None => {
                    self.is_over = true;
                    self.shape.finish(&mut self.out)?;
                }
            }
        }
    }

    fn next_record(&mut self) -> Result<Option<Place>, TranscriptError> {
        match &mut self.records {
            Source::Records(records) => records.next(&mut self.record),
            Source::Files(files, read_so_far) => {
                let Some(path) = files.pop_front() else { return Ok(None) };
                *read_so_far += 1;
                let place = Place { line: *read_so_far, ..Place::default() };
                self.record = match read(&path, Links::Refuse, self.limits.record) {
                    Ok(record) => record,
                    Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                        return Err(too_large(&path, place, self.limits.record));
                    }
                    Err(source) => return Err(TranscriptError::Io { path, source }),
                };
                Ok(Some(place))
            }
            // Rows are read by themselves, not as records.
            #[cfg(feature = "sqlite")]
            Source::Rows(_) => Ok(None),
        }
    }

    /// Makes [`Self::read`] return everything that was held back, as if the file ended here, including a last line
    /// without an end if it is complete. A later reader reads any continuation from the [`Self::position`] before this
    /// call.
    pub const fn finish(&mut self) {
        self.grows = false;
        if let Source::Records(Records::Lines(lines)) = &mut self.records {
            lines.finish();
        }
    }

    /// Counts so far.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.out.report
    }

    /// Position from which a later reader resumes, after [`Self::read`] has returned `None`; only for a followed file.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        let Source::Records(Records::Lines(lines)) = &self.records else { return None };
        let offset = self.shape.held_from().unwrap_or_else(|| Lines::end(lines));
        (self.grows && self.out.items.is_empty()).then(|| Position { offset, state: self.shape.state(&self.out) })
    }
}

/// Describes why a record is not the expected JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The parser's position is relative to the record.
    let kind = text.split(" at line ").next().unwrap_or_default();
    if error.is_data() {
        kind.to_owned()
    } else {
        format!("not JSON, {} bytes or characters on: {kind}", error.column())
    }
}
