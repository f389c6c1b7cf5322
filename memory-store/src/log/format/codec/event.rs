//! The wire types of events.

use bincode::{BorrowDecode, Encode};
use memory_core::{
    Disabling, Erasure, Hash, Level, NodeId, NodeRange, NoteId, Summary, SummaryDraft, SummaryId, SummaryMetadata,
    Timestamp, WrittenBy,
    port::{Event, Note, NoteChange},
    view::View,
};

use super::{
    disabled::{decode_disabling, encode_disabling},
    erased::{decode_erased_event, decode_erasure, encode_erasure},
    items::{Items, bounded, node_id},
    view::decode_view,
    wire::{CodecError, encode, kind, whole},
};

const HAS_DECISION: u8 = 1;
const HAS_CODE: u8 = 2;
const FOR_VIEW: u8 = 4;

/// An event of a conversation.
#[derive(Debug, PartialEq)]
pub(crate) enum EventRecord<'a> {
    Summary(Box<Summary>),
    Importance {
        node: NodeId,
        importance: f32,
    },
    Pin {
        node: NodeId,
        pinned: bool,
    },
    Title(&'a str),
    Tags(Vec<&'a str>),
    View(Box<View>),
    Note(Box<Note>),
    Erasure(Box<Erasure>),
    Disabling(Box<Disabling>),
    /// An erased summary, whose number and span are left.
    ErasedSummary {
        id: SummaryId,
        level: Level,
        span: NodeRange,
    },
    /// An erased note, whose number is left.
    ErasedNote(NoteId),
}

#[derive(Encode, BorrowDecode)]
struct WireSummary<'a> {
    id: u64,
    level: u8,
    first: u64,
    last: u64,
    children: Items<u64>,
    text: &'a str,
    tokens: u32,
    importance: f32,
    topics: Items<&'a str>,
    flags: u8,
    line_count: u64,
    strategy: &'a str,
    version: &'a str,
    input_hash: [u8; 32],
}

#[derive(Encode, BorrowDecode)]
struct WireImportance<'a> {
    node: u64,
    importance: f32,
    strategy: &'a str,
    version: &'a str,
}

#[derive(Encode, BorrowDecode)]
struct WirePin {
    node: u64,
    pinned: bool,
}

#[derive(Encode, BorrowDecode)]
struct WireNote<'a> {
    id: u64,
    at: i64,
    change: WireChange<'a>,
    sources: Items<(u64, u64)>,
}

#[derive(Encode, BorrowDecode)]
enum WireChange<'a> {
    Write(&'a str, &'a str),
    Append(&'a str, &'a str),
    Remove(&'a str),
    Rename(&'a str, &'a str),
}

/// The whole record, header included, of an event that is not a view; `summary` is the number that a summary gets.
pub(crate) fn encode_event(event: &Event, summary: SummaryId) -> Result<Vec<u8>, CodecError> {
    match event {
        Event::Summary(draft) => encode_summary(draft, summary),
        Event::Importance { node, importance, scored_by: WrittenBy { strategy, version, .. } } => {
            encode(kind::IMPORTANCE, &WireImportance { node: node.get(), importance: *importance, strategy, version })
        }
        Event::Pin { node, pinned } => encode(kind::PIN, &WirePin { node: node.get(), pinned: *pinned }),
        Event::Title(title) => encode(kind::TITLE, title),
        Event::Tags(tags) => {
            bounded(tags.len())?;
            encode(kind::TAGS, tags)
        }
        Event::Note(note) => encode_note(note),
        Event::Disabled(change) => encode_disabling(change),
        Event::Erased(erasure) => encode_erasure(erasure),
        _ => Err("this version of the log cannot keep such an event".into()),
    }
}

fn encode_summary(draft: &SummaryDraft, id: SummaryId) -> Result<Vec<u8>, CodecError> {
    let SummaryDraft { level, span, children, text, tokens, metadata, written_by, input_hash, for_view, .. } = draft;
    bounded(children.len().max(metadata.topics.len()))?;
    let wire = WireSummary {
        id: id.get(),
        level: level.number(),
        first: span.first().get(),
        last: span.last().get(),
        children: Items(children.iter().map(|child| child.get()).collect()),
        text,
        tokens: *tokens,
        importance: metadata.importance,
        topics: Items(metadata.topics.iter().map(String::as_str).collect()),
        flags: u8::from(metadata.has_decision) * HAS_DECISION
            + u8::from(metadata.has_code) * HAS_CODE
            + u8::from(*for_view) * FOR_VIEW,
        line_count: metadata.line_count,
        strategy: &written_by.strategy,
        version: &written_by.version,
        input_hash: *input_hash.as_bytes(),
    };
    encode(kind::SUMMARY, &wire)
}

fn encode_note(note: &Note) -> Result<Vec<u8>, CodecError> {
    let Note { id, at, change, sources, .. } = note;
    bounded(sources.len())?;
    let change = match change {
        NoteChange::Write { name, text } => WireChange::Write(name, text),
        NoteChange::Append { name, text } => WireChange::Append(name, text),
        NoteChange::Remove { name } => WireChange::Remove(name),
        NoteChange::Rename { from, to } => WireChange::Rename(from, to),
    };
    let sources = Items(sources.iter().map(|run| (run.first().get(), run.last().get())).collect());
    encode(kind::NOTE, &WireNote { id: id.get(), at: at.as_millis(), change, sources })
}

pub(super) fn decode([number, version]: [u8; 2], value: &[u8]) -> Result<EventRecord<'_>, CodecError> {
    match number {
        kind::SUMMARY => whole::<WireSummary<'_>>(value)?.into_summary().map(Box::new).map(EventRecord::Summary),
        kind::IMPORTANCE => {
            let WireImportance { node, importance, .. } = whole(value)?;
            Ok(EventRecord::Importance { node: node_id(node)?, importance })
        }
        kind::PIN => {
            let WirePin { node, pinned } = whole(value)?;
            Ok(EventRecord::Pin { node: node_id(node)?, pinned })
        }
        kind::VIEW => decode_view(version, value).map(Box::new).map(EventRecord::View),
        kind::NOTE => whole::<WireNote<'_>>(value)?.into_note().map(Box::new).map(EventRecord::Note),
        kind::DISABLED => decode_disabling(value).map(Box::new).map(EventRecord::Disabling),
        kind::ERASED => decode_erasure(value).map(Box::new).map(EventRecord::Erasure),
        kind::ERASED_EVENT => decode_erased_event(value),
        kind::TITLE => whole(value).map(EventRecord::Title),
        kind::TAGS => whole(value).map(|Items(tags)| EventRecord::Tags(tags)),
        unknown => Err(CodecError(format!("a record has the unknown kind {unknown}"))),
    }
}

impl WireSummary<'_> {
    fn into_summary(self) -> Result<Summary, CodecError> {
        let id = SummaryId::new(self.id).ok_or("a summary has number 0")?;
        let level = Level::from_number(self.level).ok_or("a summary has an unknown level")?;
        let span = NodeRange::new(node_id(self.first)?, node_id(self.last)?).ok_or("a summary's span is reversed")?;
        let children: Option<_> = self.children.0.into_iter().map(SummaryId::new).collect();
        let metadata = SummaryMetadata::default()
            .importance(self.importance)
            .topics(self.topics.0.into_iter().map(str::to_owned).collect())
            .has_decision(self.flags & HAS_DECISION != 0)
            .has_code(self.flags & HAS_CODE != 0)
            .line_count(self.line_count);
        let body = SummaryDraft::new(
            level,
            span,
            self.text,
            self.tokens,
            WrittenBy::new(self.strategy, self.version),
            Hash::from_bytes(self.input_hash),
        )
        .children(children.ok_or("a summary has child number 0")?)
        .metadata(metadata)
        .for_view(self.flags & FOR_VIEW != 0);
        Ok(Summary::new(id, body))
    }
}

impl WireNote<'_> {
    fn into_note(self) -> Result<Note, CodecError> {
        let id = NoteId::new(self.id).ok_or("a note has number 0")?;
        let change = match self.change {
            WireChange::Write(name, text) => NoteChange::Write { name: name.into(), text: text.into() },
            WireChange::Append(name, text) => NoteChange::Append { name: name.into(), text: text.into() },
            WireChange::Remove(name) => NoteChange::Remove { name: name.into() },
            WireChange::Rename(from, to) => NoteChange::Rename { from: from.into(), to: to.into() },
        };
        let run = |(first, last)| {
            NodeRange::new(node_id(first)?, node_id(last)?).ok_or_else(|| "a source of a note is reversed".into())
        };
        let sources = self.sources.0.into_iter().map(run).collect::<Result<_, CodecError>>()?;
        Ok(Note::new(id, Timestamp::from_millis(self.at), change).sources(sources))
    }
}
