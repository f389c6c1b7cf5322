//! The wire types of erasures, and of what stands in the place of erased records.

use bincode::{BorrowDecode, Encode};
use memory_core::{
    ErasedKey, ErasedLeaf, Erasure, ErasureId, Hash, Level, NodeDraft, NodeId, NodeOutline, NodeRange, NoteId, Role,
    Summary, SummaryId, Timestamp,
};

use super::{
    event::EventRecord,
    items::{Items, bounded, node_id},
    message::{role, role_number},
    wire::{CodecError, VERSION, encode, encode_onto, kind, whole},
};

#[derive(Encode, BorrowDecode)]
struct WireErasure<'a> {
    id: [u8; 16],
    at: i64,
    by: &'a str,
    is_whole: bool,
    nodes: Items<(u64, u64)>,
    notes: Items<(u64, u64)>,
}

#[derive(Encode, BorrowDecode)]
struct WireErasedMessage {
    leaf: [u8; 32],
    at: i64,
    role: u8,
    /// Salt and digest of the key.
    key: Option<([u8; 16], [u8; 16])>,
}

#[derive(Encode, BorrowDecode)]
enum WireErasedEvent {
    Summary { id: u64, level: u8, first: u64, last: u64 },
    Note { id: u64 },
}

/// Record of an erased message: its remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErasedMessage {
    pub(crate) role: Role,
    pub(crate) at: Timestamp,
    pub(crate) left: ErasedLeaf,
}

impl ErasedMessage {
    /// The draft of an imported message that was erased; `None` for any other.
    pub(crate) fn of(draft: &NodeDraft) -> Option<Self> {
        Some(Self { role: draft.message.role, at: draft.at, left: draft.erased? })
    }

    pub(crate) fn outline(&self) -> NodeOutline {
        NodeOutline::of(&memory_core::Node::erased(NodeId::FIRST, self.role, self.at))
    }

    /// Appends the whole record to `out`, including the header.
    pub(crate) fn encode_onto(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let key = self.left.key.map(|key| (*key.salt.as_bytes(), key.digest));
        let (leaf, at) = (*self.left.leaf.as_bytes(), self.at.as_millis());
        let wire = WireErasedMessage { leaf, at, role: role_number(self.role), key };
        encode_onto(out, [kind::ERASED_MESSAGE, VERSION], &wire)
    }

    pub(super) fn decode(value: &[u8]) -> Result<Self, CodecError> {
        let wire: WireErasedMessage = whole(value)?;
        let key = wire.key.map(|(salt, digest)| ErasedKey { salt: ErasureId::from_bytes(salt), digest });
        let left = ErasedLeaf { leaf: Hash::from_bytes(wire.leaf), key };
        Ok(Self { role: role(wire.role)?, at: Timestamp::from_millis(wire.at), left })
    }
}

/// The whole record, including the header, of an erasure.
pub(super) fn encode_erasure(erasure: &Erasure) -> Result<Vec<u8>, CodecError> {
    let Erasure { id, at, by, nodes, notes, is_whole, .. } = erasure;
    bounded(nodes.len().max(notes.len()))?;
    let nodes = Items(nodes.iter().map(|run| (run.first().get(), run.last().get())).collect());
    let notes = Items(notes.iter().map(|[first, last]| (first.get(), last.get())).collect());
    let (id, at) = (*id.as_bytes(), at.as_millis());
    encode(kind::ERASED, &WireErasure { id, at, by, is_whole: *is_whole, nodes, notes })
}

pub(super) fn decode_erasure(value: &[u8]) -> Result<Erasure, CodecError> {
    let wire: WireErasure<'_> = whole(value)?;
    let run = |(first, last)| {
        NodeRange::new(node_id(first)?, node_id(last)?).ok_or_else(|| "a run of erased nodes is reversed".into())
    };
    let nodes = wire.nodes.0.into_iter().map(run).collect::<Result<_, CodecError>>()?;
    let erasure = Erasure::new(ErasureId::from_bytes(wire.id), Timestamp::from_millis(wire.at), nodes);
    let run = |(first, last)| Some([NoteId::new(first)?, NoteId::new(last)?]);
    let notes: Option<_> = wire.notes.0.into_iter().map(run).collect();
    Ok(erasure.by(wire.by).is_whole(wire.is_whole).notes(notes.ok_or("an erased note has number 0")?))
}

/// The whole record that stands in the place of an erased summary, which keeps its number.
pub(crate) fn encode_erased_summary(summary: &Summary) -> Result<Vec<u8>, CodecError> {
    let (id, span) = (summary.id.get(), summary.body.span);
    let (level, first, last) = (summary.body.level.number(), span.first().get(), span.last().get());
    encode(kind::ERASED_EVENT, &WireErasedEvent::Summary { id, level, first, last })
}

/// The whole record that stands in the place of an erased note, which keeps its number.
pub(crate) fn encode_erased_note(id: NoteId) -> Result<Vec<u8>, CodecError> {
    encode(kind::ERASED_EVENT, &WireErasedEvent::Note { id: id.get() })
}

pub(super) fn decode_erased_event(value: &[u8]) -> Result<EventRecord<'_>, CodecError> {
    match whole(value)? {
        WireErasedEvent::Summary { id, level, first, last } => {
            let id = SummaryId::new(id).ok_or("a summary has number 0")?;
            let level = Level::from_number(level).ok_or("a summary has an unknown level")?;
            let span = NodeRange::new(node_id(first)?, node_id(last)?).ok_or("a summary's span is reversed")?;
            Ok(EventRecord::ErasedSummary { id, level, span })
        }
        WireErasedEvent::Note { id } => Ok(EventRecord::ErasedNote(NoteId::new(id).ok_or("a note has number 0")?)),
    }
}
