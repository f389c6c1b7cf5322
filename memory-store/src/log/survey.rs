//! Reading a log of which nothing is taken for granted: what is whole in it and what is not, in its order.
//!
//! Doctor and salvage see the log through a survey, so that both judge alike.

mod frames;
mod records;
mod source;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use memory_core::{ConversationId, NodeId, NodeRange, Progress};

use super::{
    codec::Past,
    failure::io_error,
    frame::{FrameHeader, FrameKind, Place},
    media::Media,
    recovery::TornTail,
    rescue::RescueError,
    scan::used,
    segment::{SEGMENT_HEADER, SegmentHeader, segment_name},
    state::{MOST_DEPTH, MOST_LOST},
};
use frames::{Piece, Pieces};
pub(crate) use records::{Part, Reading};
use source::SourceSegment;
pub(crate) use source::{Source, read_image};

/// A place of the log that is not what was written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
    /// 0 when it is not known.
    pub(crate) bytes: u64,
    pub(crate) why: String,
    /// The number of the conversation, where that is known.
    pub(crate) conversation: Option<u64>,
    /// The node that is lost with it, where it is one alone.
    pub(crate) node: Option<NodeId>,
    /// Whether frames or records that nothing else tells of may have stood here.
    pub(crate) hides: bool,
}

/// A frame whose header is whole, and whose place in the log is right.
#[derive(Debug)]
pub(crate) struct Surveyed<'a> {
    /// The number of its conversation.
    pub(crate) conversation: u64,
    /// Its name, when the frame opens it.
    pub(crate) opened: Option<&'a ConversationId>,
    /// What it shares with its parent, when the frame opens a fork: as many nodes as there still are, 0 perhaps.
    pub(crate) past: Option<Past>,
    /// Nodes of that past that are not there any more.
    pub(crate) lost_past: u64,
    /// Nodes of the conversation that stand before it, those lost directly before it left out.
    pub(crate) nodes: u64,
    /// Nodes lost directly before it.
    pub(crate) lost_before: u64,
    pub(crate) reading: Reading<'a>,
}

/// Who is told what a survey comes upon.
pub(crate) trait Visitor {
    fn frame(&mut self, frame: &Surveyed<'_>) -> Result<(), RescueError>;
    fn spot(&mut self, spot: Spot);
    fn torn(&mut self, torn: TornTail);
}

/// Whether what stands behind a torn tail is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// No: it was never acknowledged, and opening the log for writing cuts it.
    Cut,
    /// Yes: the frames in it that are whole.
    Searched,
}

/// Goes through all of `source`.
pub(crate) fn survey(
    media: &dyn Media,
    source: &Source,
    tail: Tail,
    progress: &dyn Progress,
    visitor: &mut dyn Visitor,
) -> Result<(), RescueError> {
    source.spots.iter().for_each(|spot| visitor.spot(spot.clone()));
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
        // What is compressed was sealed, even where those behind it are gone.
        let is_last = index as u64 + 1 == total && opened.as_ref().is_ok_and(|open| !open.is_squeezed());
        // A file that the disk does not give back costs what is in it and nothing else.
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
    /// Where its last frame ends.
    end: u32,
    /// Where it says that it ends, if it was rewritten; what the next one says is out of date then.
    says: Option<u32>,
}

struct Survey<'s> {
    source: &'s Source,
    visitor: &'s mut dyn Visitor,
    tail: Tail,
    next_lsn: u64,
    /// Whether a spot stands between the last frame and what comes now.
    gap: bool,
    /// How many nodes each conversation has so far.
    nodes: HashMap<u64, u64>,
    /// How many forks of forks each fork is.
    depths: HashMap<u64, u32>,
    names: HashSet<ConversationId>,
    /// Nodes lost so far, of all conversations.
    lost: u64,
}

impl Survey<'_> {
    fn note(&mut self, path: &Path, offset: u64, bytes: u64, why: String, conversation: Option<u64>, hides: bool) {
        self.visitor.spot(Spot { path: path.to_owned(), offset, bytes, why, conversation, node: None, hides });
        self.gap = true;
    }

    /// Notes the segments from `expected` on that are missing before `found`.
    fn missing(&mut self, expected: u32, found: u32, log: &Path) {
        let Some(last) = found.checked_sub(1).filter(|last| *last >= expected) else { return };
        let path = log.join(segment_name(expected));
        let why = match last - expected {
            0 => "the segment is missing".to_owned(),
            more => format!("the segment is missing, and {more} behind it up to {}", segment_name(last)),
        };
        self.note(&path, 0, 0, why, None, true);
    }

    /// Checks what the segment says of itself and of the one before; gives where it says that it ends.
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

    /// Goes through the frames of a segment, and says where they end.
    fn frames(&mut self, bytes: &[u8], segment: &SourceSegment, is_last: bool) -> Result<u32, RescueError> {
        let place = |offset| Place { store: self.source.id, segment: segment.number, offset };
        let pieces = || Pieces::new(bytes, place(0), is_last);
        // What a good frame names as durable was on disk once; above that the last segment may be torn.
        let durable = if is_last { pieces().map(|piece| piece.durable()).max() } else { None };
        let known = self.source.durable.filter(|known| is_last && known.segment == segment.number);
        let header = SegmentHeader::parse(bytes);
        // One that was rewritten since its name was read is sealed: what was known was of what it was before.
        let is_rewritten = header.is_ok_and(|header| header.end.is_some());
        let known = known.filter(|_| !is_rewritten).map_or(0, |known| known.offset);
        // Nothing is a tail where the header does not tell whose bytes these are.
        let is_ours = |header: SegmentHeader| header.store == self.source.id && header.number == segment.number;
        let nobodys = if header.is_ok_and(is_ours) { 0 } else { used(bytes) };
        let durable = durable.unwrap_or(0).max(known).max(u32::try_from(nobodys).unwrap_or(u32::MAX));
        let mut torn = false;
        let mut end = SEGMENT_HEADER;
        for piece in pieces() {
            end = piece.end();
            if !piece.is_whole() && is_last && !torn && durable <= piece.offset() {
                torn = true;
                let offset = u64::from(piece.offset());
                let bytes = (used(bytes) as u64).saturating_sub(offset);
                self.visitor.torn(TornTail { path: segment.path.clone(), offset, bytes });
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

    fn piece(&mut self, segment: &SourceSegment, piece: &Piece<'_>) -> Result<(), RescueError> {
        let (offset, bytes) = (u64::from(piece.offset()), u64::from(piece.end() - piece.offset()));
        match piece {
            Piece::Hole { why, conversation, .. } => {
                self.note(&segment.path, offset, bytes, (*why).to_owned(), *conversation, true);
                Ok(())
            }
            // It stands for frames of which nothing is left, and has nothing to be read.
            Piece::Frame { header, .. } if header.kind == FrameKind::Vacated => {
                if let Err(why) = self.check_place(&segment.path, offset, header) {
                    self.note(&segment.path, offset, bytes, why.to_owned(), None, false);
                }
                Ok(())
            }
            Piece::Frame { header, payload, broken, .. } => {
                let reading = Reading::new(header, payload, *broken);
                let Err(why) = self.check_place(&segment.path, offset, header) else {
                    return self.take_in(segment, offset, bytes, header, reading);
                };
                self.note(&segment.path, offset, bytes, why.to_owned(), Some(header.conversation), false);
                Ok(())
            }
        }
    }

    /// Whether a frame may stand where it stands.
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

    fn take_in(
        &mut self,
        segment: &SourceSegment,
        offset: u64,
        bytes: u64,
        header: &FrameHeader,
        reading: Reading<'_>,
    ) -> Result<(), RescueError> {
        let conversation = header.conversation;
        let known = self.nodes.get(&conversation).copied();
        let opened = reading.opened.clone();
        let nodes = known.unwrap_or(0);
        let lost_before = header.nodes_before.saturating_sub(nodes);
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
            Some(_) if header.nodes_before > 0 => Some("the first frame of a conversation counts nodes before it"),
            _ if header.nodes_before < nodes => Some("the frame repeats nodes that are there already"),
            _ if depth > MOST_DEPTH => Some("it is a fork of more forks than can follow each other"),
            _ if lost > MOST_LOST => Some("it tells of more lost nodes than a log can lose"),
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
        let before = past.map_or(header.nodes_before, |past| past.nodes.saturating_add(lost_past));
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
            self.visitor.spot(Spot {
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

/// The nodes from `first` on, `count` many; `None` when there is none.
pub(crate) fn run(first: u64, count: u64) -> Option<NodeRange> {
    let last = first.checked_add(count)?.checked_sub(1)?;
    NodeRange::new(NodeId::new(first)?, NodeId::new(last)?)
}
