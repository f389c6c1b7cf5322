//! The wire types of what happens beside messages.

use bincode::{
    BorrowDecode, Encode,
    de::{BorrowDecoder, Decode},
    enc::Encoder,
    error::{DecodeError, EncodeError},
};
use memory_core::{
    Event, Hash, Level, NodeId, NodeRange, Summary, SummaryDraft, SummaryId, SummaryMetadata, View, WrittenBy,
};

use super::{CodecError, encode, kind, view::WireView, whole};

/// Most entries of a list in an event: children, topics, tags.
const MAX_ITEMS: usize = 1 << 16;
const HAS_DECISION: u8 = 1;
const HAS_CODE: u8 = 2;

/// What happened to a conversation.
#[derive(Debug, PartialEq)]
pub(crate) enum EventRecord<'a> {
    Summary(Box<Summary>),
    Importance { node: NodeId, importance: f32 },
    Pin { node: NodeId, pinned: bool },
    Title(&'a str),
    Tags(Vec<&'a str>),
    View(Box<View>),
}

/// A list of at most [`MAX_ITEMS`], for which no room is made before its items are there: what a few bytes say of its
/// length is not to be believed.
pub(super) struct Items<T>(pub(super) Vec<T>);

impl<T: Encode> Encode for Items<T> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.0.encode(encoder)
    }
}

impl<'de, C, T: BorrowDecode<'de, C>> BorrowDecode<'de, C> for Items<T> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let count = u64::decode(decoder)?;
        if count > MAX_ITEMS as u64 {
            return Err(DecodeError::Other("a list of an event has too many items"));
        }
        (0..count).map(|_| T::borrow_decode(decoder)).collect::<Result<_, _>>().map(Self)
    }
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

/// The whole record, header included, of an event that is no view; `summary` is the number that a summary gets.
pub(crate) fn encode_event(event: &Event, summary: SummaryId) -> Result<Vec<u8>, CodecError> {
    match event {
        Event::Summary(draft) => encode_summary(draft, summary),
        Event::Importance { node, importance, scored_by: WrittenBy { strategy, version } } => {
            encode(kind::IMPORTANCE, &WireImportance { node: node.get(), importance: *importance, strategy, version })
        }
        Event::Pin { node, pinned } => encode(kind::PIN, &WirePin { node: node.get(), pinned: *pinned }),
        Event::Title(title) => encode(kind::TITLE, title),
        Event::Tags(tags) => {
            bounded(tags.len())?;
            encode(kind::TAGS, tags)
        }
        _ => Err("this version of the log cannot keep such an event".into()),
    }
}

fn encode_summary(draft: &SummaryDraft, id: SummaryId) -> Result<Vec<u8>, CodecError> {
    let SummaryDraft { level, span, children, text, tokens, metadata, written_by, input_hash } = draft;
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
        flags: u8::from(metadata.has_decision) * HAS_DECISION + u8::from(metadata.has_code) * HAS_CODE,
        line_count: metadata.line_count,
        strategy: &written_by.strategy,
        version: &written_by.version,
        input_hash: *input_hash.as_bytes(),
    };
    encode(kind::SUMMARY, &wire)
}

pub(super) fn bounded(items: usize) -> Result<(), CodecError> {
    if items <= MAX_ITEMS {
        Ok(())
    } else {
        Err(CodecError(format!("a list of an event has at most {MAX_ITEMS} items")))
    }
}

pub(super) fn decode(number: u8, value: &[u8]) -> Result<EventRecord<'_>, CodecError> {
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
        kind::VIEW => whole::<WireView<'_>>(value)?.into_view().map(Box::new).map(EventRecord::View),
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
        let metadata = SummaryMetadata {
            importance: self.importance,
            topics: self.topics.0.into_iter().map(str::to_owned).collect(),
            has_decision: self.flags & HAS_DECISION != 0,
            has_code: self.flags & HAS_CODE != 0,
            line_count: self.line_count,
        };
        let body = SummaryDraft {
            level,
            span,
            children: children.ok_or("a summary has child number 0")?,
            text: self.text.to_owned(),
            tokens: self.tokens,
            metadata,
            written_by: WrittenBy { strategy: self.strategy.to_owned(), version: self.version.to_owned() },
            input_hash: Hash::from_bytes(self.input_hash),
        };
        Ok(Summary { id, body })
    }
}

pub(super) fn node_id(position: u64) -> Result<NodeId, CodecError> {
    NodeId::new(position).ok_or_else(|| "a record names node 0".into())
}
