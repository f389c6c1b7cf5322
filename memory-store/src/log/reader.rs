//! Reading records back from where they stand.

use std::{ops::Range, path::Path};

use memory_core::{MessageKey, Node, NodeId, NodeProof, StoreError, Summary};

use super::{
    codec::{self, EventRecord, MessageRecord, Record, StoredMessage},
    frame::{RECORD_HEADER, parse_record, record_bytes},
    segment::{Segment, segment_name},
    state::{Location, Wanted},
};

/// What one read fetches at least; a message is rarely longer.
const WINDOW: usize = 4 << 10;
/// What one read fetches when many records are wanted.
const WIDE_WINDOW: usize = 128 << 10;

/// Reads records, keeping the last window of bytes, since neighbours are asked for together.
#[derive(Debug)]
pub(crate) struct Reader<'s> {
    segments: &'s [Segment],
    window: Vec<u8>,
    at: Option<Location>,
    width: usize,
}

impl<'s> Reader<'s> {
    /// A reader for `records` many.
    pub(crate) fn new(segments: &'s [Segment], records: usize) -> Self {
        let width = if records > 1 { WIDE_WINDOW } else { WINDOW };
        Self { segments, window: Vec::new(), at: None, width }
    }

    /// The message at `location`, borrowed from the window.
    pub(crate) fn message(&mut self, location: Location) -> Result<MessageRecord<'_>, StoreError> {
        self.record(location, |record| match record {
            Record::Message(message) => Some(message),
            Record::Opened(_) | Record::Event(_) => None,
        })
    }

    /// The summary at `location`.
    pub(crate) fn summary(&mut self, location: Location) -> Result<Summary, StoreError> {
        self.record(location, |record| match record {
            Record::Event(EventRecord::Summary(summary)) => Some(*summary),
            Record::Event(_) | Record::Opened(_) | Record::Message(_) => None,
        })
    }

    fn record<'a, T>(
        &'a mut self,
        location: Location,
        wanted: impl FnOnce(Record<'a>) -> Option<T>,
    ) -> Result<T, StoreError> {
        let segments: &'s [Segment] = self.segments;
        let segment = find(segments, location)?;
        let damaged = |why: String| damaged(segment.path(), location, why);
        let range = self.fetch(segment, location)?.ok_or_else(|| damaged("a record is cut short".into()))?;
        let bytes = self.window.get(range).unwrap_or_default();
        let body = parse_record(bytes).map_err(|why| damaged(why.into()))?;
        let record = codec::decode(body).map_err(|error| damaged(error.0))?;
        wanted(record).ok_or_else(|| damaged("another record stands here".into()))
    }

    /// The stored message at `location`.
    pub(crate) fn stored(&mut self, location: Location) -> Result<StoredMessage, StoreError> {
        let segments: &'s [Segment] = self.segments;
        let path = find(segments, location)?.path();
        self.message(location)?.into_stored().map_err(|error| damaged(path, location, error.0))
    }

    /// A node as it is now.
    pub(crate) fn node(&mut self, wanted: &Wanted) -> Result<Node, StoreError> {
        let mut node = self.stored(wanted.location)?.into_node(wanted.node);
        node.pinned = wanted.pinned;
        node.importance = wanted.importance;
        Ok(node)
    }

    /// Salt and leaf of the node at `location`.
    pub(crate) fn proof(&mut self, location: Location) -> Result<NodeProof, StoreError> {
        Ok(self.message(location)?.proof())
    }

    /// The first of `candidates` that has this key.
    pub(crate) fn with_key(
        &mut self,
        key: &MessageKey,
        candidates: &[(NodeId, Location)],
    ) -> Result<Option<(NodeId, Location)>, StoreError> {
        for &(node, location) in candidates {
            if self.message(location)?.key() == Some(key.as_str()) {
                return Ok(Some((node, location)));
            }
        }
        Ok(None)
    }

    /// Where in the window the record at `location` stands, after reading it if need be. `None` when the file
    /// ends before the record does.
    fn fetch(&mut self, segment: &Segment, location: Location) -> Result<Option<Range<usize>>, StoreError> {
        if let Some(range) = self.in_window(location) {
            return Ok(Some(range));
        }
        self.fill(segment, location, self.width)?;
        let Some(header) = self.window.first_chunk::<RECORD_HEADER>() else { return Ok(None) };
        // A length that no record has is left to the parser, which says so.
        let Some(length) = record_bytes(*header) else { return Ok(Some(0..self.window.len())) };
        if length > self.window.len() {
            self.fill(segment, location, length)?;
        }
        Ok((length <= self.window.len()).then_some(0..length))
    }

    fn in_window(&self, location: Location) -> Option<Range<usize>> {
        let at = self.at.filter(|at| at.segment == location.segment && at.offset <= location.offset)?;
        let start = (location.offset - at.offset) as usize;
        let header = self.window.get(start..)?.first_chunk::<RECORD_HEADER>()?;
        let end = start + record_bytes(*header)?;
        (end <= self.window.len()).then_some(start..end)
    }

    fn fill(&mut self, segment: &Segment, location: Location, length: usize) -> Result<(), StoreError> {
        self.at = None;
        self.window.resize(length, 0);
        let read = segment.read_at(&mut self.window, location.offset).map_err(|source| StoreError::Io {
            action: "read",
            path: segment.path().to_owned(),
            source,
        })?;
        self.window.truncate(read);
        self.at = Some(location);
        Ok(())
    }
}

fn find(segments: &[Segment], location: Location) -> Result<&Segment, StoreError> {
    let found = segments.binary_search_by_key(&location.segment, Segment::number);
    let missing = || damaged(Path::new(&segment_name(location.segment)), location, "the segment is missing".into());
    found.ok().and_then(|index| segments.get(index)).ok_or_else(missing)
}

fn damaged(path: &Path, location: Location, why: String) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), offset: u64::from(location.offset), why }
}
