//! Reads a log without trusting any of it, and reports in its order what is whole and what is not.
//!
//! Doctor and salvage see the log through a survey, so that both judge alike.

mod records;
mod source;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use memory_core::{
    ConversationId, NodeId, NodeRange,
    port::{Progress, StoreError},
};

use crate::log::{
    failure::io_error,
    format::{
        codec::Past,
        frame::{FrameHeader, FrameKind},
        pieces::{Piece, used},
        scan::Scan,
        segment::{SEGMENT_HEADER, SegmentHeader, segment_name},
    },
    media::Media,
    state::{MOST_DEPTH, MOST_LOST, damage::TornTail},
};
pub(crate) use records::{Part, Reading};
use source::SourceSegment;
pub(crate) use source::{Source, read_image};

/// A damaged place of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawFinding {
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
    /// 0 when it is not known.
    pub(crate) bytes: u64,
    pub(crate) why: String,
    /// The number of the conversation, where that is known.
    pub(crate) conversation: Option<u64>,
    /// The node that is lost with it, if it is exactly one.
    pub(crate) node: Option<NodeId>,
    /// True if frames or records that nothing else records may have stood here.
    pub(crate) hides: bool,
}

/// A frame whose header is whole and whose place in the log is right.
#[derive(Debug)]
pub(crate) struct Surveyed<'a> {
    /// The number of its conversation.
    pub(crate) conversation: u64,
    /// Name of the conversation, when the frame opens it.
    pub(crate) opened: Option<&'a ConversationId>,
    /// Past shared with the parent, when the frame opens a fork: only the nodes that are still there, which may be 0.
    pub(crate) past: Option<Past>,
    /// Nodes of that shared prefix that are missing.
    pub(crate) lost_past: u64,
    /// Nodes of the conversation before it, without those lost directly before it.
    pub(crate) nodes: u64,
    /// Nodes lost directly before it.
    pub(crate) lost_before: u64,
    pub(crate) reading: Reading<'a>,
}

/// Receives what a survey finds.
pub(crate) trait Visitor {
    fn frame(&mut self, frame: &Surveyed<'_>) -> Result<(), StoreError>;
    fn finding(&mut self, finding: RawFinding);
    fn torn(&mut self, torn: TornTail);
}

/// Treatment of bytes after a torn tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Not read: they were never acknowledged, and opening the log for writing cuts them.
    Cut,
    /// Searched for whole frames.
    Searched,
}

/// Surveys all of `source`.
pub(crate) fn survey(
    media: &dyn Media,
    source: &Source,
    tail: Tail,
    progress: &dyn Progress,
    visitor: &mut dyn Visitor,
) -> Result<(), StoreError> {
    source.findings.iter().for_each(|finding| visitor.finding(finding.clone()));
    let total = source.segments.len() as u64;
    let mut survey = Survey {
        source,
        visitor,
        tail,
        next_lsn: 1,
        gap: false,
        nodes: HashMap::new(),
        depths: HashMap::new(),
        names: HashSet::new(),
        lost: 0,
    };
    let mut previous: Option<Before> = None;
    for (index, segment) in source.segments.iter().enumerate() {
        progress.report(index as u64, total);
        let opened = segment.open(media).map_err(io_error("read", &segment.path));
        // A compressed segment is sealed, even when those after it are missing.
        let is_last = index as u64 + 1 == total && opened.as_ref().is_ok_and(|open| !open.is_compressed());
        // A file that cannot be read costs its own contents and nothing else.
        let bytes = opened.and_then(|open| read_image(&open).map_err(io_error("read", &segment.path)));
        let expected = previous.as_ref().map_or(1, |before| before.number.saturating_add(1));
        survey.missing(expected, segment.number, segment.path.parent().unwrap_or(&source.path));
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                survey.note(&segment.path, 0, 0, error.to_string(), None, true);
                previous =
                    Some(Before { number: segment.number, path: segment.path.clone(), end: u32::MAX, says: None });
                continue;
            }
        };
        let says = survey.header(&bytes, segment, previous.take());
        let end = survey.frames(&bytes, segment, is_last)?;
        previous = Some(Before { number: segment.number, path: segment.path.clone(), end, says });
    }
    if let Some(known) = source.durable {
        let expected = previous.as_ref().map_or(1, |before| before.number.saturating_add(1));
        survey.missing(expected, known.segment.saturating_add(1), &source.path.join("log"));
    }
    progress.report(total, total);
    Ok(())
}

/// The segment before.
struct Before {
    number: u32,
    path: PathBuf,
    /// Offset of the end of its last frame.
    end: u32,
    /// Its declared end, if it was rewritten; then the end that the next segment records is out of date.
    says: Option<u32>,
}

struct Survey<'s> {
    source: &'s Source,
    visitor: &'s mut dyn Visitor,
    tail: Tail,
    next_lsn: u64,
    /// True if a finding stands between the last frame and the next.
    gap: bool,
    /// Number of nodes of each conversation so far.
    nodes: HashMap<u64, u64>,
    /// Depth of each fork in its chain of forks.
    depths: HashMap<u64, u32>,
    names: HashSet<ConversationId>,
    /// Nodes lost so far, of all conversations.
    lost: u64,
}

impl Survey<'_> {
    fn note(&mut self, path: &Path, offset: u64, bytes: u64, why: String, conversation: Option<u64>, hides: bool) {
        self.visitor.finding(RawFinding { path: path.to_owned(), offset, bytes, why, conversation, node: None, hides });
        self.gap = true;
    }

    /// Notes the missing segments from `expected` to before `found`.
    fn missing(&mut self, expected: u32, found: u32, log: &Path) {
        let Some(last) = found.checked_sub(1).filter(|last| *last >= expected) else { return };
        let path = log.join(segment_name(expected));
        let why = match last - expected {
            0 => "the segment is missing".to_owned(),
            more => format!("the segment is missing, and {more} after it up to {}", segment_name(last)),
        };
        self.note(&path, 0, 0, why, None, true);
    }

    /// Checks the header of the segment, which also records the end of the one before; returns its declared end.
    fn header(&mut self, bytes: &[u8], segment: &SourceSegment, previous: Option<Before>) -> Option<u32> {
        match SegmentHeader::parse(bytes) {
            Err(why) => {
                let bytes = u64::from(SEGMENT_HEADER).min(bytes.len() as u64);
                self.note(&segment.path, 0, bytes, why.to_owned(), None, false);
                None
            }
            Ok(header) => {
                if let Some(Before { number, path, end, says }) = previous
                    && number.checked_add(1) == Some(header.number)
                    && let Some(missing) =
                        says.unwrap_or(header.previous_end).checked_sub(end).filter(|bytes| *bytes > 0)
                {
                    let why = "the segment is cut short".to_owned();
                    self.note(&path, u64::from(end), u64::from(missing), why, None, true);
                }
                header.end
            }
        }
    }

    /// Surveys the frames of a segment, and returns the offset of their end.
    fn frames(&mut self, bytes: &[u8], segment: &SourceSegment, is_last: bool) -> Result<u32, StoreError> {
        let known = self.source.durable.filter(|known| is_last && known.segment == segment.number);
        let header = SegmentHeader::parse(bytes);
        // A segment that was rewritten since its name was read is sealed: what was known is about its old contents.
        let is_rewritten = header.is_ok_and(|header| header.end.is_some());
        let known = known.filter(|_| !is_rewritten).map_or(0, |known| known.offset);
        // Nothing is a tail where the header does not identify the owner of the bytes.
        let is_ours = |header: SegmentHeader| header.store == self.source.id && header.number == segment.number;
        let nobodys = if header.is_ok_and(is_ours) { 0 } else { used(bytes) };
        let nobodys = u32::try_from(nobodys).unwrap_or(u32::MAX);
        let scan = Scan::new(bytes, self.source.id, segment.number, !is_last);
        let mut scan = scan.proven(known.max(nobodys));
        let mut torn = false;
        let mut end = SEGMENT_HEADER;
        while let Some(piece) = scan.next_piece() {
            end = piece.end();
            if let Some(bytes) = scan.torn(&piece).filter(|_| !torn) {
                torn = true;
                let (path, offset) = (segment.path.clone(), u64::from(piece.offset()));
                self.visitor.torn(TornTail { path, offset, bytes });
            }
            if torn && self.tail == Tail::Cut {
                break;
            }
            self.piece(segment, &piece)?;
        }
        if end < known {
            let why = "the segment is cut short".to_owned();
            self.note(&segment.path, u64::from(end), u64::from(known - end), why, None, true);
        }
        Ok(end)
    }

    fn piece(&mut self, segment: &SourceSegment, piece: &Piece<'_>) -> Result<(), StoreError> {
        let (offset, bytes) = (u64::from(piece.offset()), u64::from(piece.end() - piece.offset()));
        match piece {
            Piece::Hole { why, conversation, .. } => {
                self.note(&segment.path, offset, bytes, (*why).to_owned(), *conversation, true);
                Ok(())
            }
            // A filler stands for frames without live records, and has nothing to be read.
            Piece::Frame { header, .. } if header.kind == FrameKind::Filler => {
                if let Err(why) = self.check_place(&segment.path, offset, header) {
                    self.note(&segment.path, offset, bytes, why.to_owned(), None, false);
                }
                Ok(())
            }
            Piece::Frame { header, payload, broken, .. } => {
                let keys = &self.source.keys;
                let reading = Reading::new(keys, header, payload, *broken);
                let Err(why) = self.check_place(&segment.path, offset, header) else {
                    return self.apply_frame(segment, offset, bytes, header, reading);
                };
                self.note(&segment.path, offset, bytes, why.to_owned(), Some(header.conversation), false);
                Ok(())
            }
        }
    }

    /// Checks that a frame may stand at its place.
    fn check_place(&mut self, path: &Path, offset: u64, header: &FrameHeader) -> Result<(), &'static str> {
        if header.lsn < self.next_lsn {
            return Err("a frame repeats");
        }
        if header.lsn > self.next_lsn && !self.gap {
            self.note(path, offset, 0, "frames before this place are missing".to_owned(), None, true);
        }
        self.next_lsn = header.lsn.saturating_add(header.lsns());
        self.gap = false;
        Ok(())
    }

    fn apply_frame(
        &mut self,
        segment: &SourceSegment,
        offset: u64,
        bytes: u64,
        header: &FrameHeader,
        reading: Reading<'_>,
    ) -> Result<(), StoreError> {
        let conversation = header.conversation;
        let known = self.nodes.get(&conversation).copied();
        let opened = reading.opened.clone();
        let nodes = known.unwrap_or(0);
        let nodes_before = if reading.is_of_notes { nodes } else { header.nodes_before };
        let lost_before = nodes_before.saturating_sub(nodes);
        let past = opened.as_ref().and_then(|opening| opening.past).map(|past| {
            let there = self.nodes.get(&past.parent).copied().unwrap_or(0);
            (Past { nodes: past.nodes.min(there), ..past }, past.nodes.saturating_sub(there))
        });
        let (past, lost_past) = (past.map(|(past, _)| past), past.map_or(0, |(_, lost)| lost));
        let depth = past.map_or(0, |past| self.depths.get(&past.parent).map_or(1, |depth| depth.saturating_add(1)));
        let lost = self.lost.saturating_add(lost_before).saturating_add(lost_past).saturating_add(reading.lost);
        let why = match &opened {
            Some(_) if conversation != header.lsn => Some("a conversation's number is not that of its first frame"),
            Some(_) if known.is_some() => Some("a conversation is opened twice"),
            Some(_) if nodes_before > 0 => Some("the first frame of a conversation counts nodes before it"),
            _ if nodes_before < nodes => Some("the frame repeats nodes that are there already"),
            _ if depth > MOST_DEPTH => Some("it is a fork of more forks than can follow each other"),
            _ if lost > MOST_LOST => Some("it records more lost nodes than a log can lose"),
            _ => None,
        };
        if let Some(why) = why {
            self.note(&segment.path, offset, bytes, why.to_owned(), Some(conversation), false);
            self.gap = false;
            return Ok(());
        }
        let opened = opened.map(|opening| opening.name).filter(|name| self.names.insert(name.clone()));
        self.lost = lost;
        if depth > 0 {
            self.depths.insert(conversation, depth);
        }
        let before = past.map_or(nodes_before, |past| past.nodes.saturating_add(lost_past));
        self.nodes.insert(conversation, before.saturating_add(reading.nodes));
        if lost_past > 0 {
            let why = "the conversation is a fork, and a part of the past that it shares is lost".to_owned();
            self.note(&segment.path, offset, 0, why, Some(conversation), false);
        }
        if known.is_none() && opened.is_none() {
            let why = "the opening of this conversation is lost".to_owned();
            self.note(&segment.path, offset, 0, why, Some(conversation), false);
        }
        let frame = Surveyed { conversation, opened: opened.as_ref(), past, lost_past, nodes, lost_before, reading };
        self.visitor.frame(&frame)?;
        for bad in &frame.reading.bad {
            self.visitor.finding(RawFinding {
                path: segment.path.clone(),
                offset: offset.saturating_add(bad.range.start as u64),
                bytes: bad.range.len() as u64,
                why: bad.why.clone(),
                conversation: Some(conversation),
                node: bad.node.and_then(|node| NodeId::new(before.saturating_add(node).saturating_add(1))),
                hides: bad.hides,
            });
        }
        self.gap = false;
        Ok(())
    }
}

/// The `count` nodes from `first` on; `None` for 0.
pub(crate) fn run(first: u64, count: u64) -> Option<NodeRange> {
    let last = first.checked_add(count)?.checked_sub(1)?;
    NodeRange::new(NodeId::new(first)?, NodeId::new(last)?)
}
