//! The wire type of a message.

use bincode::{Encode, enc::Encoder, error::EncodeError};
#[cfg(test)]
use memory_core::proof::Salt;
use memory_core::{
    ErasedKey, ErasedLeaf, ErasureId, Hash, Message, MessageKey, Node, NodeDraft, NodeId, NodeOutline, Relation,
    RelationKind, Role, Timestamp, port::NodeProof, proof::LeafHasher,
};

use super::{
    blocks::{Block, blocks_of, encode_blocks, json, read_blocks},
    cursor::Cursor,
    erased::ErasedMessage,
    lists::{Lists, MAX_ITEMS},
    wire::{CodecError, VERSION, encode_onto, kind},
};

const KEEP_OUT_OF_SUMMARIES: u8 = 1;

/// A message in the log: its head, and its lists, which are decoded on demand.
#[derive(Debug)]
pub(crate) struct MessageRecord<'a> {
    head: Head<'a>,
    lists: Lists<'a>,
}

#[derive(Debug, Encode)]
struct Head<'a> {
    salt: &'a [u8; 16],
    leaf: &'a [u8; 32],
    at: i64,
    tokens: u32,
    line_count: u32,
    importance: f32,
    role: u8,
    flags: u8,
    relates_to: Option<(u64, u8)>,
    speaker: Option<&'a str>,
    key: Option<&'a str>,
}

impl<'a> Head<'a> {
    // Inlined for the reason that `Reader::message_within` gives.
    #[inline(always)]
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        Some(Self {
            salt: from.array_ref()?,
            leaf: from.array_ref()?,
            at: from.varint_i64()?,
            tokens: from.varint_u32()?,
            line_count: from.varint_u32()?,
            importance: from.f32()?,
            role: from.byte()?,
            flags: from.byte()?,
            relates_to: from.option(|from| Some((from.varint()?, from.byte()?)))?,
            speaker: from.option(Cursor::text)?,
            key: from.option(Cursor::text)?,
        })
    }
}

/// Name and JSON of an entry of the metadata.
fn entry<'a>(from: &mut Cursor<'a>) -> Option<(&'a str, &'a str)> {
    Some((from.text()?, from.text()?))
}

/// A decoded message whose number is not known yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredMessage {
    /// The draft without its salt, which is in the proof.
    pub(crate) draft: NodeDraft,
    pub(crate) line_count: u32,
    pub(crate) proof: NodeProof,
}

impl StoredMessage {
    /// Hashes a message for its place in the tree.
    #[cfg(test)]
    pub(crate) fn new(draft: NodeDraft, salt: Salt) -> Self {
        let leaf = LeafHasher::default().leaf(&salt, &draft.message, draft.at);
        Self::of(draft, NodeProof { salt, leaf })
    }

    /// A hashed message.
    pub(crate) fn of(draft: NodeDraft, proof: NodeProof) -> Self {
        Self { line_count: draft.message.line_count(), proof, draft }
    }

    /// The leaf of the present message, which equals the stored leaf unless something was changed.
    pub(crate) fn rehash(&self) -> Hash {
        LeafHasher::default().leaf(&self.proof.salt, &self.draft.message, self.draft.at)
    }

    /// The metadata for planning.
    pub(crate) fn outline(&self) -> NodeOutline {
        let NodeDraft { message, at, tokens, importance, .. } = &self.draft;
        let mut outline = NodeOutline::of_message(message, *at, self.line_count);
        outline.tokens = *tokens;
        outline.set_importance(*importance);
        outline
    }

    /// Appends the whole record to `out`, including the header. On failure `out` is unchanged.
    pub(crate) fn encode_onto(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let NodeDraft { message, topics, .. } = &self.draft;
        if blocks_of(&message.content).max(topics.len()).max(message.metadata.len()) > MAX_ITEMS {
            return Err(CodecError(format!("a message has at most {MAX_ITEMS} blocks, topics and metadata entries")));
        }
        encode_onto(out, [kind::MESSAGE, VERSION], self)
    }
}

impl Encode for StoredMessage {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        let NodeDraft { message, topics, .. } = &self.draft;
        Head::of(self).encode(encoder)?;
        topics.encode(encoder)?;
        (blocks_of(&message.content) as u64).encode(encoder)?;
        encode_blocks(&message.content, encoder)?;
        (message.metadata.len() as u64).encode(encoder)?;
        message.metadata.iter().try_for_each(|(name, value)| (name.as_str(), value.as_str()).encode(encoder))
    }
}

impl<'a> Head<'a> {
    fn of(stored: &'a StoredMessage) -> Self {
        let NodeDraft { message, at, tokens, importance, relates_to, .. } = &stored.draft;
        Self {
            salt: &stored.proof.salt,
            leaf: stored.proof.leaf.as_bytes(),
            at: at.as_millis(),
            tokens: *tokens,
            line_count: stored.line_count,
            importance: *importance,
            role: role_number(message.role),
            flags: if message.keep_out_of_summaries { KEEP_OUT_OF_SUMMARIES } else { 0 },
            relates_to: relates_to.map(|relation| (relation.to.get(), relation_number(relation.kind))),
            speaker: message.speaker.as_deref(),
            key: message.key.as_ref().map(MessageKey::as_str),
        }
    }
}

impl<'a> MessageRecord<'a> {
    /// Decodes the head of a record's value.
    // Inlined for the reason that `Reader::message_within` gives.
    #[inline(always)]
    pub(super) fn decode(value: &'a [u8]) -> Result<Self, CodecError> {
        let mut cursor = Cursor::new(value);
        let head = Head::read(&mut cursor).ok_or("the head of a message cannot be decoded")?;
        Ok(Self { head, lists: Lists::new(cursor) })
    }

    /// The caller's name for the message.
    pub(crate) fn key(&self) -> Option<&'a str> {
        self.head.key
    }

    /// Importance in 0..=1.
    pub(crate) fn importance(&self) -> f32 {
        self.head.importance
    }

    /// The metadata for planning, without building the message.
    pub(crate) fn outline(&self) -> Result<NodeOutline, CodecError> {
        let head = &self.head;
        let mut outline = NodeOutline::new(Timestamp::from_millis(head.at), role(head.role)?);
        outline.tokens = head.tokens;
        outline.line_count = u16::try_from(head.line_count).unwrap_or(u16::MAX);
        outline.keep_out_of_summaries = head.flags & KEEP_OUT_OF_SUMMARIES != 0;
        outline.set_importance(head.importance);
        let mut lists = self.lists;
        for _ in 0..lists.count()? {
            lists.item(Cursor::text)?;
        }
        let mut inside = 0u64;
        for _ in 0..lists.count()? {
            let on_top = inside == 0;
            inside = inside.saturating_sub(1);
            match lists.item(Block::read)? {
                Block::ToolUse { .. } if on_top => outline.calls = outline.calls.saturating_add(1),
                Block::ToolResult { children, .. } => {
                    outline.answers = outline.answers.saturating_add(u8::from(on_top));
                    inside = inside.saturating_add(u64::from(children));
                }
                Block::Text(_)
                | Block::ToolUse { .. }
                | Block::Image(_)
                | Block::Document { .. }
                | Block::Reasoning { .. }
                | Block::Unknown(_) => {}
            }
        }
        for _ in 0..lists.count()? {
            lists.item(entry)?;
        }
        lists.end()?;
        Ok(outline)
    }

    /// Remains of the message when it is erased, without its key.
    pub(crate) fn erased(&self) -> Result<ErasedMessage, CodecError> {
        let left = ErasedLeaf { leaf: self.proof().leaf, key: None };
        Ok(ErasedMessage { role: role(self.head.role)?, at: Timestamp::from_millis(self.head.at), left })
    }

    /// The whole record that is left of the message; this salt hashes its key.
    pub(crate) fn erased_record(&self, salt: ErasureId) -> Result<Vec<u8>, CodecError> {
        let key = self.key().and_then(|key| MessageKey::new(key).ok());
        let erased = self.erased()?;
        let left = ErasedLeaf { key: key.map(|key| ErasedKey::new(salt, &key)), ..erased.left };
        let mut record = Vec::new();
        ErasedMessage { left, ..erased }.encode_onto(&mut record)?;
        Ok(record)
    }

    /// Only salt and leaf.
    pub(crate) fn proof(&self) -> NodeProof {
        NodeProof { salt: *self.head.salt, leaf: Hash::from_bytes(*self.head.leaf) }
    }

    /// The message itself, with every part checked again.
    pub(crate) fn into_stored(self) -> Result<StoredMessage, CodecError> {
        let proof = self.proof();
        let (line_count, importance) = (self.head.line_count, self.head.importance);
        let mut node = BLANK;
        self.fill_in(&mut node)?;
        let Node { message, at, tokens, topics, relates_to, .. } = node;
        let draft = NodeDraft::new(message, at, tokens).importance(importance).topics(topics).relates_to(relates_to);
        Ok(StoredMessage { draft, line_count, proof })
    }

    /// Fills a [`BLANK`] node from the record: all but its number, importance and pin.
    #[inline]
    pub(crate) fn fill_in(self, node: &mut Node) -> Result<(), CodecError> {
        let Self { head, mut lists } = self;
        let Node { message, at, line_count, tokens, topics, relates_to, .. } = node;
        let Message { role: said_by, speaker, content, key, metadata, keep_out_of_summaries, .. } = message;
        let count = lists.count()?;
        if count > 0 {
            *topics = lists.texts(count)?;
        }
        read_blocks(&mut lists, content)?;
        for _ in 0..lists.count()? {
            let (name, value) = lists.item(entry)?;
            metadata.insert(name.to_owned(), json(value)?);
        }
        lists.end()?;
        if let Some(name) = head.key {
            *key = Some(MessageKey::new(name).map_err(|error| CodecError(error.to_string()))?);
        }
        *said_by = role(head.role)?;
        if let Some(name) = head.speaker {
            *speaker = Some(name.to_owned());
        }
        if let Some((to, kind)) = head.relates_to {
            *relates_to = Some(relation(to, kind)?);
        }
        *keep_out_of_summaries = head.flags & KEEP_OUT_OF_SUMMARIES != 0;
        *at = Timestamp::from_millis(head.at);
        (*line_count, *tokens) = (head.line_count, head.tokens);
        Ok(())
    }
}

/// A node to fill in place. A node that is built first and then moved is loaded in pieces of other sizes than it was
/// stored in, so the processor waits for all earlier stores, including those of its text.
pub(crate) const BLANK: Node =
    Node::new(NodeId::FIRST, Message::new(Role::User, Vec::new()), Timestamp::from_millis(0));

pub(super) fn role_number(role: Role) -> u8 {
    match role {
        Role::User => 1,
        Role::Assistant => 2,
        Role::System => 3,
        Role::Tool => 4,
    }
}

pub(super) fn role(number: u8) -> Result<Role, CodecError> {
    match number {
        1 => Ok(Role::User),
        2 => Ok(Role::Assistant),
        3 => Ok(Role::System),
        4 => Ok(Role::Tool),
        _ => Err(CodecError(format!("a message has the unknown role {number}"))),
    }
}

fn relation_number(kind: RelationKind) -> u8 {
    match kind {
        RelationKind::FollowUp => 1,
        RelationKind::Correction => 2,
    }
}

fn relation(to: u64, kind: u8) -> Result<Relation, CodecError> {
    let kind = match kind {
        1 => RelationKind::FollowUp,
        2 => RelationKind::Correction,
        _ => return Err(CodecError(format!("a message has the unknown relation {kind}"))),
    };
    let to = NodeId::new(to).ok_or("a message relates to node 0")?;
    Ok(Relation { to, kind })
}
