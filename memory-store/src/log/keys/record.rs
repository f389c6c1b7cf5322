//! Records sealed one by one.

use std::{borrow::Cow, ops::Range};

use memory_files::seal::{NONCE, SealKey, TAG, random};

use super::{ConversationKey, Grave, Inner, Keys, Slots};
use crate::{
    log::format::{
        codec,
        frame::{FrameHeader, Payload, RECORD_HEADER, finish_sealed, records},
    },
    wire::In,
};

/// Bit in the kind of a sealed record.
pub(crate) const SEALED: u8 = 0x80;
/// Bytes of [`Placed`]: kind, version, epoch of the key, slot of the salt, conversation, node of a message.
const PLACED: usize = 1 + 1 + 4 + 4 + 8 + 8;
const SALT: usize = 16;
const MARK: usize = 8;
const RECORD_KEY: &[u8] = b"memory 2026 record";
/// Parts of a record, each sealed on its own.
const WHOLE: u8 = 0;
const ERASED: u8 = 1;
/// Most bytes that sealing adds to a record. What stays of an erased one is shorter than the key of a message.
pub(crate) const MOST_ADDED: usize = 256;

/// True if a record's body is sealed.
pub(crate) fn is_sealed(body: &[u8]) -> bool {
    body.first().is_some_and(|kind| kind & SEALED != 0)
}

/// Epoch of the key of a record; `None` if it is not sealed.
pub(crate) fn epoch_of(body: &[u8]) -> Option<u32> {
    is_sealed(body).then(|| body.first_chunk().and_then(Placed::read).map_or(0, |placed| placed.epoch))
}

/// Slot of the salt of a sealed record; 0 if it has none.
pub(crate) fn slot_of(body: &[u8]) -> u32 {
    body.first_chunk().and_then(Placed::read).filter(|_| is_sealed(body)).map_or(0, |placed| placed.slot)
}

/// A record of a frame, opened.
#[derive(Debug)]
pub(crate) struct OpenRecord<'p> {
    /// Place in the frame.
    pub(crate) range: Range<usize>,
    pub(crate) body: Cow<'p, [u8]>,
    /// Slot of its salt, if it is sealed with one.
    pub(crate) slot: Option<u32>,
    /// True if the salt was overwritten: the body is that of an erased record.
    pub(crate) is_shredded: bool,
}

/// Result of opening a record, which the caller compares with the record's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    slot: Option<u32>,
    is_shredded: bool,
    /// Node of a message; 0 for any other record.
    pub(crate) node: u64,
    conversation: u64,
}

/// Key and salt with which a record is sealed.
pub(crate) struct Sealing {
    pub(crate) epoch: u32,
    pub(crate) conversation: u64,
    /// Slot of its salt, if it has one already.
    pub(crate) slot: Option<u32>,
}

/// The records of a frame, sealed.
pub(crate) struct SealedFrame {
    pub(crate) payload: Payload,
    /// Offset of each record in the frame before, and now.
    pub(crate) moved: Vec<(usize, usize)>,
}

impl SealedFrame {
    /// The new offset of the record at `before`.
    pub(crate) fn offset(&self, before: usize) -> usize {
        let found = self.moved.binary_search_by_key(&before, |(before, _)| *before);
        found.ok().and_then(|at| self.moved.get(at)).map_or(before, |(_, now)| *now)
    }
}

/// Plain fields in front of the sealed bytes, authenticated with them.
#[derive(Clone, Copy)]
struct Placed {
    kind: u8,
    version: u8,
    epoch: u32,
    slot: u32,
    conversation: u64,
    node: u64,
}

impl Placed {
    fn bytes(&self) -> [u8; PLACED] {
        let mut out = [0; PLACED];
        let fields = [self.kind | SEALED, self.version].into_iter();
        let fields = fields.chain(self.epoch.to_le_bytes()).chain(self.slot.to_le_bytes());
        let fields = fields.chain(self.conversation.to_le_bytes()).chain(self.node.to_le_bytes());
        out.iter_mut().zip(fields).for_each(|(out, byte)| *out = byte);
        out
    }

    fn read(fields: &[u8; PLACED]) -> Option<Self> {
        let mut fields = In(fields);
        Some(Self {
            kind: fields.array::<1>()?[0] & !SEALED,
            version: fields.array::<1>()?[0],
            epoch: u32::from_le_bytes(fields.array()?),
            slot: u32::from_le_bytes(fields.array()?),
            conversation: u64::from_le_bytes(fields.array()?),
            node: u64::from_le_bytes(fields.array()?),
        })
    }
}

const CUT_SHORT: &str = "an encrypted record is cut short";
const NO_KEY: &str = "it is encrypted, and the key is not there";
const CHANGED: &str = "an encrypted record was changed or moved, or its key is another";

impl ConversationKey {
    fn mark(&self, slot: u32) -> [u8; MARK] {
        let mark = self.rest.derive(&[b"memory 2026 erased", &slot.to_le_bytes()]);
        mark.bytes().first_chunk().copied().unwrap_or([1; MARK])
    }
}

impl Keys {
    /// Number of records that get a salt.
    pub(crate) fn salted(payload: &[u8]) -> usize {
        records(payload).flatten().filter(|(_, body)| codec::can_be_erased(body)).count()
    }

    /// Seals the plain records of a frame.
    pub(crate) fn seal(
        &self,
        header: &FrameHeader,
        payload: &[u8],
        slots: &mut Slots,
    ) -> Result<SealedFrame, &'static str> {
        let mut sealed = SealedFrame { payload: Payload::with_capacity(2 * payload.len()), moved: Vec::new() };
        let mut node = header.nodes_before;
        for record in records(payload) {
            let (range, body) = record?;
            let at = sealed.payload.frame_bytes();
            let one = Sealing { epoch: header.key_epoch, conversation: header.conversation, slot: None };
            sealed.payload.push_with(|out| self.seal_record(&one, body, &mut node, slots, out))?;
            sealed.moved.push((range.start, at));
        }
        Ok(sealed)
    }

    /// Appends a record with this body, sealed. `node` counts the nodes before the record, and then also its own.
    pub(crate) fn seal_record(
        &self,
        Sealing { epoch, conversation, slot }: &Sealing,
        body: &[u8],
        node: &mut u64,
        slots: &mut Slots,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let inner = self.0.as_ref().ok_or(NO_KEY)?;
        let keys = inner.conversation(*epoch, *conversation).ok_or(NO_KEY)?;
        let ([kind, version], value) = body.split_first_chunk::<2>().ok_or(CUT_SHORT)?;
        let nodes = codec::nodes_of(body);
        *node = node.saturating_add(nodes);
        let erased = codec::erased_form(body, inner.store);
        let (slot, salt) = match (&erased, slot) {
            (None, _) => (0, [0; SALT]),
            (Some(_), Some(slot)) => (*slot, inner.salt(*slot)?.0),
            (Some(_), None) => slots.take().ok_or("no salt is left for a record")?,
        };
        let placed = Placed {
            kind: *kind,
            version: *version,
            epoch: *epoch,
            slot,
            conversation: *conversation,
            node: if nodes == 1 { *node } else { 0 },
        };
        let fields = placed.bytes();
        let nonce = random::<NONCE>().map_err(|_| "the system provides no random numbers")?;
        let start = out.len();
        out.extend_from_slice(&[0; RECORD_HEADER]);
        out.extend_from_slice(&fields);
        out.extend_from_slice(&nonce);
        // The two parts share a nonce, since they have different keys.
        if let Some(erased) = erased {
            let length = u16::try_from(erased.len()).map_err(|_| "what stays of an erased record is too long")?;
            out.extend_from_slice(&length.to_le_bytes());
            append(inner, &keys.rest, &nonce, (&fields, ERASED), &erased, out);
            let key = keys.records.derive(&[RECORD_KEY, &salt]);
            append(inner, &key, &nonce, (&fields, WHOLE), value, out);
        } else {
            append(inner, &keys.rest, &nonce, (&fields, WHOLE), value, out);
        }
        out.get_mut(start..).and_then(finish_sealed).ok_or("a record is too long to be encrypted")
    }

    /// Bytes that overwrite the salt of a record with this body, if it is sealed with one.
    pub(crate) fn grave(&self, body: &[u8]) -> Option<Grave> {
        let Placed { epoch, slot, conversation, .. } = Placed::read(body.first_chunk()?).filter(|_| is_sealed(body))?;
        let keys = self.0.as_ref()?.conversation(epoch, conversation)?;
        (slot > 0).then(|| Grave { slot, mark: keys.mark(slot) })
    }

    /// Bytes that overwrite the salt of a record of a frame.
    pub(crate) fn grave_in(&self, header: &FrameHeader, record: &OpenRecord<'_>) -> Option<Grave> {
        let keys = self.0.as_ref()?.conversation(header.key_epoch, header.conversation)?;
        record.slot.map(|slot| Grave { slot, mark: keys.mark(slot) })
    }

    /// The records of a frame, opened, or as they are if they are not sealed.
    pub(crate) fn records<'p>(
        &'p self,
        header: &'p FrameHeader,
        payload: &'p [u8],
    ) -> impl Iterator<Item = Result<OpenRecord<'p>, &'static str>> {
        let mut node = header.nodes_before;
        records(payload).map(move |record| {
            let (range, body) = record?;
            if !is_sealed(body) {
                return Ok(OpenRecord { range, body: Cow::Borrowed(body), slot: None, is_shredded: false });
            }
            let mut out = Vec::new();
            let opened = self.open_record(body, &mut out)?;
            node = node.saturating_add(codec::nodes_of(&out));
            if opened.conversation != header.conversation || opened.node > 0 && opened.node != node {
                return Err("an encrypted record of another place stands here");
            }
            let Opened { slot, is_shredded, .. } = opened;
            Ok(OpenRecord { range, body: Cow::Owned(out), slot, is_shredded })
        })
    }

    /// Opens the body of a sealed record, which replaces the contents of `out`.
    pub(crate) fn open_record(&self, body: &[u8], out: &mut Vec<u8>) -> Result<Opened, &'static str> {
        let inner = self.0.as_ref().ok_or(NO_KEY)?;
        let (fields, rest) = body.split_first_chunk::<PLACED>().ok_or(CUT_SHORT)?;
        let Placed { kind, version, epoch, slot, conversation, node } = Placed::read(fields).ok_or(CUT_SHORT)?;
        // Another process may have begun to write with another key.
        let known = inner.conversation(epoch, conversation).or_else(|| {
            self.refresh().ok()?;
            inner.conversation(epoch, conversation)
        });
        let keys = known.ok_or(NO_KEY)?;
        let (nonce, mut rest) = rest.split_first_chunk::<NONCE>().ok_or(CUT_SHORT)?;
        let mut opened = Opened { slot: (slot > 0).then_some(slot), is_shredded: false, node, conversation };
        out.clear();
        if slot == 0 {
            out.extend_from_slice(&[kind, version]);
            open(inner, &keys.rest, nonce, (fields, WHOLE), rest, out)?;
            return Ok(opened);
        }
        let (length, behind) = rest.split_first_chunk::<2>().ok_or(CUT_SHORT)?;
        let erased;
        (erased, rest) = behind.split_at_checked(u16::from_le_bytes(*length) as usize + TAG).ok_or(CUT_SHORT)?;
        let (salt, mark) = inner.salt(slot)?;
        if mark != [0; MARK] && mark == keys.mark(slot) {
            opened.is_shredded = true;
            open(inner, &keys.rest, nonce, (fields, ERASED), erased, out)?;
            return Ok(opened);
        }
        let key = keys.records.derive(&[RECORD_KEY, &salt]);
        out.extend_from_slice(&[kind, version]);
        open(inner, &key, nonce, (fields, WHOLE), rest, out)?;
        Ok(opened)
    }
}

type Fields<'f> = (&'f [u8; PLACED], u8);

fn append(inner: &Inner, key: &SealKey, nonce: &[u8; NONCE], part: Fields<'_>, bytes: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(bytes);
    let tag = key.seal(nonce, &place(inner, part), out.get_mut(begin..).unwrap_or_default());
    out.extend_from_slice(&tag);
}

fn open(
    inner: &Inner,
    key: &SealKey,
    nonce: &[u8; NONCE],
    part: Fields<'_>,
    sealed: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let (bytes, tag) = sealed.split_last_chunk::<TAG>().ok_or(CUT_SHORT)?;
    let begin = out.len();
    out.extend_from_slice(bytes);
    let is_open = key.open(nonce, &place(inner, part), out.get_mut(begin..).unwrap_or_default(), tag);
    if is_open { Ok(()) } else { Err(CHANGED) }
}

/// Associated data of a sealed part: conversation, node and kind, and no offset, since a vacuum moves frames.
fn place(inner: &Inner, (fields, part): Fields<'_>) -> [u8; 16 + PLACED + 1] {
    let mut out = [part; 16 + PLACED + 1];
    out.iter_mut().zip(inner.store.iter().chain(fields)).for_each(|(out, byte)| *out = *byte);
    out
}
