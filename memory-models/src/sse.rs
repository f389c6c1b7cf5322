//! Server-sent events, read from bytes as they arrive.

/// A reader of server-sent events. Characters, lines and events may be split over any bytes.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    /// Bytes of the line that has not ended.
    line: Vec<u8>,
    /// Data of the event that has not ended.
    data: Vec<u8>,
    /// True if the last byte was a carriage return, whose line feed belongs to the same line.
    after_return: bool,
}

impl SseReader {
    /// Reads bytes and returns the data of the events that they complete.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for byte in bytes {
            let was_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if was_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(*byte),
            }
        }
        events
    }

    /// The data of an event that lacks its blank line, when the bytes have ended.
    pub(crate) fn end(mut self) -> Option<Vec<u8>> {
        self.end_line().or_else(|| self.end_line())
    }

    /// Bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let mut data = std::mem::take(&mut self.data);
            return data.pop().map(|_| data);
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            self.data.extend(data.strip_prefix(b" ").unwrap_or(data));
            self.data.push(b'\n');
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(events: Vec<Vec<u8>>) -> Vec<String> {
        events.into_iter().map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_split() {
        let stream =
            "event: a\ndata: {\"text\":\"grüß 😀\"}\n\n: comment\r\ndata:two\r\ndata: lines\r\n\r\n\n\ndata: last"
                .as_bytes();
        for split in 0..stream.len() {
            let (first, second) = stream.split_at(split);
            let mut reader = SseReader::default();
            let mut events = reader.read(first);
            events.extend(reader.read(second));
            events.extend(reader.end());
            assert_eq!(texts(events), ["{\"text\":\"grüß 😀\"}", "two\nlines", "last"], "split at {split}");
        }
    }

    #[test]
    fn a_byte_at_a_time_is_enough() {
        let mut reader = SseReader::default();
        let events: Vec<_> =
            b"data: a\r\n\r\ndata: b\r\rid: 1\n\n".iter().flat_map(|byte| reader.read(&[*byte])).collect();
        assert_eq!(texts(events), ["a", "b"]);
        assert_eq!(reader.held(), 0);
        assert_eq!(reader.end(), None);
    }
}
