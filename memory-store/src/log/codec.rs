//! Records as bytes: versioned wire types through bincode, converted by hand.
//!
//! Nothing outside of this module knows bincode.

mod blocks;
mod cursor;
mod event;
mod lists;
mod message;
mod view;

use bincode::{
    BorrowDecode, Encode,
    config::{Configuration, Limit, LittleEndian, Varint},
    enc::write::Writer,
    error::{DecodeError, EncodeError},
};
use memory_core::ConversationId;

use super::frame::{MAX_RECORD, RECORD_HEADER, finish_record};
pub(crate) use blocks::check_depth;
pub(crate) use event::{EventRecord, encode_event};
pub(crate) use message::{BLANK, MessageRecord, StoredMessage};
pub(crate) use view::encode_view;

/// Bytes that decoding one record may claim, memory for its lists included. Without a limit a few corrupt
/// bytes ask for more memory than there is and end the process.
const LIMIT: usize = 2 * MAX_RECORD;

/// Little-endian, integers in 1 to 9 bytes.
const CONFIG: Config =
    bincode::config::standard().with_little_endian().with_variable_int_encoding().with_limit::<LIMIT>();

type Config = Configuration<LittleEndian, Varint, Limit<LIMIT>>;

/// Version of each record's wire type. A changed type gets the next number and keeps the old one readable.
const VERSION: u8 = 1;

/// The number of each kind of record. Reserved: 8 fact, 9 embedding model registered, 11 erased, 12 checkpoint marker.
mod kind {
    pub(super) const OPENED: u8 = 1;
    pub(super) const MESSAGE: u8 = 2;
    pub(super) const SUMMARY: u8 = 3;
    pub(super) const IMPORTANCE: u8 = 4;
    pub(super) const PIN: u8 = 5;
    pub(super) const TITLE: u8 = 6;
    pub(super) const TAGS: u8 = 7;
    pub(super) const VIEW: u8 = 10;
    pub(super) const LOST: u8 = 13;
    pub(super) const FORKED: u8 = 14;
}

/// What a record says, borrowed from its bytes.
#[derive(Debug)]
pub(crate) enum Record<'a> {
    /// A conversation begins; the first record of its first frame.
    Opened(Opening),
    /// The next node.
    Message(MessageRecord<'a>),
    /// The next nodes, this many, were lost before the store was salvaged.
    Lost(u64),
    /// Anything else.
    Event(EventRecord<'a>),
}

/// How a conversation begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) name: ConversationId,
    /// Where it was forked from, if it was.
    pub(crate) past: Option<Past>,
}

/// What a fork has of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    /// The parent's number.
    pub(crate) parent: u64,
    /// How many of its nodes; one at least.
    pub(crate) nodes: u64,
    /// The number of the parent's last summary at that moment: the fork's own have higher ones.
    pub(crate) summaries: u32,
    /// The number of the last view that both have in common.
    pub(crate) views: u32,
}

/// Why bytes with a right checksum say nothing that this version understands, or why a value has no bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CodecError(pub(crate) String);

impl From<&str> for CodecError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// The whole record, header included, that opens a conversation, one of its own or a fork.
pub(crate) fn encode_opened(name: &ConversationId, past: Option<Past>) -> Result<Vec<u8>, CodecError> {
    match past {
        None => encode(kind::OPENED, &name.as_str()),
        Some(Past { parent, nodes, summaries, views }) => {
            encode(kind::FORKED, &(name.as_str(), parent, nodes, summaries, views))
        }
    }
}

/// The whole record, header included, that stands for `count` lost nodes.
pub(crate) fn encode_lost(count: u64) -> Result<Vec<u8>, CodecError> {
    encode(kind::LOST, &count)
}

fn encode<T: Encode>(kind: u8, value: &T) -> Result<Vec<u8>, CodecError> {
    let mut record = Vec::new();
    encode_onto(&mut record, kind, value)?;
    Ok(record)
}

/// Appends a whole record to `out`. On failure `out` is as it was.
fn encode_onto<T: Encode>(out: &mut Vec<u8>, kind: u8, value: &T) -> Result<(), CodecError> {
    struct Onto<'a>(&'a mut Vec<u8>);

    impl Writer for Onto<'_> {
        fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }

    let start = out.len();
    out.extend_from_slice(&[0; RECORD_HEADER]);
    out.extend_from_slice(&[kind, VERSION]);
    let encoded = bincode::encode_into_writer(value, Onto(out), CONFIG);
    let length = out.len() - start;
    let finished = encoded.map_err(|error| CodecError(error.to_string())).and_then(|()| {
        out.get_mut(start..)
            .and_then(finish_record)
            .ok_or_else(|| CodecError(format!("it takes {length} bytes, and a record has at most {MAX_RECORD}")))
    });
    if finished.is_err() {
        out.truncate(start);
    }
    finished
}

/// Whether a record's body is that of a message, be it one that cannot be decoded.
pub(crate) fn is_message(body: &[u8]) -> bool {
    body.first() == Some(&kind::MESSAGE)
}

/// Reads a record's body where it is that of a message, which is what is read most; [`decode`] tells what another is.
#[inline]
pub(crate) fn decode_message(body: &[u8]) -> Option<Result<MessageRecord<'_>, CodecError>> {
    match body.split_first_chunk::<2>() {
        Some(([kind::MESSAGE, VERSION], value)) => Some(MessageRecord::decode(value)),
        _ => None,
    }
}

/// Reads a record's body.
pub(crate) fn decode(body: &[u8]) -> Result<Record<'_>, CodecError> {
    let ([number, version], value) = body.split_first_chunk::<2>().ok_or("a record is cut short")?;
    if *version != VERSION {
        return Err(CodecError(format!("a record of kind {number} has unknown version {version}")));
    }
    match *number {
        kind::OPENED => {
            let name = named(whole(value)?)?;
            Ok(Record::Opened(Opening { name, past: None }))
        }
        kind::FORKED => {
            let (name, parent, nodes, summaries, views) = whole::<(&str, u64, u64, u32, u32)>(value)?;
            if nodes == 0 {
                return Err("a fork has none of its parent's nodes".into());
            }
            let past = Some(Past { parent, nodes, summaries, views });
            Ok(Record::Opened(Opening { name: named(name)?, past }))
        }
        kind::MESSAGE => MessageRecord::decode(value).map(Record::Message),
        kind::LOST => whole(value).map(Record::Lost),
        other => event::decode(other, value).map(Record::Event),
    }
}

fn named(name: &str) -> Result<ConversationId, CodecError> {
    ConversationId::new(name).map_err(|error| CodecError(error.to_string()))
}

/// One value that takes all of `bytes`.
fn whole<'a, T: BorrowDecode<'a, ()>>(bytes: &'a [u8]) -> Result<T, CodecError> {
    match bincode::borrow_decode_from_slice(bytes, CONFIG) {
        Ok((value, read)) if read == bytes.len() => Ok(value),
        Ok(_) => Err(CodecError("a record has bytes behind its end".into())),
        Err(error) => Err(undecodable(error)),
    }
}

#[cold]
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn undecodable(error: DecodeError) -> CodecError {
    CodecError(format!("a record cannot be decoded: {error}"))
}

#[cfg(test)]
mod tests;
