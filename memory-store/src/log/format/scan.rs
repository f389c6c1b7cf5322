//! Reads a segment's bytes frame by frame, and distinguishes damage from a torn tail.

use super::{
    frame::{FrameHeader, Place, StoreId},
    pieces::{Piece, Pieces},
    segment::SEGMENT_HEADER,
};

/// A piece of a segment.
#[derive(Debug, PartialEq)]
pub(crate) enum Found<'a> {
    /// A good frame.
    Frame { offset: u32, header: FrameHeader, payload: &'a [u8] },
    /// Bytes that were on disk once and are no longer a frame.
    Damage {
        offset: u32,
        /// The next good frame, or the end of the segment.
        end: u32,
        why: &'static str,
        /// The conversation, when the frame's header is still good.
        conversation: Option<u64>,
    },
    /// Bytes that no good frame proves to have been on disk: the remains of the last write after a crash.
    Torn {
        offset: u32,
        /// Bytes up to the last that is not zero.
        bytes: u64,
    },
}

/// Scans the bytes of one segment. Damage ends at the next good frame; a torn tail ends the scan.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    pieces: Pieces<'a>,
    /// True if a later segment follows, so that all of this one was on disk.
    sealed: bool,
    /// Offset for the next frame.
    end: u32,
    /// The highest durable offset that a good frame named so far.
    durable: u32,
    /// The highest durable offset that a good frame names after the first bad piece, once computed.
    ahead: Option<u32>,
}

impl<'a> Scan<'a> {
    /// A scan of the whole segment in `bytes`, including the header.
    pub(crate) fn new(bytes: &'a [u8], store: StoreId, segment: u32, sealed: bool) -> Self {
        let mut scan = Self::after(bytes, 0, store, segment, sealed).proven(SEGMENT_HEADER);
        scan.pieces.skip_to(SEGMENT_HEADER);
        scan
    }

    /// A scan of the segment from `base` on, in `bytes`; a frame begins there.
    pub(crate) fn after(bytes: &'a [u8], base: u32, store: StoreId, segment: u32, sealed: bool) -> Self {
        let pieces = Pieces::new(bytes, Place { store, segment, offset: base }, sealed);
        Self { pieces, sealed, end: base, durable: base, ahead: None }
    }

    /// The same scan, with everything before `durable` known to have been on disk.
    pub(crate) fn proven(self, durable: u32) -> Self {
        Self { durable: self.durable.max(durable), end: self.end.max(SEGMENT_HEADER), ..self }
    }

    /// Offset for the next frame; final once the scan has ended.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Offset before which everything is proven to have been on disk.
    pub(crate) fn durable(&self) -> u32 {
        self.durable
    }

    /// The next piece, not classified as damage or torn tail.
    pub(crate) fn next_piece(&mut self) -> Option<Piece<'a>> {
        let piece = self.pieces.next()?;
        self.durable = self.durable.max(piece.durable());
        Some(piece)
    }

    /// Bytes from this piece to the last that is not zero, if a torn tail begins with it: a bad frame that no good
    /// frame proves to have been on disk.
    pub(crate) fn torn(&mut self, piece: &Piece<'_>) -> Option<u64> {
        let is_torn = !self.sealed && !piece.is_whole() && !self.is_proven(piece.offset());
        is_torn.then(|| u64::from(self.pieces.used().saturating_sub(piece.offset())))
    }

    /// True if the bytes at `offset`, in the piece that was read last, are known to have been on disk: a good frame
    /// names a higher durable offset.
    ///
    /// The highest offset ahead is computed once: later calls are for places further on, and the scan has read the
    /// frames up to there since, with their durable offsets.
    fn is_proven(&mut self, offset: u32) -> bool {
        if self.durable > offset {
            return true;
        }
        let ahead = || self.pieces.clone().map(|piece| piece.durable()).max().unwrap_or(0);
        *self.ahead.get_or_insert_with(ahead) > offset
    }

    fn bad(&mut self, piece: &Piece<'a>) -> Found<'a> {
        let offset = piece.offset();
        if let Some(bytes) = self.torn(piece) {
            self.pieces.skip_to(u32::MAX);
            return Found::Torn { offset, bytes };
        }
        let (why, conversation) = match piece {
            Piece::Frame { header, broken, .. } => (broken.unwrap_or_default(), Some(header.conversation)),
            Piece::Hole { why, conversation, .. } => (*why, *conversation),
        };
        let next = self.pieces.clone().find(Piece::is_whole).map(|next| next.offset());
        self.damage(offset, next, why, conversation)
    }

    /// Damage up to the frame at `next`, or else to the end of the bytes that were on disk: zeros after the last frame
    /// of the last segment are room for later frames.
    fn damage(&mut self, offset: u32, next: Option<u32>, why: &'static str, conversation: Option<u64>) -> Found<'a> {
        let rest = self.pieces.used().max(self.durable).min(self.pieces.end());
        self.end = next.unwrap_or(rest);
        self.pieces.skip_to(self.end);
        Found::Damage { offset, end: self.end, why, conversation }
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        match self.next_piece() {
            Some(Piece::Frame { offset, header, payload, broken: None }) => {
                self.end = self.pieces.offset();
                Some(Found::Frame { offset, header, payload })
            }
            Some(piece) => Some(self.bad(&piece)),
            // Zeros in the place of frames that were on disk.
            None if self.pieces.offset() < self.durable.min(self.pieces.end()) => {
                let why = self.pieces.frame().err().map_or("", |bad| bad.why);
                Some(self.damage(self.pieces.offset(), None, why, None))
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::format::frame::{FRAME_HEADER, FrameKind, Payload, RECORD_HEADER, finish_record};

    const STORE: StoreId = [1; 16];

    fn small(at: usize) -> u32 {
        u32::try_from(at).unwrap()
    }

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
            let offset = small(bytes.len());
            let header = FrameHeader {
                kind: FrameKind::Batch,
                conversation: 1,
                lsn: index as u64 + 1,
                nodes_before: 0,
                key_epoch: 0,
                payload: u32::try_from(payload.frame_bytes() - FRAME_HEADER).unwrap(),
                durable: small(starts[names]),
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
        assert_eq!(outcome(&bytes, false), (2, vec![], None, small(starts[2])));
    }

    #[test]
    fn a_bad_frame_above_the_durable_offset_is_torn() {
        // Frames 1 and 2 were written together: both name frame 1 as the end of what was on disk.
        let (mut bytes, starts) = segment(&[0, 1, 1]);
        bytes[starts[1] + 60] ^= 1;
        let (frames, damage, torn, end) = outcome(&bytes, false);
        assert_eq!((frames, damage, end), (1, vec![], small(starts[1])));
        assert_eq!(torn, Some((starts[3] - starts[1]) as u64));
    }

    #[test]
    fn a_bad_frame_below_a_durable_offset_is_damage_and_never_cut() {
        for byte in [0, 20, FRAME_HEADER + 3] {
            let (mut bytes, starts) = segment(&[0, 1, 2, 2]);
            bytes[starts[1] + byte] ^= 1;
            let hurt = (small(starts[1]), small(starts[2]));
            assert_eq!(outcome(&bytes, false), (3, vec![hurt], None, small(starts[4])));
        }
    }

    #[test]
    fn nothing_in_a_sealed_segment_is_torn() {
        let (mut bytes, starts) = segment(&[0, 0]);
        bytes[starts[1]] ^= 1;
        let hurt = (small(starts[1]), small(starts[2]));
        assert_eq!(outcome(&bytes, true), (1, vec![hurt], None, small(starts[2])));
    }

    #[test]
    fn a_scan_of_a_much_damaged_segment_looks_at_each_byte_a_few_times() {
        const FRAMES: usize = 600;
        // Only the last frame proves that all before it was on disk, and every second one is damaged.
        let mut durable = [0; FRAMES];
        durable[FRAMES - 1] = FRAMES - 1;
        let (mut bytes, starts) = segment(&durable);
        starts[1..FRAMES - 1].iter().step_by(2).for_each(|start| bytes[start + 20] ^= 1);
        bytes.resize(bytes.len() + 100_000, 0);
        let _: u64 = crate::log::format::frame::take_scanned();
        let (frames, damage, torn, _) = outcome(&bytes, false);
        let scanned = crate::log::format::frame::take_scanned();
        assert_eq!((frames, damage.len(), torn), (FRAMES.div_ceil(2) + 1, FRAMES / 2 - 1, None));
        assert!(scanned < 10 * bytes.len() as u64, "{scanned} of {}", bytes.len());
    }
}
