//! The wire type of a message.

use std::collections::BTreeMap;

use bincode::{Encode, enc::Encoder, error::EncodeError};
#[cfg(test)]
use memory_core::Salt;
use memory_core::{
    ContentBlock, Hash, Json, LeafHasher, Media, Message, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeProof,
    Relation, RelationKind, Role, Timestamp,
};

use super::{super::state::Wanted, CodecError, cursor::Cursor, encode_onto, kind};

/// How deep tool results may be nested in one another.
const MAX_DEPTH: usize = 32;
/// Most blocks, topics, and metadata entries of one message.
const MAX_ITEMS: usize = 1 << 16;
/// Places made at once for the items of a list, before any of them was seen.
const FIRST_ITEMS: usize = 16;
const KEEP_OUT_OF_SUMMARIES: u8 = 1;
/// Begins a block of text: the number of [`Block::Text`].
const TEXT: u8 = 0;

/// A message in the log: its head, and its lists, which are decoded when they are asked for.
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

/// What follows the head: topics; blocks, depth first, a tool result followed by its content; metadata by name.
#[derive(Clone, Copy, Debug)]
struct Lists<'a>(Cursor<'a>);

impl<'a> Head<'a> {
    #[inline]
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

impl<'a> Lists<'a> {
    /// How many items the next list has.
    #[inline]
    fn count(&mut self) -> Result<usize, CodecError> {
        let count = self.0.varint().and_then(|count| usize::try_from(count).ok());
        count.filter(|count| *count <= MAX_ITEMS).ok_or("a message has a list of an impossible length".into())
    }

    /// The next item of a list.
    #[inline]
    fn item<T>(&mut self, read: impl FnOnce(&mut Cursor<'a>) -> Option<T>) -> Result<T, CodecError> {
        read(&mut self.0).ok_or("an item of a message cannot be decoded".into())
    }

    /// A list of owned texts.
    #[inline]
    fn texts(&mut self) -> Result<Vec<String>, CodecError> {
        let count = self.count()?;
        if count == 0 { Ok(Vec::new()) } else { self.some_texts(count) }
    }

    fn some_texts(&mut self, count: usize) -> Result<Vec<String>, CodecError> {
        let mut texts = Vec::with_capacity(count.min(FIRST_ITEMS));
        for _ in 0..count {
            texts.push(self.item(Cursor::text)?.to_owned());
        }
        Ok(texts)
    }

    /// The next item of a list of blocks, where that is a text; else none is taken.
    #[inline]
    fn text_block(&mut self) -> Option<&'a str> {
        let mut ahead = self.0;
        if ahead.byte()? != TEXT {
            return None;
        }
        let text = ahead.text()?;
        self.0 = ahead;
        Some(text)
    }

    fn end(self) -> Result<(), CodecError> {
        if self.0.is_at_end() { Ok(()) } else { Err("a record has bytes behind its end".into()) }
    }
}

/// Name and JSON of an entry of the metadata.
fn entry<'a>(from: &mut Cursor<'a>) -> Option<(&'a str, &'a str)> {
    Some((from.text()?, from.text()?))
}

#[derive(Debug, Encode)]
enum Block<'a> {
    Text(&'a str),
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a str,
    },
    ToolResult {
        tool_use_id: &'a str,
        is_error: bool,
        /// How many of the blocks behind it are its content, theirs not counted.
        children: u32,
    },
    Image(WireMedia<'a>),
    Document {
        title: Option<&'a str>,
        media: WireMedia<'a>,
    },
    Reasoning {
        text: &'a str,
        signature: Option<&'a str>,
    },
    Unknown(&'a str),
}

#[derive(Debug, Encode)]
enum WireMedia<'a> {
    Url(&'a str),
    Text { media_type: &'a str, text: &'a str },
    Bytes { media_type: &'a str, data: &'a [u8] },
}

/// A message as it was read back, its number not known yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredMessage {
    /// Without its salt, which the proof holds.
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

    /// A message that was hashed.
    pub(crate) fn of(draft: NodeDraft, proof: NodeProof) -> Self {
        Self { line_count: draft.message.line_count(), proof, draft }
    }

    /// The leaf that the message gives now; the stored one, unless something was changed.
    pub(crate) fn rehash(&self) -> Hash {
        LeafHasher::default().leaf(&self.proof.salt, &self.draft.message, self.draft.at)
    }

    /// What planning needs to know of it.
    pub(crate) fn outline(&self) -> NodeOutline {
        let NodeDraft { message, at, tokens, importance, .. } = &self.draft;
        let mut outline = NodeOutline::of_message(message, *at, self.line_count);
        outline.tokens = *tokens;
        outline.set_importance(*importance);
        outline
    }

    /// Appends the whole record to `out`, header included. On failure `out` is as it was.
    pub(crate) fn encode_onto(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let NodeDraft { message, topics, .. } = &self.draft;
        if blocks_of(&message.content).max(topics.len()).max(message.metadata.len()) > MAX_ITEMS {
            return Err(CodecError(format!("a message has at most {MAX_ITEMS} blocks, topics and metadata entries")));
        }
        encode_onto(out, kind::MESSAGE, self)
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

/// How many blocks there are, those within tool results included.
fn blocks_of(blocks: &[ContentBlock]) -> usize {
    let inside = |block: &ContentBlock| match block {
        ContentBlock::ToolResult { content, .. } => blocks_of(content),
        _ => 0,
    };
    blocks.len() + blocks.iter().map(inside).sum::<usize>()
}

/// Recurses as deep as [`check_depth`] allows.
fn encode_blocks<E: Encoder>(blocks: &[ContentBlock], encoder: &mut E) -> Result<(), EncodeError> {
    blocks.iter().try_for_each(|block| {
        Block::of(block).encode(encoder)?;
        match block {
            ContentBlock::ToolResult { content, .. } => encode_blocks(content, encoder),
            _ => Ok(()),
        }
    })
}

/// Checks that a message can be stored, before it is hashed: hashing goes as deep as the message does.
pub(crate) fn check_depth(message: &Message) -> Result<(), CodecError> {
    fn fits(blocks: &[ContentBlock], left: usize) -> bool {
        blocks.iter().all(|block| match block {
            ContentBlock::ToolResult { content, .. } => left > 0 && fits(content, left - 1),
            ContentBlock::Text(_)
            | ContentBlock::ToolUse { .. }
            | ContentBlock::Image(_)
            | ContentBlock::Document { .. }
            | ContentBlock::Reasoning { .. }
            | ContentBlock::Unknown(_) => true,
        })
    }
    if fits(&message.content, MAX_DEPTH) {
        Ok(())
    } else {
        Err(CodecError(format!("tool results are nested more than {MAX_DEPTH} deep")))
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
    #[inline]
    pub(super) fn decode(value: &'a [u8]) -> Result<Self, CodecError> {
        let mut cursor = Cursor::new(value);
        let head = Head::read(&mut cursor).ok_or("the head of a message cannot be decoded")?;
        Ok(Self { head, lists: Lists(cursor) })
    }

    /// The caller's name for the message.
    pub(crate) fn key(&self) -> Option<&'a str> {
        self.head.key
    }

    /// Weight in 0..=1.
    pub(crate) fn importance(&self) -> f32 {
        self.head.importance
    }

    /// What planning needs to know, without building the message.
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

    /// Salt and leaf alone.
    pub(crate) fn proof(&self) -> NodeProof {
        NodeProof { salt: *self.head.salt, leaf: Hash::from_bytes(*self.head.leaf) }
    }

    /// The message itself, every part checked again.
    pub(crate) fn into_stored(self) -> Result<StoredMessage, CodecError> {
        let proof = self.proof();
        let (line_count, importance) = (self.head.line_count, self.head.importance);
        let Node { message, at, tokens, topics, relates_to, .. } = self.node_at(NodeId::FIRST, importance, false)?;
        let draft = NodeDraft { message, at, tokens, importance, topics, relates_to, salt: None };
        Ok(StoredMessage { draft, line_count, proof })
    }

    /// The same in its place, with what events made of it since.
    #[inline]
    pub(crate) fn into_node(self, wanted: &Wanted) -> Result<Node, CodecError> {
        self.node_at(wanted.node, wanted.importance, wanted.pinned)
    }

    #[inline]
    fn node_at(self, id: NodeId, importance: f32, pinned: bool) -> Result<Node, CodecError> {
        let Self { head, mut lists } = self;
        let topics = lists.texts()?;
        let content = read_blocks(&mut lists)?;
        let mut metadata = BTreeMap::new();
        for _ in 0..lists.count()? {
            let (name, value) = lists.item(entry)?;
            metadata.insert(name.to_owned(), json(value)?);
        }
        lists.end()?;
        let key = head.key.map(MessageKey::new).transpose().map_err(|error| CodecError(error.to_string()))?;
        let message = Message {
            role: role(head.role)?,
            speaker: head.speaker.map(str::to_owned),
            key,
            metadata,
            keep_out_of_summaries: head.flags & KEEP_OUT_OF_SUMMARIES != 0,
            content,
        };
        Ok(Node {
            id,
            message,
            at: Timestamp::from_millis(head.at),
            line_count: head.line_count,
            tokens: head.tokens,
            importance,
            topics,
            relates_to: head.relates_to.map(|(to, kind)| relation(to, kind)).transpose()?,
            pinned,
        })
    }
}

impl<'a> Block<'a> {
    #[inline]
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        Some(match from.varint()? {
            0 => Self::Text(from.text()?),
            1 => Self::ToolUse { id: from.text()?, name: from.text()?, input: from.text()? },
            2 => Self::ToolResult { tool_use_id: from.text()?, is_error: from.bool()?, children: from.varint_u32()? },
            3 => Self::Image(WireMedia::read(from)?),
            4 => Self::Document { title: from.option(Cursor::text)?, media: WireMedia::read(from)? },
            5 => Self::Reasoning { text: from.text()?, signature: from.option(Cursor::text)? },
            6 => Self::Unknown(from.text()?),
            _ => return None,
        })
    }

    fn of(block: &'a ContentBlock) -> Self {
        match block {
            ContentBlock::Text(text) => Block::Text(text),
            ContentBlock::ToolUse { id, name, input } => Block::ToolUse { id, name, input: input.as_str() },
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                let children = u32::try_from(content.len()).unwrap_or(u32::MAX);
                Block::ToolResult { tool_use_id, is_error: *is_error, children }
            }
            ContentBlock::Image(media) => Block::Image(WireMedia::of(media)),
            ContentBlock::Document { title, media } => {
                Block::Document { title: title.as_deref(), media: WireMedia::of(media) }
            }
            ContentBlock::Reasoning { text, signature } => Block::Reasoning { text, signature: signature.as_deref() },
            ContentBlock::Unknown(json) => Block::Unknown(json.as_str()),
        }
    }
}

/// A tool result whose content is not complete yet.
struct OpenResult {
    tool_use_id: String,
    is_error: bool,
    missing: u32,
    content: Vec<ContentBlock>,
}

/// The list of blocks, put back into one another.
#[inline]
fn read_blocks(lists: &mut Lists<'_>) -> Result<Vec<ContentBlock>, CodecError> {
    let count = lists.count()?;
    let mut top = Vec::with_capacity(count.min(FIRST_ITEMS));
    // Most messages are texts and nothing else; those are not carried through a `Block` each.
    for read in 0..count {
        let Some(text) = lists.text_block() else { return read_other_blocks(lists, top, count - read) };
        top.push(ContentBlock::Text(text.to_owned()));
    }
    Ok(top)
}

/// The last `count` blocks of a list, behind those on `top`.
#[inline(never)]
fn read_other_blocks(
    lists: &mut Lists<'_>,
    mut top: Vec<ContentBlock>,
    count: usize,
) -> Result<Vec<ContentBlock>, CodecError> {
    let mut open: Vec<OpenResult> = Vec::new();
    for _ in 0..count {
        let mut finished = match lists.item(Block::read)? {
            Block::Text(text) => ContentBlock::Text(text.to_owned()),
            Block::ToolUse { id, name, input } => {
                ContentBlock::ToolUse { id: id.to_owned(), name: name.to_owned(), input: json(input)? }
            }
            Block::ToolResult { tool_use_id, is_error, children } => {
                let tool_use_id = tool_use_id.to_owned();
                if open.len() >= MAX_DEPTH {
                    return Err("tool results are nested too deep".into());
                }
                if children > 0 {
                    open.push(OpenResult { tool_use_id, is_error, missing: children, content: Vec::new() });
                    continue;
                }
                ContentBlock::ToolResult { tool_use_id, is_error, content: Vec::new() }
            }
            Block::Image(media) => ContentBlock::Image(media.into_media()),
            Block::Document { title, media } => {
                ContentBlock::Document { title: title.map(str::to_owned), media: media.into_media() }
            }
            Block::Reasoning { text, signature } => {
                ContentBlock::Reasoning { text: text.to_owned(), signature: signature.map(str::to_owned) }
            }
            Block::Unknown(text) => ContentBlock::Unknown(json(text)?),
        };
        if open.is_empty() {
            top.push(finished);
            continue;
        }
        // A block that completes a tool result completes what that one stands in, too.
        loop {
            let Some(mut result) = open.pop() else {
                top.push(finished);
                break;
            };
            result.content.push(finished);
            result.missing -= 1;
            if result.missing > 0 {
                open.push(result);
                break;
            }
            let OpenResult { tool_use_id, is_error, content, .. } = result;
            finished = ContentBlock::ToolResult { tool_use_id, is_error, content };
        }
    }
    if open.is_empty() { Ok(top) } else { Err("a tool result lacks a part of its content".into()) }
}

impl<'a> WireMedia<'a> {
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        Some(match from.varint()? {
            0 => Self::Url(from.text()?),
            1 => Self::Text { media_type: from.text()?, text: from.text()? },
            2 => Self::Bytes { media_type: from.text()?, data: from.bytes()? },
            _ => return None,
        })
    }

    fn of(media: &'a Media) -> Self {
        match media {
            Media::Url(url) => Self::Url(url),
            Media::Text { media_type, text } => Self::Text { media_type, text },
            Media::Bytes { media_type, data } => Self::Bytes { media_type, data },
        }
    }

    fn into_media(self) -> Media {
        match self {
            Self::Url(url) => Media::Url(url.to_owned()),
            Self::Text { media_type, text } => Media::Text { media_type: media_type.to_owned(), text: text.to_owned() },
            Self::Bytes { media_type, data } => Media::Bytes { media_type: media_type.to_owned(), data: data.into() },
        }
    }
}

fn json(text: &str) -> Result<Json, CodecError> {
    Json::new(text).map_err(|error| CodecError(error.to_string()))
}

fn role_number(role: Role) -> u8 {
    match role {
        Role::User => 1,
        Role::Assistant => 2,
        Role::System => 3,
        Role::Tool => 4,
    }
}

fn role(number: u8) -> Result<Role, CodecError> {
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
