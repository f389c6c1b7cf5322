//! A segment in pieces: frames whose headers are whole, and what stands between them.

use crate::log::{
    frame::{BadFrame, FRAME_HEADER, FrameHeader, Place},
    scan::used,
    segment::SEGMENT_HEADER,
};

/// What stands at a place of a segment.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// A frame whose header is whole.
    Frame {
        offset: u32,
        header: FrameHeader,
        /// As much of the payload as there is.
        payload: &'a [u8],
        /// What is wrong with the payload, if anything is.
        broken: Option<&'static str>,
    },
    /// Bytes that are no frame.
    Hole {
        offset: u32,
        end: u32,
        why: &'static str,
        /// The conversation, when a header says so.
        conversation: Option<u64>,
    },
}

impl Piece<'_> {
    pub(super) fn offset(&self) -> u32 {
        match self {
            Self::Frame { offset, .. } | Self::Hole { offset, .. } => *offset,
        }
    }

    pub(super) fn end(&self) -> u32 {
        match self {
            Self::Frame { offset, payload, .. } => place(*offset as usize + FRAME_HEADER + payload.len()),
            Self::Hole { end, .. } => *end,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Frame { broken: None, .. })
    }

    /// What it names as durable; 0 for anything but a whole frame.
    pub(super) fn durable(&self) -> u32 {
        match self {
            Self::Frame { header, broken: None, .. } => header.durable,
            _ => 0,
        }
    }
}

/// Goes through a segment. Zeros at the end of the last segment are no piece.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    bytes: &'a [u8],
    /// Its offset is of no account.
    place: Place,
    at: usize,
    /// No piece begins here or behind.
    used: usize,
}

impl<'a> Pieces<'a> {
    /// `bytes` is the whole segment, header included.
    pub(super) fn new(bytes: &'a [u8], place: Place, is_last: bool) -> Self {
        let used = if is_last { used(bytes) } else { bytes.len() };
        Self { bytes, place, at: SEGMENT_HEADER as usize, used }
    }

    fn frame_at(&self, at: usize) -> Result<(FrameHeader, &'a [u8]), BadFrame> {
        let place = Place { offset: self::place(at), ..self.place };
        FrameHeader::parse(self.bytes.get(at..).unwrap_or_default(), &place)
    }

    /// The next place at or behind `from` where the header of a frame is whole.
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
        let offset = place(at);
        let (header, payload, broken) = match self.frame_at(at) {
            Ok((header, payload)) => (header, payload, None),
            Err(BadFrame { why, header: Some(header) }) => {
                let behind = self.bytes.get(at + FRAME_HEADER..).unwrap_or_default();
                let payload = behind.get(..header.payload as usize).unwrap_or(behind);
                if !is_known(self.bytes, at) {
                    self.at = at + FRAME_HEADER + payload.len();
                    let conversation = Some(header.conversation);
                    return Some(Piece::Hole { offset, end: place(self.at), why, conversation });
                }
                (header, payload, Some(why))
            }
            Err(BadFrame { why, header: None }) => {
                self.at = self.next_header(at + 1);
                return Some(Piece::Hole { offset, end: place(self.at), why, conversation: None });
            }
        };
        self.at = at + FRAME_HEADER + payload.len();
        Some(Piece::Frame { offset, header, payload, broken })
    }
}

/// Whether the frame has a layout and a type that this version knows, so that its records can be told apart.
fn is_known(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 4..at + 8) == Some(&[1, 1, 0, 0])
}

/// Segments are far smaller than 4 GiB.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
