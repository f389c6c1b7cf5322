//! Frames and the records in them: the outermost layer of bytes in a segment.

#[cfg(any(test, feature = "fuzzing"))]
use std::cell::Cell;
use std::ops::Range;

use crate::{checksum, log::keys::MOST_ADDED};

/// Bytes of a frame's header.
pub(crate) const FRAME_HEADER: usize = 52;
/// Bytes in front of each record: length and checksum.
pub(crate) const RECORD_HEADER: usize = 8;
/// Longest record, without its header.
pub(crate) const MAX_RECORD: usize = 64 << 20;
/// Longest record that is sealed, without its header.
const MAX_SEALED: usize = MAX_RECORD + MOST_ADDED;
/// Longest payload of a frame.
pub(crate) const MAX_PAYLOAD: usize = 256 << 20;
/// Version of the frame layout.
const FRAME_FORMAT: u8 = 1;
/// Flag of a frame whose records are sealed.
const SEALED: u8 = 2;
/// Beginning of every frame; no UTF-8 text holds its first byte.
const MAGIC: [u8; 4] = [0xF7, b'm', b'e', b'm'];

/// Random bytes that identify a store; they seed the checksum of each header.
pub(crate) type StoreId = [u8; 16];

/// Place of a frame. The checksum of the frame's header covers it, so that bytes of a frame that were copied there,
/// from a backup or inside a message, are not taken for a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) store: StoreId,
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}

impl Place {
    fn checksum(&self, header: &[u8]) -> u32 {
        let seed = checksum::crc32c(&self.store);
        let seed = checksum::crc32c_append(seed, &self.segment.to_le_bytes());
        let seed = checksum::crc32c_append(seed, &self.offset.to_le_bytes());
        checksum::crc32c_append(seed, header)
    }
}

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameKind {
    /// One batch of records of one conversation.
    Batch = 1,
    /// A filler, which stands for the log sequence numbers of frames without live records.
    Filler = 2,
}

impl FrameKind {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Batch, Self::Filler].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The header before a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) kind: FrameKind,
    /// The conversation's number: the log sequence number of the frame that opened it.
    pub(crate) conversation: u64,
    /// The log sequence number, dense over the whole log, from 1.
    pub(crate) lsn: u64,
    /// Nodes in the conversation before this frame; in a filler frame, the number of log sequence numbers that it
    /// stands for.
    pub(crate) nodes_before: u64,
    /// Epoch of the key that the records are sealed with; 0 if they are not.
    pub(crate) key_epoch: u32,
    /// Bytes of the payload.
    pub(crate) payload: u32,
    /// Offset before which all of the segment was on disk when the frame was written.
    pub(crate) durable: u32,
}

/// Reason why bytes are not a good frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadFrame {
    pub(crate) why: &'static str,
    /// The header, if only the payload is bad.
    pub(crate) header: Option<FrameHeader>,
}

impl BadFrame {
    const fn new(why: &'static str) -> Self {
        Self { why, header: None }
    }
}

/// Flags of a frame whose records are sealed with a key of this epoch.
const fn flags(key_epoch: u32) -> u8 {
    if key_epoch > 0 { SEALED } else { 0 }
}

impl FrameHeader {
    /// Bytes of the whole frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        FRAME_HEADER + self.payload as usize
    }

    /// Log sequence numbers that the frame takes.
    pub(crate) fn lsns(&self) -> u64 {
        match self.kind {
            FrameKind::Batch => 1,
            FrameKind::Filler => self.nodes_before,
        }
    }

    /// The end of the frame with this header that begins at `offset`.
    pub(crate) fn end_of(header: &[u8; FRAME_HEADER], offset: u32) -> Option<u32> {
        let payload = header.get(36..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))?;
        let header = u32::try_from(FRAME_HEADER).ok()?;
        offset.checked_add(header)?.checked_add(payload)
    }

    fn encode(&self, place: &Place, payload_crc: u32) -> [u8; FRAME_HEADER] {
        let mut out = [0; FRAME_HEADER];
        let mut rest = out.as_mut_slice();
        let mut put = |bytes: &[u8]| {
            if let Some((field, behind)) = std::mem::take(&mut rest).split_at_mut_checked(bytes.len()) {
                field.copy_from_slice(bytes);
                rest = behind;
            }
        };
        put(&MAGIC);
        put(&[FRAME_FORMAT, self.kind as u8, flags(self.key_epoch), 0]);
        put(&self.conversation.to_le_bytes());
        put(&self.lsn.to_le_bytes());
        put(&self.nodes_before.to_le_bytes());
        put(&self.key_epoch.to_le_bytes());
        put(&self.payload.to_le_bytes());
        put(&self.durable.to_le_bytes());
        put(&payload_crc.to_le_bytes());
        if let Some((fields, crc)) = out.split_last_chunk_mut::<4>() {
            *crc = place.checksum(fields).to_le_bytes();
        }
        out
    }

    /// Reads the frame at the beginning of `bytes`, which stands at `place`, and checks all of it.
    pub(crate) fn parse<'a>(bytes: &'a [u8], place: &Place) -> Result<(Self, &'a [u8]), BadFrame> {
        let (header, behind) =
            bytes.split_first_chunk::<FRAME_HEADER>().ok_or(BadFrame::new("a frame header is cut short"))?;
        if !header.starts_with(&MAGIC) {
            return Err(BadFrame::new("no frame begins here"));
        }
        let (fields, crc) = header.split_last_chunk::<4>().ok_or(BadFrame::new("a frame header is cut short"))?;
        if place.checksum(fields) != u32::from_le_bytes(*crc) {
            return Err(BadFrame::new("the checksum of a frame header does not match"));
        }
        let mut fields = Fields(fields);
        let (Some(_), Some([format, kind, flags, reserved])) = (fields.take::<4>(), fields.take::<4>()) else {
            return Err(BadFrame::new("a frame header is cut short"));
        };
        let parsed = (|| {
            let conversation = fields.u64()?;
            let (lsn, nodes_before) = (fields.u64()?, fields.u64()?);
            let (key_epoch, payload, durable) = (fields.u32()?, fields.u32()?, fields.u32()?);
            let known = FrameKind::from_number(kind);
            let kind = known.unwrap_or(FrameKind::Batch);
            let header = Self { kind, conversation, lsn, nodes_before, key_epoch, payload, durable };
            Some((header, known.is_some(), fields.u32()?))
        })();
        let (header, is_known, payload_crc) = parsed.ok_or(BadFrame::new("a frame header is cut short"))?;
        let bad = |why| Err(BadFrame { why, header: Some(header) });
        if (format, is_known, flags, reserved) != (FRAME_FORMAT, true, self::flags(header.key_epoch), 0) {
            return bad("a frame has a format, type or flags that this version does not know");
        }
        let payload = behind.get(..header.payload as usize);
        #[cfg(any(test, feature = "fuzzing"))]
        count_scanned(payload.map_or(0, <[u8]>::len));
        match payload {
            None => bad("a frame is cut short"),
            Some(payload) if checksum::crc32c(payload) != payload_crc => {
                bad("the checksum of a payload does not match")
            }
            Some(payload) => Ok((header, payload)),
        }
    }

    /// The first place at or after `from` where a frame may begin.
    pub(crate) fn next_magic(bytes: &[u8], from: usize) -> Option<usize> {
        let rest = bytes.get(from..)?;
        let found = rest.windows(MAGIC.len()).position(|window| window == MAGIC);
        #[cfg(any(test, feature = "fuzzing"))]
        count_scanned(found.unwrap_or(rest.len()) + FRAME_HEADER);
        found.map(|found| from + found)
    }
}

/// A frame that is being built: room for the header, then the records added so far.
#[derive(Debug)]
pub(crate) struct Payload {
    bytes: Vec<u8>,
}

/// Spare bytes after a frame, for zeros to the end of a page.
const ROOM_BEHIND: usize = 4 << 10;
/// A frame of at least this many bytes is moved, a smaller one is copied.
const WORTH_KEEPING: usize = 64 << 10;

impl Default for Payload {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Payload {
    /// An empty payload with room for `records` bytes of records.
    pub(crate) fn with_capacity(records: usize) -> Self {
        Self::within(Vec::new(), records)
    }

    /// [`Self::with_capacity`] in an existing buffer.
    pub(crate) fn within(mut buffer: Vec<u8>, records: usize) -> Self {
        buffer.clear();
        buffer.reserve(FRAME_HEADER + records + ROOM_BEHIND);
        buffer.resize(FRAME_HEADER, 0);
        Self { bytes: buffer }
    }

    /// Adds finished records; returns their place in the frame.
    pub(crate) fn push(&mut self, records: &[u8]) -> usize {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(records);
        offset
    }

    /// Lets `write` append a finished record.
    pub(crate) fn push_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        write(&mut self.bytes)
    }

    /// A frame of the records before `offset`.
    pub(crate) fn until(&self, offset: usize) -> Self {
        Self { bytes: self.get(0..offset).to_vec() }
    }

    /// The records at `range` of the frame.
    pub(crate) fn get(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// Bytes of the whole frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Its memory, to be used again.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends the finished frame to `out`.
    pub(crate) fn finish(&self, header: &FrameHeader, place: &Place, out: &mut Vec<u8>) {
        let payload = self.bytes.get(FRAME_HEADER..).unwrap_or_default();
        out.extend_from_slice(&header.encode(place, checksum::crc32c(payload)));
        out.extend_from_slice(payload);
    }

    /// [`Self::finish`], except that a large frame becomes `out` itself if that is empty. Returns the buffer that is no
    /// longer needed.
    pub(crate) fn finish_into(mut self, header: &FrameHeader, place: &Place, out: &mut Vec<u8>) -> Vec<u8> {
        if !out.is_empty() || self.bytes.len() < WORTH_KEEPING {
            self.finish(header, place, out);
            return self.bytes;
        }
        if let Some((room, payload)) = self.bytes.split_first_chunk_mut::<FRAME_HEADER>() {
            *room = header.encode(place, checksum::crc32c(payload));
        }
        std::mem::replace(out, self.bytes)
    }
}

/// Fills in length and checksum of a record whose body follows [`RECORD_HEADER`] bytes of room; `None` when it is
/// longer than [`MAX_RECORD`].
pub(crate) fn finish_record(record: &mut [u8]) -> Option<()> {
    finish(record, MAX_RECORD)
}

/// The whole record of a body.
pub(crate) fn record_of(body: &[u8]) -> Option<Vec<u8>> {
    let mut record = [&[0; RECORD_HEADER], body].concat();
    finish_record(&mut record)?;
    Some(record)
}

/// [`finish_record`] of a record that is sealed, which makes it longer.
pub(crate) fn finish_sealed(record: &mut [u8]) -> Option<()> {
    finish(record, MAX_SEALED)
}

fn finish(record: &mut [u8], most: usize) -> Option<()> {
    let (header, body) = record.split_first_chunk_mut::<RECORD_HEADER>()?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= most)?;
    let (first, second) = header.split_at_mut_checked(4)?;
    first.copy_from_slice(&length.to_le_bytes());
    second.copy_from_slice(&record_checksum(length, body).to_le_bytes());
    Some(())
}

fn record_checksum(length: u32, body: &[u8]) -> u32 {
    checksum::crc32c_append(checksum::crc32c(&length.to_le_bytes()), body)
}

/// Bytes of the record that begins with `header`, header included; `None` for an invalid length.
pub(crate) fn record_bytes(header: [u8; RECORD_HEADER]) -> Option<usize> {
    let length = u32::from_le_bytes(*header.first_chunk::<4>()?) as usize;
    (length <= MAX_SEALED).then_some(RECORD_HEADER + length)
}

/// The body of the record at the beginning of `bytes`, checked.
pub(crate) fn parse_record(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let (header, _) = bytes.split_first_chunk::<RECORD_HEADER>().ok_or("a record is cut short")?;
    let end = record_bytes(*header).ok_or("a record has an impossible length")?;
    let body = bytes.get(RECORD_HEADER..end).ok_or("a record is cut short")?;
    let mut fields = Fields(header);
    match (fields.u32(), fields.u32()) {
        (Some(length), Some(crc)) if record_checksum(length, body) == crc => Ok(body),
        _ => Err("the checksum of a record does not match"),
    }
}

/// The records of a payload: the place of each in the frame, and its body.
pub(crate) fn records(payload: &[u8]) -> impl Iterator<Item = Result<(Range<usize>, &[u8]), &'static str>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = payload.get(at..).filter(|rest| !rest.is_empty())?;
        let record = parse_record(rest);
        let start = FRAME_HEADER + at;
        // After a bad record the others cannot be separated.
        at = record.map_or(payload.len(), |body| at + RECORD_HEADER + body.len());
        Some(record.map(|body| (start..FRAME_HEADER + at, body)))
    })
}

/// Little-endian fields, one after the other.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(any(test, feature = "fuzzing"))]
thread_local! {
    static SCANNED: Cell<u64> = const { Cell::new(0) };
}

/// Counts bytes that this thread searched for frames: a measure of work that is the same on every machine.
#[cfg(any(test, feature = "fuzzing"))]
fn count_scanned(bytes: usize) {
    SCANNED.set(SCANNED.get() + bytes as u64);
}

/// Number of bytes scanned since the last call.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn take_scanned() -> u64 {
    SCANNED.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { store: [7; 16], segment: 3, offset: 64 };

    fn record(body: &[u8]) -> Vec<u8> {
        let mut record = [&[0; RECORD_HEADER], body].concat();
        finish_record(&mut record).unwrap();
        record
    }

    fn header(payload: &Payload) -> FrameHeader {
        FrameHeader {
            kind: FrameKind::Batch,
            conversation: 9,
            lsn: 12,
            nodes_before: 4,
            key_epoch: 0,
            payload: u32::try_from(payload.frame_bytes() - FRAME_HEADER).unwrap(),
            durable: 64,
        }
    }

    fn frame() -> Vec<u8> {
        let mut payload = Payload::default();
        payload.push(&record(b"one"));
        payload.push(&record(b"two!"));
        let mut bytes = Vec::new();
        payload.finish(&header(&payload), &PLACE, &mut bytes);
        bytes
    }

    #[test]
    fn a_frame_gives_back_its_records() {
        let bytes = frame();
        let (header, payload) = FrameHeader::parse(&bytes, &PLACE).unwrap();
        assert_eq!((header.conversation, header.lsn, header.nodes_before, header.durable), (9, 12, 4, 64));
        assert_eq!(header.frame_bytes(), bytes.len());
        let found: Vec<_> = records(payload).map(Result::unwrap).collect();
        assert_eq!(found.iter().map(|(_, body)| *body).collect::<Vec<_>>(), [b"one".as_slice(), b"two!"]);
        for (range, body) in found {
            assert_eq!(parse_record(&bytes[range]).unwrap(), body, "a record is read by its place in the frame");
        }
    }

    #[test]
    fn a_frame_is_the_same_whether_it_is_copied_or_handed_on() {
        let payload = || {
            let mut payload = Payload::default();
            payload.push(&record(&vec![b'x'; WORTH_KEEPING]));
            payload
        };
        let header = header(&payload());
        let (mut copied, mut handed_on) = (Vec::new(), Vec::new());
        payload().finish(&header, &PLACE, &mut copied);
        payload().finish_into(&header, &PLACE, &mut handed_on);
        assert_eq!(copied, handed_on);
        payload().finish(&header, &PLACE, &mut copied);
        payload().finish_into(&header, &PLACE, &mut handed_on);
        assert_eq!(copied, handed_on, "behind another frame");
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = frame();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(FrameHeader::parse(&flipped, &PLACE).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_frame_in_another_place_is_none() {
        let bytes = frame();
        for place in [Place { offset: 65, ..PLACE }, Place { segment: 4, ..PLACE }, Place { store: [8; 16], ..PLACE }] {
            assert!(FrameHeader::parse(&bytes, &place).is_err());
        }
    }

    /// Golden bytes: a change here makes every store unreadable.
    #[test]
    fn the_layout_of_version_1_never_changes() {
        let golden = "f76d656d010100000900000000000000\
                      0c000000000000000400000000000000\
                      00000000170000004000000000000000\
                      00000000";
        let mut bytes = frame();
        assert_eq!(bytes.len(), FRAME_HEADER + 2 * RECORD_HEADER + 7);
        bytes[44..FRAME_HEADER].fill(0);
        let hex: String = bytes[..FRAME_HEADER].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, golden);
    }
}
