//! Reads lines, including those of a file that is still being written.

use std::{
    fmt,
    io::{BufRead, BufReader, Read},
    mem,
    path::PathBuf,
};

use super::{Bounded, Input, RecordPlace, too_large};
use crate::TranscriptError;

/// Reader of lines that are not blank.
pub(crate) struct Lines {
    input: BufReader<Input>,
    path: PathBuf,
    longest: u64,
    /// Beginning of a line whose end is not there yet.
    begun: Vec<u8>,
    place: RecordPlace,
    /// True if an unfinished line waits for its end.
    grows: bool,
    /// True if blank lines are returned as well.
    blanks: bool,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("path", &self.path).field("place", &self.place).finish_non_exhaustive()
    }
}

impl Lines {
    /// Reads lines from `input`, which is at byte `from` of the file. If the file `grows`, a line without an end is
    /// left for later.
    pub(crate) fn new(bounded: Bounded, from: u64, grows: bool) -> Self {
        let Bounded { input, path, longest } = bounded;
        let place = RecordPlace { line: 0, start: from, end: from, is_open: false };
        Self {
            input: BufReader::with_capacity(128 << 10, input),
            path,
            longest,
            begun: Vec::new(),
            place,
            grows,
            blanks: false,
        }
    }

    /// Returns blank lines as well.
    pub(crate) fn with_blanks(mut self) -> Self {
        self.blanks = true;
        self
    }

    /// Returns a last line without an end as well from now on.
    pub(crate) const fn finish(&mut self) {
        self.grows = false;
    }

    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<RecordPlace>, TranscriptError> {
        loop {
            let have = self.begun.len() as u64;
            // The byte after the limit shows that the line is longer.
            let most = self.longest.saturating_add(1).saturating_sub(have);
            let read = self.input.by_ref().take(most).read_until(b'\n', &mut self.begun);
            let read = read.map_err(|error| crate::archive::failed(&self.path, error))?;
            let is_whole = self.begun.last() == Some(&b'\n');
            if !is_whole && self.begun.len() as u64 > self.longest {
                let place = RecordPlace { line: self.place.line + 1, start: self.place.end, ..self.place };
                return Err(too_large(&self.path, place, self.longest));
            }
            if !is_whole && (self.begun.is_empty() || (self.grows && read as u64 != most)) {
                return Ok(None);
            }
            let start = self.place.end;
            let end = start + self.begun.len() as u64;
            self.place = RecordPlace { line: self.place.line + 1, start, end, is_open: !is_whole };
            record.clear();
            mem::swap(record, &mut self.begun);
            if self.blanks || !record.trim_ascii().is_empty() {
                return Ok(Some(self.place));
            }
        }
    }

    /// Offset of the first byte that was not returned yet.
    pub(crate) fn end(&self) -> u64 {
        self.place.end
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, path::Path};

    use super::*;

    fn lines(input: impl Read + Send + 'static, longest: u64, grows: bool) -> Lines {
        Lines::new(Bounded { input: Box::new(input), path: Path::new("x.jsonl").to_owned(), longest }, 0, grows)
    }

    #[test]
    fn a_line_without_end_is_refused_within_bounds() {
        let mut lines = lines(b"{}\n".chain(std::io::repeat(b'y')), 1 << 10, false);
        let mut record = Vec::new();
        assert_eq!(
            lines.next(&mut record).unwrap().unwrap(),
            RecordPlace { line: 1, start: 0, end: 3, is_open: false }
        );
        let error = lines.next(&mut record).unwrap_err().to_string();
        assert!(error.starts_with("x.jsonl:2, byte 3: a record is larger than 1024 bytes"), "{error}");
        assert!(lines.begun.capacity() <= 4 << 10);
    }

    #[test]
    fn a_line_of_a_growing_file_is_given_once_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        let mut lines = lines(std::fs::File::open(&path).unwrap(), 100, true);
        let mut record = Vec::new();
        assert!(lines.next(&mut record).unwrap().is_some());
        assert_eq!(record, b"one\n");
        assert!(lines.next(&mut record).unwrap().is_none());
        assert_eq!(lines.end(), 4);
        file.write_all(b"o\n").unwrap();
        assert_eq!(lines.next(&mut record).unwrap().unwrap().end, 8);
        assert_eq!(record, b"two\n");
        assert!(lines.next(&mut record).unwrap().is_none());
    }
}
