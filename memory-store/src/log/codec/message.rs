//! The wire type of a message.

use bincode::{BorrowDecode, Encode};
use memory_core::{
    ContentBlock, Hash, Json, Media, Message, MessageKey, Node, NodeDraft, NodeId, NodeOutline, NodeProof, Relation,
    RelationKind, Role, Salt, Timestamp, canonical_bytes, leaf_hash,
};

use super::{CodecError, encode, kind};

/// How deep tool results may be nested in one another.
const MAX_DEPTH: usize = 32;
/// Most blocks, topics, and metadata entries of one message; keeps what decoding claims far below its limit.
const MAX_ITEMS: usize = 1 << 16;
const KEEP_OUT_OF_SUMMARIES: u8 = 1;

#[derive(Debug, Encode, BorrowDecode)]
pub(crate) struct MessageRecord<'a> {
    salt: [u8; 16],
    leaf: [u8; 32],
    at: i64,
    tokens: u32,
    line_count: u32,
    importance: f32,
    role: u8,
    flags: u8,
    relates_to: Option<(u64, u8)>,
    speaker: Option<&'a str>,
    key: Option<&'a str>,
    topics: Vec<&'a str>,
    /// Depth first: a tool result is followed by its content.
    blocks: Vec<Block<'a>>,
    metadata: Vec<(&'a str, &'a str)>,
}

#[derive(Debug, Encode, BorrowDecode)]
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

#[derive(Debug, Encode, BorrowDecode)]
enum WireMedia<'a> {
    Url(&'a str),
    Text { media_type: &'a str, text: &'a str },
    Bytes { media_type: &'a str, data: &'a [u8] },
}

/// A message as it was read back, its number not known yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredMessage {
    pub(crate) draft: NodeDraft,
    pub(crate) line_count: u32,
    pub(crate) proof: NodeProof,
}

impl StoredMessage {
    /// Hashes a message for its place in the tree.
    pub(crate) fn new(draft: NodeDraft, salt: Salt) -> Self {
        let leaf = leaf_hash(&salt, &canonical_bytes(&draft.message, draft.at));
        Self { line_count: draft.message.line_count(), proof: NodeProof { salt, leaf }, draft }
    }

    /// The leaf that the message gives now; the stored one, unless something was changed.
    pub(crate) fn rehash(&self) -> Hash {
        leaf_hash(&self.proof.salt, &canonical_bytes(&self.draft.message, self.draft.at))
    }

    pub(crate) fn into_node(self, id: NodeId) -> Node {
        let NodeDraft { message, at, tokens, importance, topics, relates_to } = self.draft;
        Node { id, message, at, line_count: self.line_count, tokens, importance, topics, relates_to, pinned: false }
    }

    /// The whole record, header included.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, CodecError> {
        encode(kind::MESSAGE, &MessageRecord::of(self)?)
    }
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

impl<'a> MessageRecord<'a> {
    fn of(stored: &'a StoredMessage) -> Result<Self, CodecError> {
        let NodeDraft { message, at, tokens, importance, topics, relates_to } = &stored.draft;
        let mut blocks = Vec::with_capacity(message.content.len());
        flatten(&message.content, &mut blocks);
        if blocks.len().max(topics.len()).max(message.metadata.len()) > MAX_ITEMS {
            return Err(CodecError(format!("a message has at most {MAX_ITEMS} blocks, topics and metadata entries")));
        }
        Ok(Self {
            salt: stored.proof.salt,
            leaf: *stored.proof.leaf.as_bytes(),
            at: at.as_millis(),
            tokens: *tokens,
            line_count: stored.line_count,
            importance: *importance,
            role: role_number(message.role),
            flags: if message.keep_out_of_summaries { KEEP_OUT_OF_SUMMARIES } else { 0 },
            relates_to: relates_to.map(|relation| (relation.to.get(), relation_number(relation.kind))),
            speaker: message.speaker.as_deref(),
            key: message.key.as_ref().map(MessageKey::as_str),
            topics: topics.iter().map(String::as_str).collect(),
            blocks,
            metadata: message.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        })
    }

    /// The caller's name for the message.
    pub(crate) fn key(&self) -> Option<&'a str> {
        self.key
    }

    /// Weight in 0..=1.
    pub(crate) fn importance(&self) -> f32 {
        self.importance
    }

    /// What planning needs to know, without building the message.
    pub(crate) fn outline(&self) -> Result<NodeOutline, CodecError> {
        let mut outline = NodeOutline::new(Timestamp::from_millis(self.at), role(self.role)?);
        outline.tokens = self.tokens;
        outline.line_count = u16::try_from(self.line_count).unwrap_or(u16::MAX);
        outline.keep_out_of_summaries = self.flags & KEEP_OUT_OF_SUMMARIES != 0;
        outline.set_importance(self.importance);
        let mut inside = 0u64;
        for block in &self.blocks {
            let on_top = inside == 0;
            inside = inside.saturating_sub(1);
            match block {
                Block::ToolUse { .. } if on_top => outline.calls = outline.calls.saturating_add(1),
                Block::ToolResult { children, .. } => {
                    outline.answers = outline.answers.saturating_add(u8::from(on_top));
                    inside = inside.saturating_add(u64::from(*children));
                }
                Block::Text(_)
                | Block::ToolUse { .. }
                | Block::Image(_)
                | Block::Document { .. }
                | Block::Reasoning { .. }
                | Block::Unknown(_) => {}
            }
        }
        Ok(outline)
    }

    /// Salt and leaf alone.
    pub(crate) fn proof(&self) -> NodeProof {
        NodeProof { salt: self.salt, leaf: Hash::from_bytes(self.leaf) }
    }

    /// The message itself, every part checked again.
    pub(crate) fn into_stored(self) -> Result<StoredMessage, CodecError> {
        let proof = self.proof();
        let key = self.key.map(MessageKey::new).transpose().map_err(|error| CodecError(error.to_string()))?;
        let metadata = self.metadata.iter().map(|&(name, value)| Ok((name.to_owned(), json(value)?)));
        let relates_to = self.relates_to.map(|(to, kind)| relation(to, kind)).transpose()?;
        let message = Message {
            role: role(self.role)?,
            speaker: self.speaker.map(str::to_owned),
            key,
            metadata: metadata.collect::<Result<_, CodecError>>()?,
            keep_out_of_summaries: self.flags & KEEP_OUT_OF_SUMMARIES != 0,
            content: unflatten(self.blocks)?,
        };
        let draft = NodeDraft {
            message,
            at: Timestamp::from_millis(self.at),
            tokens: self.tokens,
            importance: self.importance,
            topics: self.topics.into_iter().map(str::to_owned).collect(),
            relates_to,
        };
        Ok(StoredMessage { draft, line_count: self.line_count, proof })
    }
}

/// Recurses as deep as [`check_depth`] allows.
fn flatten<'a>(blocks: &'a [ContentBlock], out: &mut Vec<Block<'a>>) {
    for block in blocks {
        out.push(match block {
            ContentBlock::Text(text) => Block::Text(text),
            ContentBlock::ToolUse { id, name, input } => Block::ToolUse { id, name, input: input.as_str() },
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                let children = u32::try_from(content.len()).unwrap_or(u32::MAX);
                out.push(Block::ToolResult { tool_use_id, is_error: *is_error, children });
                flatten(content, out);
                continue;
            }
            ContentBlock::Image(media) => Block::Image(WireMedia::of(media)),
            ContentBlock::Document { title, media } => {
                Block::Document { title: title.as_deref(), media: WireMedia::of(media) }
            }
            ContentBlock::Reasoning { text, signature } => Block::Reasoning { text, signature: signature.as_deref() },
            ContentBlock::Unknown(json) => Block::Unknown(json.as_str()),
        });
    }
}

/// A tool result whose content is not complete yet.
struct OpenResult {
    tool_use_id: String,
    is_error: bool,
    missing: u32,
    content: Vec<ContentBlock>,
}

fn unflatten(blocks: Vec<Block<'_>>) -> Result<Vec<ContentBlock>, CodecError> {
    let mut top = Vec::new();
    let mut open: Vec<OpenResult> = Vec::new();
    for block in blocks {
        let mut finished = match block {
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
