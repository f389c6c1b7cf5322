//! Records as bytes: versioned wire types through bincode, converted by hand.
//!
//! Only this module uses bincode.

mod blocks;
mod cursor;
mod disabled;
mod erased;
mod event;
mod items;
mod lists;
mod message;
mod view;
mod wire;

use memory_core::{ConversationId, ErasureId, OwnerId};

pub(crate) use blocks::check_depth;
pub(crate) use erased::{ErasedMessage, encode_erased_note, encode_erased_summary};
pub(crate) use event::{EventRecord, encode_event};
pub(crate) use message::{BLANK, MessageRecord, StoredMessage};
pub(crate) use view::encode_view;
pub(crate) use wire::CodecError;
use wire::{VERSION, encode, kind, whole};

use super::frame::RECORD_HEADER;
use crate::log::keys::SEALED;

/// The content of a record, borrowed from its bytes.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// A conversation begins; the first record of its first frame.
    Opened(Opening),
    /// The next node.
    Message(MessageRecord<'a>),
    /// The next node, whose message was erased.
    ErasedMessage(ErasedMessage),
    /// The next nodes, this many, were lost before the store was salvaged.
    Lost(u64),
    /// Any other record.
    Event(EventRecord<'a>),
}

/// Beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) name: ConversationId,
    /// The owner, if any.
    pub(crate) owner: Option<OwnerId>,
    /// Past that is shared with the parent; `None` without a parent.
    pub(crate) past: Option<Past>,
}

/// Past that a fork shares with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    /// The parent's number.
    pub(crate) parent: u64,
    /// Number of shared nodes; at least one.
    pub(crate) nodes: u64,
    /// Number of the parent's last summary at the fork; the fork's own summaries have higher numbers.
    pub(crate) summaries: u32,
    /// Number of the last common view.
    pub(crate) views: u32,
}

/// The fields of [`Past`] in a record.
type WirePast = (u64, u64, u32, u32);

/// The whole record, including the header, that opens a conversation or a fork.
///
/// Name and owner are one record: no crash and no damage leaves a conversation without its owner.
pub(crate) fn encode_opened(
    name: &ConversationId,
    owner: Option<&OwnerId>,
    past: Option<Past>,
) -> Result<Vec<u8>, CodecError> {
    let past: Option<WirePast> = past.map(|Past { parent, nodes, summaries, views }| (parent, nodes, summaries, views));
    match (owner, past) {
        (None, None) => encode(kind::OPENED, &name.as_str()),
        (None, Some((parent, nodes, summaries, views))) => {
            encode(kind::FORKED, &(name.as_str(), parent, nodes, summaries, views))
        }
        (Some(owner), past) => encode(kind::OWNED, &(name.as_str(), owner.as_str(), past)),
    }
}

/// The whole record, including the header, that stands for `count` lost nodes.
pub(crate) fn encode_lost(count: u64) -> Result<Vec<u8>, CodecError> {
    encode(kind::LOST, &count)
}

/// True if a record's body is that of a message, even one that cannot be decoded or decrypted.
pub(crate) fn is_message(body: &[u8]) -> bool {
    matches!(body.first().map(|kind| kind & !SEALED), Some(kind::MESSAGE | kind::ERASED_MESSAGE))
}

/// True if a record of this body can be erased on its own: a message, a summary or a note.
pub(crate) fn can_be_erased(body: &[u8]) -> bool {
    matches!(body.first(), Some(&(kind::MESSAGE | kind::SUMMARY | kind::NOTE)))
}

/// Number of nodes that a record with this body adds to its conversation.
pub(crate) fn nodes_of(body: &[u8]) -> u64 {
    match body.first() {
        Some(&(kind::MESSAGE | kind::ERASED_MESSAGE)) => 1,
        Some(&kind::LOST) => body.get(2..).and_then(|value| whole(value).ok()).unwrap_or(0),
        _ => 0,
    }
}

/// Body that replaces a record once it is erased; `None` for a record that is not erased on its own. The key of a
/// message is hashed with the store's id as salt.
pub(crate) fn erased_form(body: &[u8], store: [u8; 16]) -> Option<Vec<u8>> {
    if !can_be_erased(body) {
        return None;
    }
    let mut record = match decode(body).ok()? {
        Record::Message(message) => message.erased_record(ErasureId::from_bytes(store)).ok()?,
        Record::Event(EventRecord::Summary(summary)) => encode_erased_summary(&summary).ok()?,
        Record::Event(EventRecord::Note(note)) => encode_erased_note(note.id).ok()?,
        _ => return None,
    };
    record.drain(..RECORD_HEADER);
    Some(record)
}

/// Reads the body of a message, the most frequent record; use [`decode`] for any other.
#[inline]
pub(crate) fn decode_message(body: &[u8]) -> Option<Result<MessageRecord<'_>, CodecError>> {
    match body.split_first_chunk::<2>() {
        Some(([kind::MESSAGE, VERSION], value)) => Some(MessageRecord::decode(value)),
        _ => None,
    }
}

/// The kind and version of a valid record that this version cannot read: a newer version wrote it.
pub(crate) fn newer(body: &[u8]) -> Option<(u8, u8)> {
    let (&[kind, version], _) = body.split_first_chunk::<2>()?;
    (version > kind::newest(kind) || !kind::KNOWN.contains(&kind)).then_some((kind, version))
}

/// Reads a record's body.
pub(crate) fn decode(body: &[u8]) -> Result<Record<'_>, CodecError> {
    let ([number, version], value) = body.split_first_chunk::<2>().ok_or("a record is cut short")?;
    if !(VERSION..=kind::newest(*number)).contains(version) {
        return Err(CodecError(format!("a record of kind {number} has unknown version {version}")));
    }
    match *number {
        kind::OPENED => {
            let name = named(whole(value)?)?;
            Ok(Record::Opened(Opening { name, owner: None, past: None }))
        }
        kind::FORKED => {
            let (name, parent, nodes, summaries, views) = whole::<(&str, u64, u64, u32, u32)>(value)?;
            let past = Some(shared((parent, nodes, summaries, views))?);
            Ok(Record::Opened(Opening { name: named(name)?, owner: None, past }))
        }
        kind::OWNED => {
            let (name, owner, past) = whole::<(&str, &str, Option<WirePast>)>(value)?;
            let owner = OwnerId::new(owner).map_err(|error| CodecError(error.to_string()))?;
            let past = past.map(shared).transpose()?;
            Ok(Record::Opened(Opening { name: named(name)?, owner: Some(owner), past }))
        }
        kind::MESSAGE => MessageRecord::decode(value).map(Record::Message),
        kind::ERASED_MESSAGE => ErasedMessage::decode(value).map(Record::ErasedMessage),
        kind::LOST => whole(value).map(Record::Lost),
        other => event::decode([other, *version], value).map(Record::Event),
    }
}

fn shared((parent, nodes, summaries, views): WirePast) -> Result<Past, CodecError> {
    if nodes == 0 {
        return Err("a fork shares no node with its parent".into());
    }
    Ok(Past { parent, nodes, summaries, views })
}

fn named(name: &str) -> Result<ConversationId, CodecError> {
    ConversationId::new(name).map_err(|error| CodecError(error.to_string()))
}

#[cfg(test)]
mod tests;
