//! The lines of a file, one at a time, none longer than a limit.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    str,
};

use memory_core::text::mend_surrogates;

use super::ImportError;

/// Reads lines that are not blank.
pub(crate) struct Lines<'a> {
    path: PathBuf,
    input: Box<dyn BufRead + 'a>,
    longest: u64,
    number: usize,
    line: Vec<u8>,
    /// Number of halves of characters replaced by U+FFFD.
    mended: u64,
}

impl<'a> Lines<'a> {
    /// Lines of at most `longest` bytes; `path` is for errors.
    pub(crate) fn new(path: &Path, input: impl Read + 'a, longest: u64) -> Self {
        let input = Box::new(BufReader::with_capacity(128 << 10, input));
        Self { path: path.to_owned(), input, longest, number: 0, line: Vec::new(), mended: 0 }
    }

    /// The next line that is not blank, without the white space around it.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, ImportError> {
        loop {
            self.line.clear();
            // One byte more shows that a line continues.
            let most = self.longest.saturating_add(1);
            let read = self.input.by_ref().take(most).read_until(b'\n', &mut self.line);
            let read = read.map_err(|source| ImportError::Io { path: self.path.clone(), source })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if read as u64 > self.longest && self.line.last() != Some(&b'\n') {
                let (path, line, most) = (self.path.clone(), self.number, self.longest);
                return Err(ImportError::LongLine { path, line, most });
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        self.mended += mend_surrogates(&mut self.line);
        let text = str::from_utf8(&self.line).map_err(|_| self.fault("not UTF-8".to_owned()))?;
        // Some editors put a byte order mark in front.
        let text = if self.number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Ok(Some(text.trim()))
    }

    /// The error of a fault in the last line.
    pub(crate) fn fault(&self, why: String) -> ImportError {
        ImportError::Line { path: self.path.clone(), line: self.number, why }
    }

    /// Number of halves of characters replaced by U+FFFD so far.
    pub(crate) fn mended(&self) -> u64 {
        self.mended
    }

    /// Number of the last line.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The reason why a line is not JSON, or not the expected JSON.
pub(crate) fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The parser counts from the start of the line, so only its column is useful.
    let kind = text.split(" at line ").next().unwrap_or_default();
    if error.is_data() { kind.to_owned() } else { format!("not JSON at column {}: {kind}", error.column()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_is_refused_within_bounds() {
        let path = Path::new("x.jsonl");
        let mut lines = Lines::new(path, b"{}\n".chain(std::io::repeat(b'y')), 1 << 10);
        assert_eq!(lines.next().unwrap(), Some("{}"));
        let error = lines.next().unwrap_err().to_string();
        assert!(error.starts_with("x.jsonl:2: the line is longer than 1024 bytes; nothing was imported"), "{error}");
        assert!(lines.line.capacity() <= 4 << 10);

        let whole = [vec![b'x'; 10], vec![b'\n'], vec![b'x'; 10]].concat();
        let mut lines = Lines::new(path, whole.as_slice(), 10);
        assert_eq!(lines.next().unwrap().map(str::len), Some(10));
        assert_eq!(lines.next().unwrap().map(str::len), Some(10));
        assert!(lines.next().unwrap().is_none());
    }
}
