//! The wire type of a message's blocks, which may hold others.

use bincode::{Encode, enc::Encoder, error::EncodeError};
use memory_core::{ContentBlock, Json, Media, Message};

use super::{
    cursor::Cursor,
    lists::{FIRST_ITEMS, Lists},
    wire::CodecError,
};

/// Maximum nesting of tool results.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Encode)]
pub(super) enum Block<'a> {
    Text(&'a str),
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a str,
    },
    ToolResult {
        tool_use_id: &'a str,
        is_error: bool,
        /// Number of following blocks that are its content, without their own content.
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
pub(super) enum WireMedia<'a> {
    Url(&'a str),
    Text { media_type: &'a str, text: &'a str },
    Bytes { media_type: &'a str, data: &'a [u8] },
}

/// Number of blocks, including those within tool results.
pub(super) fn blocks_of(blocks: &[ContentBlock]) -> usize {
    let inside = |block: &ContentBlock| match block {
        ContentBlock::ToolResult { content, .. } => blocks_of(content),
        _ => 0,
    };
    blocks.len() + blocks.iter().map(inside).sum::<usize>()
}

/// Recurses as deep as [`check_depth`] allows.
pub(super) fn encode_blocks<E: Encoder>(blocks: &[ContentBlock], encoder: &mut E) -> Result<(), EncodeError> {
    blocks.iter().try_for_each(|block| {
        Block::of(block).encode(encoder)?;
        match block {
            ContentBlock::ToolResult { content, .. } => encode_blocks(content, encoder),
            _ => Ok(()),
        }
    })
}

/// Checks that a message can be stored before it is hashed: hashing recurses as deep as the message.
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

impl<'a> Block<'a> {
    #[inline]
    pub(super) fn read(from: &mut Cursor<'a>) -> Option<Self> {
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

/// A block to fill in place, like [`BLANK`](super::message::BLANK).
const EMPTY: ContentBlock = ContentBlock::Text(String::new());

/// Nests the blocks again and puts them into `top`, which is empty.
#[inline]
pub(super) fn read_blocks(lists: &mut Lists<'_>, top: &mut Vec<ContentBlock>) -> Result<(), CodecError> {
    let count = lists.count()?;
    top.reserve_exact(count.min(FIRST_ITEMS));
    // Most messages are only texts, which need no `Block` each.
    for read in 0..count {
        let Some(text) = lists.text_block() else { return read_other_blocks(lists, top, count - read) };
        top.push(EMPTY);
        if let Some(ContentBlock::Text(place)) = top.last_mut() {
            *place = text.to_owned();
        }
    }
    Ok(())
}

/// The last `count` blocks of a list.
#[inline(never)]
fn read_other_blocks(lists: &mut Lists<'_>, top: &mut Vec<ContentBlock>, count: usize) -> Result<(), CodecError> {
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
        // A block that completes a tool result may complete the enclosing one, too.
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
    if open.is_empty() { Ok(()) } else { Err("a tool result lacks a part of its content".into()) }
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

pub(super) fn json(text: &str) -> Result<Json, CodecError> {
    Json::new(text).map_err(|error| CodecError(error.to_string()))
}
