//! Reading a segment's bytes frame by frame, and telling damage from a torn tail.

use super::{
    frame::{BadFrame, FrameHeader, Place, StoreId},
    segment::SEGMENT_HEADER,
};

/// What stands at a place of a segment.
#[derive(Debug, PartialEq)]
pub(crate) enum Found<'a> {
    /// A good frame.
    Frame { offset: u32, header: FrameHeader, payload: &'a [u8] },
    /// Bytes that were on disk once and are no frame any more.
    Damage {
        offset: u32,
        /// The next good frame, or the end of the segment.
        end: u32,
        why: &'static str,
        /// The conversation, when the frame's header is still good.
        conversation: Option<u64>,
    },
    /// Bytes that no good frame proves to have been on disk: what a crash left of the last write.
    Torn {
        offset: u32,
        /// Bytes up to the last that is not zero.
        bytes: u64,
    },
}

/// Goes through the bytes of one segment. Damage ends at the next good frame; a torn tail ends the scan.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    /// From `base` to the end of the segment, or as far as it is to be read.
    bytes: &'a [u8],
    /// Where in the segment `bytes` begin.
    base: u32,
    store: StoreId,
    segment: u32,
    /// Whether a later segment follows, so that all of this one was on disk.
    sealed: bool,
    at: usize,
    /// Where the next frame would be written.
    end: u32,
    /// The highest durable offset that a good frame named so far.
    durable: u32,
    /// The highest that a good frame names from the first bad place on, once that was looked for.
    ahead: Option<u32>,
    /// Where the zeros at the end begin, once that was looked for.
    used: Option<usize>,
}

impl<'a> Scan<'a> {
    /// `bytes` is the whole segment, header included.
    pub(crate) fn new(bytes: &'a [u8], store: StoreId, segment: u32, sealed: bool) -> Self {
        let at = SEGMENT_HEADER as usize;
        Self { at, ..Self::behind(bytes, 0, store, segment, sealed).proven(SEGMENT_HEADER) }
    }

    /// `bytes` is what of the segment stands at `base` and behind; a frame begins there.
    pub(crate) fn behind(bytes: &'a [u8], base: u32, store: StoreId, segment: u32, sealed: bool) -> Self {
        Self { bytes, base, store, segment, sealed, at: 0, end: base, durable: base, ahead: None, used: None }
    }

    /// The same scan, where everything before `durable` is known to have been on disk.
    pub(crate) fn proven(self, durable: u32) -> Self {
        Self { durable: self.durable.max(durable), end: self.end.max(SEGMENT_HEADER), ..self }
    }

    /// Where the next frame would be written; final once the scan has ended.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Everything before this offset is proven to have been on disk.
    pub(crate) fn durable(&self) -> u32 {
        self.durable
    }

    fn frame_at(&self, at: usize) -> Result<(FrameHeader, &'a [u8]), BadFrame> {
        let place = Place { store: self.store, segment: self.segment, offset: self.offset(at) };
        FrameHeader::parse(self.bytes.get(at..).unwrap_or_default(), &place)
    }

    /// The first good frame at or behind `from`.
    fn next_good(&self, mut from: usize) -> Option<(usize, FrameHeader)> {
        loop {
            let at = FrameHeader::next_magic(self.bytes, from)?;
            match self.frame_at(at) {
                Ok((header, _)) => return Some((at, header)),
                // A good header in front of a bad payload: what is inside is nobody's frame.
                Err(BadFrame { header: Some(header), .. }) => from = at.saturating_add(header.frame_bytes()),
                Err(_) => from = at + 1,
            }
        }
    }

    /// A place in the bytes as one in the segment.
    fn offset(&self, at: usize) -> u32 {
        self.base.saturating_add(offset(at))
    }

    /// Whether what stands at `at` is known to have been on disk: a good frame at or behind `from` says so.
    ///
    /// What is ahead is looked for once: later calls are for places further on, and frames between the first place and
    /// theirs were taken in since, with what they say.
    fn is_proven(&mut self, at: usize, from: usize) -> bool {
        if self.durable > self.offset(at) {
            return true;
        }
        let ahead = match self.ahead {
            Some(ahead) => ahead,
            None => self.highest_ahead(from),
        };
        self.ahead = Some(ahead);
        ahead > self.offset(at)
    }

    /// The highest durable offset that a good frame at or behind `from` names; 0 when there is none.
    fn highest_ahead(&self, mut from: usize) -> u32 {
        let mut highest = 0;
        while let Some((next, header)) = self.next_good(from) {
            highest = highest.max(header.durable);
            from = next.saturating_add(header.frame_bytes());
        }
        highest
    }

    fn bad(&mut self, at: usize, bad: BadFrame) -> Option<Found<'a>> {
        let used = *self.used.get_or_insert_with(|| used(self.bytes));
        if used <= at && !self.sealed && self.durable <= self.offset(at) {
            self.at = self.bytes.len();
            return None;
        }
        let behind = at.saturating_add(bad.header.map_or(1, |header| header.frame_bytes()));
        if !self.sealed && !self.is_proven(at, behind) {
            self.at = self.bytes.len();
            return Some(Found::Torn { offset: self.offset(at), bytes: used.saturating_sub(at) as u64 });
        }
        // Zeros behind the last frame of the last segment wait for frames to come.
        let durable = self.durable.saturating_sub(self.base) as usize;
        let rest = if self.sealed { self.bytes.len() } else { used.max(durable).min(self.bytes.len()) };
        let end = self.next_good(behind).map_or(rest, |(next, _)| next);
        self.at = end;
        self.end = self.offset(end);
        let conversation = bad.header.map(|header| header.conversation);
        Some(Found::Damage { offset: self.offset(at), end: self.end, why: bad.why, conversation })
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        let at = self.at;
        if at >= self.bytes.len() {
            return None;
        }
        match self.frame_at(at) {
            Ok((header, payload)) => {
                self.at = at + header.frame_bytes();
                self.end = self.offset(self.at);
                self.durable = self.durable.max(header.durable);
                Some(Found::Frame { offset: self.offset(at), header, payload })
            }
            Err(bad) => self.bad(at, bad),
        }
    }
}

/// Bytes up to the last that is not zero.
pub(crate) fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Segments are far smaller than 4 GiB; a larger file is no segment, and its far end reads as damage.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{
        super::frame::{FRAME_HEADER, FrameKind, Payload, RECORD_HEADER, finish_record},
        *,
    };

    const STORE: StoreId = [1; 16];

    /// A segment of frames, one for each durable offset to name, by index of the frame it points to.
    fn segment(durable: &[usize]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = vec![0; SEGMENT_HEADER as usize];
        let mut starts = Vec::new();
        for (index, &names) in durable.iter().enumerate() {
            starts.push(bytes.len());
            let mut payload = Payload::default();
            let mut record = vec![b'x'; RECORD_HEADER + 30];
            finish_record(&mut record).unwrap();
            payload.push(&record);
            let offset = offset(bytes.len());
            let header = FrameHeader {
                kind: FrameKind::Batch,
                conversation: 1,
                lsn: index as u64 + 1,
                nodes_before: 0,
                payload: u32::try_from(payload.frame_bytes() - FRAME_HEADER).unwrap(),
                durable: super::offset(starts[names]),
            };
            payload.finish(&header, &Place { store: STORE, segment: 1, offset }, &mut bytes);
        }
        starts.push(bytes.len());
        (bytes, starts)
    }

    fn outcome(bytes: &[u8], sealed: bool) -> (usize, Vec<(u32, u32)>, Option<u64>, u32) {
        let mut scan = Scan::new(bytes, STORE, 1, sealed);
        let (mut frames, mut damage, mut torn) = (0, Vec::new(), None);
        for found in scan.by_ref() {
            match found {
                Found::Frame { .. } => frames += 1,
                Found::Damage { offset, end, .. } => damage.push((offset, end)),
                Found::Torn { bytes, .. } => torn = Some(bytes),
            }
        }
        (frames, damage, torn, scan.end())
    }

    #[test]
    fn zeros_behind_the_last_frame_are_a_clean_end() {
        let (mut bytes, starts) = segment(&[0, 1]);
        bytes.resize(bytes.len() + 500, 0);
        assert_eq!(outcome(&bytes, false), (2, vec![], None, offset(starts[2])));
    }

    #[test]
    fn a_bad_frame_above_the_durable_offset_is_torn() {
        // Frames 1 and 2 were written together: both name frame 1 as the end of what was on disk.
        let (mut bytes, starts) = segment(&[0, 1, 1]);
        bytes[starts[1] + 60] ^= 1;
        let (frames, damage, torn, end) = outcome(&bytes, false);
        assert_eq!((frames, damage, end), (1, vec![], offset(starts[1])));
        assert_eq!(torn, Some((starts[3] - starts[1]) as u64));
    }

    #[test]
    fn a_bad_frame_below_a_durable_offset_is_damage_and_never_cut() {
        for byte in [0, 20, FRAME_HEADER + 3] {
            let (mut bytes, starts) = segment(&[0, 1, 2, 2]);
            bytes[starts[1] + byte] ^= 1;
            let hurt = (offset(starts[1]), offset(starts[2]));
            assert_eq!(outcome(&bytes, false), (3, vec![hurt], None, offset(starts[4])));
        }
    }

    #[test]
    fn nothing_in_a_sealed_segment_is_torn() {
        let (mut bytes, starts) = segment(&[0, 0]);
        bytes[starts[1]] ^= 1;
        let hurt = (offset(starts[1]), offset(starts[2]));
        assert_eq!(outcome(&bytes, true), (1, vec![hurt], None, offset(starts[2])));
    }

    #[test]
    fn a_scan_of_a_much_damaged_segment_looks_at_each_byte_a_few_times() {
        const FRAMES: usize = 600;
        // Only the last frame tells that all before it was on disk, and every second one is damaged.
        let mut durable = [0; FRAMES];
        durable[FRAMES - 1] = FRAMES - 1;
        let (mut bytes, starts) = segment(&durable);
        starts[1..FRAMES - 1].iter().step_by(2).for_each(|start| bytes[start + 20] ^= 1);
        bytes.resize(bytes.len() + 100_000, 0);
        let _: u64 = crate::log::fuzzing::take_scanned();
        let (frames, damage, torn, _) = outcome(&bytes, false);
        let scanned = crate::log::fuzzing::take_scanned();
        assert_eq!((frames, damage.len(), torn), (FRAMES.div_ceil(2) + 1, FRAMES / 2 - 1, None));
        assert!(scanned < 10 * bytes.len() as u64, "{scanned} of {}", bytes.len());
    }
}
