//! Reads consecutive JSON values, and the elements of a list: JSON, JSON lines and exports of any size.
//!
//! Only the end of each value is searched for here, so that a list takes the memory of one element, and an element that
//! is too large is refused before it is buffered. The parser validates the value.

use std::{
    fmt,
    io::{BufRead, BufReader},
    path::PathBuf,
};

use super::{Bounded, Input, RecordPlace, too_large};
use crate::TranscriptError;

/// Reader of values.
pub(crate) struct Values {
    input: BufReader<Input>,
    path: PathBuf,
    longest: u64,
    /// Offset of the next byte.
    at: u64,
    line: u64,
    /// Place of the list whose elements are returned.
    list: Option<RecordPlace>,
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").field("path", &self.path).field("at", &self.at).finish_non_exhaustive()
    }
}

/// State of the scan of a value.
#[derive(Default)]
struct Scan {
    depth: u64,
    in_text: bool,
    escaped: bool,
    begun: bool,
}

/// Relation of a byte to the value.
enum Step {
    Inside,
    /// The last byte.
    Last,
    /// The value ended before this byte.
    After,
}

impl Scan {
    fn step(&mut self, byte: u8) -> Step {
        let begun = std::mem::replace(&mut self.begun, true);
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_text = false;
                    if self.depth == 0 {
                        return Step::Last;
                    }
                }
                _ => {}
            }
            return Step::Inside;
        }
        match byte {
            b'"' if begun && self.depth == 0 => return Step::After,
            b'"' => self.in_text = true,
            b'{' | b'[' if begun && self.depth == 0 => return Step::After,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 0 => return Step::After,
            b'}' | b']' => {
                self.depth -= 1;
                if self.depth == 0 {
                    return Step::Last;
                }
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => return Step::After,
            _ => {}
        }
        Step::Inside
    }
}

impl Values {
    pub(crate) fn new(bounded: Bounded) -> Self {
        let Bounded { input, path, longest } = bounded;
        Self { input: BufReader::with_capacity(128 << 10, input), path, longest, at: 0, line: 1, list: None }
    }

    pub(crate) fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<RecordPlace>, TranscriptError> {
        record.clear();
        loop {
            let Some(byte) = self.peek()? else {
                return match self.list {
                    Some(list) => Err(self.cut("its list", list)),
                    None => Ok(None),
                };
            };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => self.skip(byte),
                // A byte order mark.
                0xEF | 0xBB | 0xBF if self.at < 3 => self.skip(byte),
                b'[' if self.list.is_none() => {
                    self.list = Some(self.here());
                    self.skip(byte);
                }
                b']' if self.list.is_some() => {
                    self.list = None;
                    self.skip(byte);
                }
                b']' | b'}' => {
                    let here = self.here();
                    return Err(self.damaged(here, format!("`{}` closes nothing", char::from(byte))));
                }
                _ => return self.value(record).map(Some),
            }
        }
    }

    fn value(&mut self, record: &mut Vec<u8>) -> Result<RecordPlace, TranscriptError> {
        let begin = self.here();
        let mut scan = Scan::default();
        loop {
            let piece = self.input.fill_buf().map_err(|error| crate::archive::failed(&self.path, error))?;
            if piece.is_empty() {
                // The end of the file also ends a number or a literal.
                if scan.depth == 0 && !scan.in_text {
                    return Ok(RecordPlace { end: self.at, ..begin });
                }
                return Err(self.cut("a record", begin));
            }
            let mut taken = piece.len();
            let mut is_over = false;
            for (index, byte) in piece.iter().enumerate() {
                match scan.step(*byte) {
                    Step::Inside => {}
                    Step::Last => (taken, is_over) = (index + 1, true),
                    Step::After => (taken, is_over) = (index, true),
                }
                if is_over {
                    break;
                }
            }
            let piece = piece.get(..taken).unwrap_or_default();
            if record.len() as u64 + taken as u64 > self.longest {
                return Err(too_large(&self.path, begin, self.longest));
            }
            record.extend_from_slice(piece);
            self.line += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.at += taken as u64;
            self.input.consume(taken);
            if is_over {
                return Ok(RecordPlace { end: self.at, ..begin });
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, TranscriptError> {
        let piece = self.input.fill_buf().map_err(|error| crate::archive::failed(&self.path, error))?;
        Ok(piece.first().copied())
    }

    fn skip(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.at += 1;
        self.input.consume(1);
    }

    fn here(&self) -> RecordPlace {
        RecordPlace { line: self.line, start: self.at, end: self.at, is_open: false }
    }

    fn cut(&self, what: &str, begin: RecordPlace) -> TranscriptError {
        let why = format!("the file ends at byte {} within {what} that begins here: it was cut off", self.at);
        self.damaged(begin, why)
    }

    fn damaged(&self, place: RecordPlace, why: String) -> TranscriptError {
        TranscriptError::Damaged { place: format!("{}:{}, byte {}", self.path.display(), place.line, place.start), why }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn all(text: &'static str, longest: u64) -> Result<Vec<String>, String> {
        let path = Path::new("x.json").to_owned();
        let mut values = Values::new(Bounded { input: Box::new(text.as_bytes()), path, longest });
        let (mut record, mut all) = (Vec::new(), Vec::new());
        while values.next(&mut record).map_err(|error| error.to_string())?.is_some() {
            all.push(String::from_utf8(record.clone()).unwrap());
        }
        Ok(all)
    }

    #[test]
    fn lists_lines_and_single_values_give_their_values() {
        let check = |text, expected: &[&str]| assert_eq!(all(text, 100).unwrap(), expected, "{text}");
        check("\u{feff}[{\"a\": [1, \"]\\\"}\"]}, [2] ,3]", &[r#"{"a": [1, "]\"}"]}"#, "[2]", "3"]);
        check("{\"a\":1}\n{\"b\":2}{\"c\":3}\r\n", &["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
        check("{\n \"a\": 1\n}", &["{\n \"a\": 1\n}"]);
        check("[]", &[]);
        check(" ", &[]);
        check("7", &["7"]);
    }

    #[test]
    fn what_is_cut_or_too_large_is_named_by_its_place() {
        let check = |text, expected: &str| {
            let error = all(text, 20).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        check("[{\"a\":1},\n {\"b\":", "x.json:2, byte 11: the file ends at byte 16 within a record");
        check("[{\"a\":1}", "x.json:1, byte 0: the file ends at byte 8 within its list");
        check("{}}", "x.json:1, byte 2: `}` closes nothing");
        check("[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]", "x.json:1, byte 1: a record is larger than 20 bytes");
    }
}
