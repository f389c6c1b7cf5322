//! The lines of requests: bounded, and a faulty one does not end the others.

use std::io::{self, BufRead, Read};

use super::BridgeError;

/// Reads lines of at most `longest` bytes.
pub(crate) struct RequestLines<R> {
    input: R,
    longest: u64,
    line: Vec<u8>,
}

impl<R: BufRead> RequestLines<R> {
    pub(crate) fn new(input: R, longest: u64) -> Self {
        Self { input, longest, line: Vec::new() }
    }

    /// The next line that is not blank; an error for one that is too long, which is skipped.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<&mut [u8], BridgeError>>> {
        loop {
            self.line.clear();
            // One byte more shows that a line continues.
            let most = self.longest.saturating_add(1);
            if self.input.by_ref().take(most).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            if self.line.len() as u64 > self.longest && self.line.last() != Some(&b'\n') {
                self.skip_line()?;
                return Ok(Some(Err(BridgeError::TooLong { most: self.longest })));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(Ok(self.line.as_mut_slice())));
            }
        }
    }

    /// Skips the rest of the line, and keeps nothing of it.
    fn skip_line(&mut self) -> io::Result<()> {
        self.line = Vec::new();
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, ends) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            if ends {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_an_error_and_the_next_one_is_read() {
        let input = format!("{}\n\n  {{}}\n{}", "x".repeat(100), "y".repeat(100));
        let mut lines = RequestLines::new(input.as_bytes(), 10);
        assert!(matches!(lines.next().unwrap(), Some(Err(BridgeError::TooLong { most: 10 }))));
        assert_eq!(lines.next().unwrap().unwrap().unwrap(), b"  {}\n");
        assert!(matches!(lines.next().unwrap(), Some(Err(_))));
        assert!(lines.next().unwrap().is_none());
    }
}
