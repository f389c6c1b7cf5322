//! Reads one transcript, piece by piece.

use std::{collections::VecDeque, path::PathBuf};

use memory_core::mend_surrogates;
use memory_files::{Links, read};
use serde::{Deserialize, Serialize};

use crate::{
    Format, Item, Limits, Report, TranscriptError, Why,
    out::Out,
    records::{Lines, Place, Records, too_large},
    shape::Shape,
};

/// Reads a transcript from its beginning to its end, in the memory of its largest record.
#[derive(Debug)]
pub struct Reader {
    format: Format,
    records: Source,
    shape: Box<dyn Shape>,
    out: Out,
    record: Vec<u8>,
    limits: Limits,
    is_over: bool,
    /// Whether more may come, so that what is not complete is held back.
    grows: bool,
}

/// Where records come from.
#[derive(Debug)]
pub(crate) enum Source {
    Records(Records),
    /// A record a file.
    Files(VecDeque<PathBuf>, u64),
    /// The rows of a database.
    #[cfg(feature = "sqlite")]
    Rows(Box<dyn crate::shape::Rows>),
}

/// Where a reader stands in a file that grows. A later reader goes on there: see [`crate::follow`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Position {
    /// The first byte that was not read to its end.
    pub offset: u64,
    /// What the format's reader has to know of what stands before.
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

    /// The next piece. At the end `None`; of a file that is followed, where there is nothing more yet, so that it may be
    /// asked again.
    ///
    /// # Errors
    /// [`TranscriptError`] where the file cannot be read on. Unknown records are counted in [`Self::report`].
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
            // They are no records.
            #[cfg(feature = "sqlite")]
            Source::Rows(_) => Ok(None),
        }
    }

    /// Has [`Self::read`] give what was held back because it may go on, as if the file ended here: also a last line
    /// without end, if it is whole. What goes on later is read by a later reader from the [`Self::position`] before this
    /// call.
    pub const fn finish(&mut self) {
        self.grows = false;
        if let Source::Records(Records::Lines(lines)) = &mut self.records {
            lines.finish();
        }
    }

    /// What was read so far.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.out.report
    }

    /// Where a later reader goes on, once [`Self::read`] has given `None`; only of a file that is followed.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        let Source::Records(Records::Lines(lines)) = &self.records else { return None };
        let offset = self.shape.held_from().unwrap_or_else(|| Lines::end(lines));
        (self.grows && self.out.items.is_empty()).then(|| Position { offset, state: self.shape.state(&self.out) })
    }
}

/// Why a record is not JSON, or not what was expected.
pub(crate) fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The parser counts from the start of the record.
    let kind = text.split(" at line ").next().unwrap_or_default();
    if error.is_data() {
        kind.to_owned()
    } else {
        format!("not JSON, {} bytes or characters on: {kind}", error.column())
    }
}
