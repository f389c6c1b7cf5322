//! A segment's image without its dead records.

use std::collections::HashSet;

use memory_core::port::{Place, StoreError};

use super::{
    erasing::{Erasing, Fate},
    noted::renoted,
};
use crate::log::{
    format::{
        Location, codec,
        frame::{FRAME_HEADER, FrameHeader, FrameKind, Payload, RECORD_HEADER, StoreId, record_of},
        scan::{Found, Scan},
        segment::{Segment, SegmentHeader},
    },
    keys::{Sealing, Slots},
};

/// A segment's image after a vacuum.
pub(super) struct Rewritten {
    pub(super) bytes: Vec<u8>,
    /// Records that were left out.
    pub(super) dropped: u64,
    /// Messages that became notes.
    pub(super) noted: u64,
    /// Records whose content was erased.
    pub(super) erased: u64,
    /// Frames that got another key, or none.
    pub(super) resealed: u64,
}

/// Salts for records that are encrypted.
pub(super) struct SaltSource<'r> {
    slots: Slots,
    reserve: &'r dyn Fn(u32) -> Result<Slots, StoreError>,
}

impl<'r> SaltSource<'r> {
    pub(super) fn new(reserve: &'r dyn Fn(u32) -> Result<Slots, StoreError>) -> Self {
        Self { slots: Slots::default(), reserve }
    }

    fn at_least(&mut self, records: usize) -> Result<&mut Slots, StoreError> {
        if let Some(wanted) = self.slots.wanted(records) {
            self.slots.add((self.reserve)(wanted)?);
        }
        Ok(&mut self.slots)
    }
}

/// Changes of a segment.
pub(super) struct Rewriting<'r> {
    /// Offsets of records that are left out, in order.
    pub(super) dead: &'r [u32],
    /// Conversations whose messages become notes.
    pub(super) noted: &'r HashSet<u64>,
    pub(super) erasing: &'r Erasing,
    /// Epoch of the key that frames are to be encrypted with, 0 for none; `None` leaves each as it is.
    pub(super) epoch: Option<u32>,
}

impl Rewriting<'_> {
    /// The image of `segment` with the changes. A run of frames without live records becomes one small filler frame, so
    /// that no log sequence number is missing. An image that nothing changes stays as it is.
    pub(super) fn rewritten(
        &self,
        store: StoreId,
        segment: &Segment,
        image: Vec<u8>,
        salts: &mut SaltSource<'_>,
    ) -> Result<Rewritten, StoreError> {
        let (Self { dead, noted, erasing, epoch }, keys) = (self, segment.keys());
        let damaged = |offset: u32, why: &str| StoreError::Damaged {
            place: Place::from(segment.path()).offset(u64::from(offset)),
            why: why.to_owned(),
        };
        if dead.is_empty() && noted.is_empty() && erasing.is_empty() && epoch.is_none() {
            return Ok(Rewritten { bytes: image, dropped: 0, noted: 0, erased: 0, resealed: 0 });
        }
        let header = SegmentHeader::parse(&image).map_err(|why| damaged(0, why))?;
        let mut new = Rewriter { store, segment, bytes: header.encode(), filler: None };
        let (mut dropped, mut became, mut erased, mut resealed) = (0, 0, 0, 0);
        for found in Scan::new(&image, store, segment.number(), true) {
            let (offset, header, payload) = match found {
                Found::Frame { offset, header, payload } => (offset, header, payload),
                Found::Damage { offset, why, .. } => return Err(damaged(offset, why)),
                Found::Torn { offset, .. } => return Err(damaged(offset, "the segment ends within a frame")),
            };
            if header.kind == FrameKind::Filler {
                new.leave_out(header.lsn, header.lsns());
                continue;
            }
            let is_noted = noted.contains(&header.conversation);
            let mut before = header.nodes_before;
            let mut kept = Payload::with_capacity(payload.len());
            let key_epoch = epoch.unwrap_or(header.key_epoch);
            let is_resealed = key_epoch != header.key_epoch;
            resealed += u64::from(is_resealed);
            let mut nodes = header.nodes_before;
            for record in keys.records(&header, payload) {
                let record = record.map_err(|why| damaged(offset, why))?;
                let (range, body) = (record.range.clone(), &*record.body);
                let sealing = Sealing { epoch: key_epoch, conversation: header.conversation, slot: record.slot };
                let mut push = |plain: &[u8]| -> Result<(), StoreError> {
                    if key_epoch == 0 {
                        kept.push(plain);
                        return Ok(());
                    }
                    let body = plain.get(RECORD_HEADER..).unwrap_or_default();
                    let slots = salts.at_least(usize::from(sealing.slot.is_none()))?;
                    let sealed = kept.push_with(|out| keys.seal_record(&sealing, body, &mut nodes, slots, out));
                    sealed.map_err(|why| damaged(offset, why))
                };
                let at = u32::try_from(range.start).ok().and_then(|within| offset.checked_add(within));
                if at.is_some_and(|at| dead.binary_search(&at).is_ok()) {
                    dropped += 1;
                    continue;
                }
                if !is_noted {
                    let place = Location { segment: segment.number(), offset: at.unwrap_or(u32::MAX) };
                    let fate = if erasing.is_empty() {
                        Fate::Kept
                    } else {
                        erasing.fate(&header, place, &record).map_err(|error| damaged(offset, &error.0))?
                    };
                    erased += u64::from(fate != Fate::Kept);
                    match fate {
                        Fate::Kept if is_resealed => {
                            push(&record_of(body).ok_or_else(|| damaged(offset, "a record is too long"))?)?;
                        }
                        Fate::Kept => {
                            nodes = nodes.saturating_add(codec::nodes_of(body));
                            // The range counts from the beginning of the frame.
                            let stored = payload.get(range.start - FRAME_HEADER..range.end - FRAME_HEADER);
                            kept.push(stored.ok_or_else(|| damaged(offset, "a record is cut short"))?);
                        }
                        Fate::Replaced(record) => push(&record)?,
                        Fate::LeftOut => {}
                    }
                    continue;
                }
                match renoted(body, &mut before).map_err(|error| damaged(offset, &error.0))? {
                    Some(record) => push(&record)?,
                    None => dropped += 1,
                }
            }
            became += before - header.nodes_before;
            let header = FrameHeader { key_epoch, ..header };
            let header = if is_noted { FrameHeader { nodes_before: 0, ..header } } else { header };
            // A frame that was always empty is kept as it was.
            if kept.frame_bytes() < FRAME_HEADER + RECORD_HEADER && !payload.is_empty() {
                new.leave_out(header.lsn, 1);
            } else {
                new.push(&header, &kept);
            }
        }
        let bytes = if dropped + became + erased + resealed == 0 { image } else { new.finish(header) };
        Ok(Rewritten { bytes, dropped, noted: became, erased, resealed })
    }
}

struct Rewriter<'s> {
    store: StoreId,
    segment: &'s Segment,
    bytes: Vec<u8>,
    /// Run of log sequence numbers that still lack a frame: the first, and their number.
    filler: Option<(u64, u64)>,
}

impl Rewriter<'_> {
    fn end(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    fn leave_out(&mut self, lsn: u64, count: u64) {
        let (first, before) = self.filler.unwrap_or((lsn, 0));
        self.filler = Some((first, before + count));
    }

    fn push(&mut self, header: &FrameHeader, payload: &Payload) {
        self.write_filler();
        self.write(header, payload);
    }

    fn write_filler(&mut self) {
        let Some((lsn, nodes_before)) = self.filler.take() else { return };
        let kind = FrameKind::Filler;
        let filler = FrameHeader { kind, conversation: 0, lsn, nodes_before, key_epoch: 0, payload: 0, durable: 0 };
        self.write(&filler, &Payload::with_capacity(0));
    }

    fn write(&mut self, header: &FrameHeader, payload: &Payload) {
        let length = u32::try_from(payload.frame_bytes() - FRAME_HEADER).unwrap_or(u32::MAX);
        // The whole segment is on disk before any of it counts.
        let header = FrameHeader { payload: length, durable: self.end(), ..*header };
        let place = self.segment.place(self.store, self.end());
        payload.finish(&header, &place, &mut self.bytes);
    }

    fn finish(mut self, header: SegmentHeader) -> Vec<u8> {
        self.write_filler();
        let header = SegmentHeader { end: Some(self.end()), rewritten: header.rewritten.saturating_add(1), ..header };
        let encoded = header.encode();
        if let Some(room) = self.bytes.get_mut(..encoded.len()) {
            room.copy_from_slice(&encoded);
        }
        self.bytes
    }
}
