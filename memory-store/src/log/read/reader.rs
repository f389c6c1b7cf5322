//! Reads records from their places.

use std::{io::ErrorKind, mem, ops::Range, path::Path};

use memory_core::{
    Hash, MessageKey, Node, NodeId, Summary,
    port::{NodeProof, Note, Place, StoreError},
    proof::Salt,
    view::View,
};

use crate::log::{
    format::{
        Location,
        codec::{self, CodecError, ErasedMessage, EventRecord, MessageRecord, Opening, Record, StoredMessage},
        frame::{RECORD_HEADER, parse_record, record_bytes},
        segment::{Segment, segment_name},
    },
    keys::{Grave, is_sealed},
    media::prefetch,
    state::nodes::ReadRequest,
};

/// Bytes fetched of a record of unknown length; a message is rarely longer.
const WINDOW: u32 = 4 << 10;
/// Most bytes that are read ahead for a run of records.
const WIDE_WINDOW: usize = 128 << 10;
/// Records of a run that are prefetched ahead of the one being read, to hide the latency of memory.
const AHEAD: usize = 2;

/// Reads records: from the map of a sealed segment, and by position from the active one. There it keeps the last window
/// of bytes, since neighbours are read together.
#[derive(Debug)]
pub(crate) struct Reader<'s> {
    segments: &'s [Segment],
    /// The number and the map of the segment that was read last, where it is mapped.
    mapped: Option<(u32, &'s [u8])>,
    window: Vec<u8>,
    at: Option<Location>,
    /// The record that was decrypted last.
    opened: Vec<u8>,
    /// End of the last record of the current run.
    until: Option<Location>,
}

impl<'s> Reader<'s> {
    /// A reader of single records.
    pub(crate) fn new(segments: &'s [Segment]) -> Self {
        Self { segments, mapped: None, window: Vec::new(), at: None, opened: Vec::new(), until: None }
    }

    /// A reader of `run`, from its first record to its last.
    pub(crate) fn of_run(segments: &'s [Segment], run: &[ReadRequest]) -> Self {
        let end = |last: &ReadRequest| {
            let most_bytes = last.most_bytes.unwrap_or(WINDOW).min(WINDOW);
            Location { offset: last.location.offset.saturating_add(most_bytes), ..last.location }
        };
        Self { until: run.last().map(end), ..Self::new(segments) }
    }

    /// The message at `location`.
    pub(crate) fn message(&mut self, location: Location) -> Result<MessageRecord<'_>, StoreError> {
        self.message_within(location, None, None)
    }

    // Inlined: a head returned from a call is stored, and then loaded in pieces of other sizes, for which the processor
    // waits.
    #[inline(always)]
    fn message_within(
        &mut self,
        location: Location,
        most: Option<u32>,
        node: Option<NodeId>,
    ) -> Result<MessageRecord<'_>, StoreError> {
        let segments = self.segments;
        let body = self.body(location, most, node)?;
        match codec::decode_message(body) {
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) => Err(undecodable(segments, location, error)),
            None => Err(no_message(segments, location, body)),
        }
    }

    /// The summary at `location`.
    pub(crate) fn summary(&mut self, location: Location) -> Result<Summary, StoreError> {
        self.event(location, |event| if let EventRecord::Summary(summary) = event { Some(*summary) } else { None })
    }

    /// The view at `location`.
    pub(crate) fn view(&mut self, location: Location) -> Result<View, StoreError> {
        self.event(location, |event| if let EventRecord::View(view) = event { Some(*view) } else { None })
    }

    /// The note at `location`; `None` if it was erased.
    pub(crate) fn note(&mut self, location: Location) -> Result<Option<Note>, StoreError> {
        self.event(location, |event| match event {
            EventRecord::Note(note) => Some(Some(*note)),
            EventRecord::ErasedNote(_) => Some(None),
            _ => None,
        })
    }

    /// Remains of the erased message at `location`, where the message itself may still stand.
    pub(crate) fn erased(&mut self, location: Location) -> Result<ErasedMessage, StoreError> {
        let segments = self.segments;
        let body = self.body(location, None, None)?;
        match codec::decode(body) {
            Ok(Record::ErasedMessage(erased)) => Ok(erased),
            Ok(Record::Message(message)) => message.erased().map_err(|error| undecodable(segments, location, error)),
            _ => Err(no_message(segments, location, body)),
        }
    }

    fn event<T>(
        &mut self,
        location: Location,
        of_kind: impl FnOnce(EventRecord<'_>) -> Option<T>,
    ) -> Result<T, StoreError> {
        let segments = self.segments;
        let read = match codec::decode(self.body(location, None, None)?) {
            Ok(Record::Event(event)) => of_kind(event).ok_or_else(|| "another record stands here".into()),
            Ok(_) => Err("another record stands here".into()),
            Err(error) => Err(error),
        };
        read.map_err(|error| undecodable(segments, location, error))
    }

    /// The stored message at `location`.
    pub(crate) fn stored(&mut self, location: Location) -> Result<StoredMessage, StoreError> {
        let segments = self.segments;
        self.message(location)?.into_stored().map_err(|error| undecodable(segments, location, error))
    }

    /// A node as it is now.
    pub(crate) fn node(&mut self, wanted: &ReadRequest) -> Result<Node, StoreError> {
        if let Some(hidden) = self.hidden_node(wanted)? {
            return Ok(hidden);
        }
        self.prefetch(wanted);
        let mut node = codec::BLANK;
        self.prefetched(wanted, &mut node)?;
        Ok(node)
    }

    /// Stand-in for an erased or a disabled node; `None` for any other.
    #[inline]
    fn hidden_node(&mut self, wanted: &ReadRequest) -> Result<Option<Node>, StoreError> {
        if !wanted.is_erased && (!wanted.is_disabled || wanted.whole) {
            return Ok(None);
        }
        let ErasedMessage { role, at, .. } = self.erased(wanted.location)?;
        Ok(Some(match wanted.is_erased {
            true => Node::erased(wanted.node, role, at),
            false => Node::disabled(wanted.node, role, at).pinned(wanted.pinned),
        }))
    }

    /// All nodes of a run, in order.
    pub(crate) fn nodes(&mut self, run: &[ReadRequest]) -> Result<Vec<Node>, StoreError> {
        let mut nodes = Vec::with_capacity(run.len());
        run.iter().take(AHEAD).for_each(|wanted| self.prefetch(wanted));
        for (at, wanted) in run.iter().enumerate() {
            if let Some(ahead) = run.get(at + AHEAD) {
                self.prefetch(ahead);
            }
            if let Some(hidden) = self.hidden_node(wanted)? {
                nodes.push(hidden);
                continue;
            }
            nodes.push(codec::BLANK);
            if let Some(node) = nodes.last_mut() {
                self.prefetched(wanted, node)?;
            }
        }
        Ok(nodes)
    }

    /// All nodes of a run with salt and leaf, in order.
    pub(crate) fn nodes_with_proofs(&mut self, run: &[ReadRequest]) -> Result<Vec<(Node, NodeProof)>, StoreError> {
        let mut nodes = Vec::with_capacity(run.len());
        let segments = self.segments;
        for wanted in run {
            if let Some(hidden) = self.hidden_node(wanted)? {
                nodes.push((hidden, self.proof(wanted)?));
                continue;
            }
            let message = self.message_within(wanted.location, wanted.most_bytes, Some(wanted.node))?;
            let (mut node, proof) = (codec::BLANK, message.proof());
            fill_in(segments, wanted, message, &mut node)?;
            nodes.push((node, proof));
        }
        Ok(nodes)
    }

    /// Prefetches a record that will be read soon, where it is mapped.
    #[inline]
    fn prefetch(&mut self, wanted: &ReadRequest) {
        if let Some(bytes) = self.mapped_at(wanted.location) {
            let most = wanted.most_bytes.unwrap_or(WINDOW).min(WINDOW) as usize;
            prefetch(bytes.get(..most).unwrap_or(bytes));
        }
    }

    /// Fills in a node whose record was requested.
    #[inline]
    fn prefetched(&mut self, wanted: &ReadRequest, node: &mut Node) -> Result<(), StoreError> {
        let segments = self.segments;
        let message = self.message_within(wanted.location, wanted.most_bytes, Some(wanted.node))?;
        fill_in(segments, wanted, message, node)
    }

    /// The bytes from `location` on, where they are mapped. The segment is looked up once a run.
    #[inline]
    fn mapped_at(&mut self, location: Location) -> Option<&'s [u8]> {
        if self.mapped.is_none_or(|(segment, _)| segment != location.segment) {
            self.mapped = find(self.segments, location).ok()?.mapped().map(|map| (location.segment, map));
        }
        self.mapped.map(|(_, map)| map.get(location.offset as usize..).unwrap_or_default())
    }

    /// Salt and leaf of a node; no salt of an erased one.
    pub(crate) fn proof(&mut self, wanted: &ReadRequest) -> Result<NodeProof, StoreError> {
        if wanted.is_erased {
            return Ok(NodeProof { salt: Salt::default(), leaf: self.erased(wanted.location)?.left.leaf });
        }
        Ok(self.message(wanted.location)?.proof())
    }

    /// The leaf of a node.
    pub(crate) fn leaf(&mut self, wanted: &ReadRequest) -> Result<Hash, StoreError> {
        Ok(self.proof(wanted)?.leaf)
    }

    /// The first of `candidates` that has, or had before it was erased, this key.
    pub(crate) fn with_key(
        &mut self,
        key: &MessageKey,
        candidates: &[ReadRequest],
    ) -> Result<Option<ReadRequest>, StoreError> {
        for wanted in candidates {
            let (segments, location) = (self.segments, wanted.location);
            let body = self.body(location, None, None)?;
            let has_key = match codec::decode(body) {
                Ok(Record::Message(message)) => message.key() == Some(key.as_str()),
                Ok(Record::ErasedMessage(erased)) => erased.left.key.is_some_and(|erased| erased.is_of(key)),
                _ => return Err(no_message(segments, location, body)),
            };
            if has_key {
                return Ok(Some(*wanted));
            }
        }
        Ok(None)
    }

    /// The checked body of the record at `location`, decrypted; `node` is that of a message, if it is known.
    #[inline]
    fn body(&mut self, location: Location, most: Option<u32>, node: Option<NodeId>) -> Result<&[u8], StoreError> {
        let (segments, mut opened) = (self.segments, mem::take(&mut self.opened));
        let keys = segments.first().map(Segment::keys).filter(|keys| keys.is_some());
        if let Some(keys) = keys {
            let body = self.stored_body(location, most)?;
            if is_sealed(body) {
                let record = keys.open_record(body, &mut opened);
                let record = record.map_err(|why| undecodable(segments, location, why.into()))?;
                self.opened = opened;
                if node.is_some_and(|node| record.node != node.get()) {
                    return Err(undecodable(
                        segments,
                        location,
                        "an encrypted message of another node stands here".into(),
                    ));
                }
                return Ok(&self.opened);
            }
        }
        self.stored_body(location, most)
    }

    /// Bytes that overwrite the salt of the record at `location`, if it is sealed with one.
    pub(crate) fn grave(&mut self, location: Location) -> Result<Option<Grave>, StoreError> {
        let Some(keys) = self.segments.first().map(Segment::keys) else { return Ok(None) };
        Ok(keys.grave(self.stored_body(location, None)?))
    }

    /// The checked body of the record at `location`, as it stands in the log.
    #[inline]
    fn stored_body(&mut self, location: Location, most: Option<u32>) -> Result<&[u8], StoreError> {
        let segments = self.segments;
        let bytes = match self.mapped_at(location) {
            Some(bytes) => bytes,
            None => self.fetched(location, most)?,
        };
        parse_record(bytes).map_err(|why| undecodable(segments, location, why.into()))
    }

    /// The record at `location`, read from the file.
    fn fetched(&mut self, location: Location, most: Option<u32>) -> Result<&[u8], StoreError> {
        let range = self.fetch(find(self.segments, location)?, location, most)?;
        Ok(self.window.get(range).unwrap_or_default())
    }

    /// Range in the window of the record at `location`, which is read if the window lacks it. A record that is cut off
    /// by the end of the file is left to the parser, which reports it.
    fn fetch(&mut self, segment: &Segment, location: Location, most: Option<u32>) -> Result<Range<usize>, StoreError> {
        if let Some(range) = self.in_window(location) {
            return Ok(range);
        }
        self.fill(segment, location, self.width(location, most))?;
        let length = self.window.first_chunk::<RECORD_HEADER>().and_then(|header| record_bytes(*header)).unwrap_or(0);
        if length > self.window.len() {
            self.fill(segment, location, length)?;
        }
        Ok(0..self.window.len())
    }

    /// Number of bytes to read at `location`: up to the end of the run, or else of the record as far as that is known.
    fn width(&self, location: Location, most: Option<u32>) -> usize {
        let most = (most.unwrap_or(WINDOW).min(WINDOW) as usize).max(RECORD_HEADER);
        let Some(until) = self.until else { return most };
        // The run goes on in another segment: this one is read ahead within the limit.
        let left =
            if until.segment == location.segment { until.offset.saturating_sub(location.offset) } else { u32::MAX };
        (left as usize).clamp(most, WIDE_WINDOW)
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
        let read = segment.bytes(location.offset, length, &mut self.window);
        read.map_err(|source| match source.kind() {
            // The file could be read, but its compressed contents are damaged.
            ErrorKind::InvalidData => damaged(segment.path(), location, source.to_string()),
            _ => StoreError::Io { action: "read", place: segment.path().into(), source },
        })?;
        self.at = Some(location);
        Ok(())
    }
}

/// Fills a node in from its record and from what is known of it now.
#[inline]
fn fill_in(
    segments: &[Segment],
    wanted: &ReadRequest,
    message: MessageRecord<'_>,
    node: &mut Node,
) -> Result<(), StoreError> {
    (node.id, node.importance, node.pinned) = (wanted.node, wanted.importance, wanted.pinned);
    node.is_disabled = wanted.is_disabled;
    message.fill_in(node).map_err(|error| undecodable(segments, wanted.location, error))
}

#[inline]
fn find(segments: &[Segment], location: Location) -> Result<&Segment, StoreError> {
    let found = segments.binary_search_by_key(&location.segment, Segment::number);
    let missing = || {
        let name = segment_name(location.segment);
        let path = segments.first().map_or_else(|| name.clone().into(), |first| first.path().with_file_name(&name));
        damaged(&path, location, "the segment is missing".into())
    };
    found.ok().and_then(|index| segments.get(index)).ok_or_else(missing)
}

/// The error for a record that is not a message.
#[cold]
fn no_message(segments: &[Segment], location: Location, body: &[u8]) -> StoreError {
    match (codec::decode(body), find(segments, location)) {
        (Ok(Record::Lost(_)), Ok(segment)) => {
            StoreError::Lost { place: Place::from(segment.path()).offset(u64::from(location.offset)) }
        }
        (Ok(Record::Opened(Opening { past: Some(_), .. })), _) => {
            undecodable(segments, location, "the past that this fork shares is lost".into())
        }
        (Ok(_), _) => undecodable(segments, location, "another record stands here".into()),
        (Err(error), _) => undecodable(segments, location, error),
    }
}

#[cold]
fn undecodable(segments: &[Segment], location: Location, error: CodecError) -> StoreError {
    match find(segments, location) {
        Ok(segment) => damaged(segment.path(), location, error.0),
        Err(missing) => missing,
    }
}

#[cold]
fn damaged(path: &Path, location: Location, why: String) -> StoreError {
    StoreError::Damaged { place: Place::from(path).offset(u64::from(location.offset)), why }
}
