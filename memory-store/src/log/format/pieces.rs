//! A segment in pieces: frames whose headers are whole, and the bytes between them.

use super::frame::{BadFrame, FRAME_HEADER, FrameHeader, Place};

/// Content at a place of a segment.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    /// A frame whose header is whole.
    Frame {
        offset: u32,
        header: FrameHeader,
        /// The payload, as far as it is present.
        payload: &'a [u8],
        /// Fault of the payload, if any.
        broken: Option<&'static str>,
    },
    /// Bytes that are not a frame.
    Hole {
        offset: u32,
        end: u32,
        why: &'static str,
        /// The conversation, when a header names it.
        conversation: Option<u64>,
    },
}

impl Piece<'_> {
    pub(crate) fn offset(&self) -> u32 {
        match self {
            Self::Frame { offset, .. } | Self::Hole { offset, .. } => *offset,
        }
    }

    pub(crate) fn end(&self) -> u32 {
        match self {
            Self::Frame { offset, payload, .. } => small(*offset as usize + FRAME_HEADER + payload.len()),
            Self::Hole { end, .. } => *end,
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Frame { broken: None, .. })
    }

    /// The durable offset that a whole frame names; 0 for any other piece.
    pub(super) fn durable(&self) -> u32 {
        match self {
            Self::Frame { header, broken: None, .. } => header.durable,
            _ => 0,
        }
    }
}

/// Iterates over a segment, or the part of it from its base on.
#[derive(Clone, Debug)]
pub(super) struct Pieces<'a> {
    bytes: &'a [u8],
    /// Place in the log at which `bytes` begin.
    base: Place,
    at: usize,
    /// Offset from which no piece begins.
    used: usize,
}

impl<'a> Pieces<'a> {
    /// Iterates over `bytes`. Zeros at the end are a piece only if `sealed`.
    pub(super) fn new(bytes: &'a [u8], base: Place, sealed: bool) -> Self {
        let used = if sealed { bytes.len() } else { used(bytes) };
        Self { bytes, base, at: 0, used }
    }

    /// Continues at an offset of the segment.
    pub(super) fn skip_to(&mut self, offset: u32) {
        self.at = offset.saturating_sub(self.base.offset) as usize;
    }

    /// The offset in the segment of the next piece.
    pub(super) fn offset(&self) -> u32 {
        self.place(self.at)
    }

    /// The offset in the segment where the zeros at the end begin.
    pub(super) fn used(&self) -> u32 {
        self.place(self.used)
    }

    /// The offset in the segment where the bytes end.
    pub(super) fn end(&self) -> u32 {
        self.place(self.bytes.len())
    }

    /// Turns an index in the bytes into an offset in the segment.
    fn place(&self, at: usize) -> u32 {
        self.base.offset.saturating_add(small(at))
    }

    /// The frame at the offset of the next piece, or the reason for a missing one.
    pub(super) fn frame(&self) -> Result<(FrameHeader, &'a [u8]), BadFrame> {
        self.frame_at(self.at)
    }

    fn frame_at(&self, at: usize) -> Result<(FrameHeader, &'a [u8]), BadFrame> {
        let place = Place { offset: self.place(at), ..self.base };
        FrameHeader::parse(self.bytes.get(at..).unwrap_or_default(), &place)
    }

    /// The next place at or after `from` where the header of a frame is whole.
    fn next_header(&self, mut from: usize) -> usize {
        while let Some(at) = FrameHeader::next_magic(self.bytes, from) {
            match self.frame_at(at) {
                Ok(_) | Err(BadFrame { header: Some(_), .. }) => return at,
                Err(_) => from = at + 1,
            }
        }
        self.used
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let at = self.at;
        if at >= self.used {
            return None;
        }
        let offset = self.place(at);
        let (header, payload, broken) = match self.frame_at(at) {
            Ok((header, payload)) => (header, payload, None),
            // Bytes inside a frame with a bad payload are not searched for frames.
            Err(BadFrame { why, header: Some(header) }) => {
                let after = self.bytes.get(at + FRAME_HEADER..).unwrap_or_default();
                let payload = after.get(..header.payload as usize).unwrap_or(after);
                if !is_known(self.bytes, at) {
                    self.at = at + FRAME_HEADER + payload.len();
                    let conversation = Some(header.conversation);
                    return Some(Piece::Hole { offset, end: self.offset(), why, conversation });
                }
                (header, payload, Some(why))
            }
            Err(BadFrame { why, header: None }) => {
                self.at = self.next_header(at + 1);
                return Some(Piece::Hole { offset, end: self.offset(), why, conversation: None });
            }
        };
        self.at = at + FRAME_HEADER + payload.len();
        Some(Piece::Frame { offset, header, payload, broken })
    }
}

/// True if this version knows the frame's layout and type, so that its records can be separated.
fn is_known(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at + 4..at + 8), Some(&[1, 1, 0 | 2, 0]))
}

/// Bytes up to the last that is not zero.
pub(crate) fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Segments are far smaller than 4 GiB; a larger file is not a segment, and its far end reads as damage.
fn small(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
