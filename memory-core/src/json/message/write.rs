//! Writing a message as JSON.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    quoted::{breaks_line, unquoted, write_quoted, write_raw},
    read,
    source::Source,
    value::Raw,
};
use crate::{ContentBlock, Json, Message};

/// Form in which JSON from outside is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Parsed values.
    Values,
    /// The given bytes, or a quotation of them.
    Exact,
}

pub(super) struct WrittenMessage<'a> {
    pub(super) message: &'a Message,
    pub(super) spelling: Spelling,
}

impl Serialize for WrittenMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members<'a> {
            role: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            speaker: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            key: Option<&'a str>,
            content: Content<'a>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            keep_out_of_summaries: bool,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            metadata: BTreeMap<&'a str, FromOutside<'a>>,
        }

        let Self { message, spelling } = *self;
        let Message { role, speaker, content, key, metadata, keep_out_of_summaries } = message;
        let members = Members {
            role: role.as_str(),
            speaker: speaker.as_deref(),
            key: key.as_ref().map(|key| key.as_str()),
            content: Content(content, spelling),
            keep_out_of_summaries: *keep_out_of_summaries,
            metadata: metadata.iter().map(|(name, json)| (name.as_str(), FromOutside(json, spelling))).collect(),
        };
        members.serialize(serializer)
    }
}

/// A string for one text block, otherwise a list of blocks.
struct Content<'a>(&'a [ContentBlock], Spelling);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [ContentBlock::Text(text)] => serializer.serialize_str(text),
            blocks => serializer.collect_seq(blocks.iter().map(|block| Block(block, self.1))),
        }
    }
}

pub(super) struct Block<'a>(pub(super) &'a ContentBlock, pub(super) Spelling);

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: FromOutside<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Content<'a>,
        is_error: bool,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(block, spelling) = *self;
        let known = match block {
            ContentBlock::Text(text) => Known::Text { text },
            ContentBlock::ToolUse { id, name, input } => {
                Known::ToolUse { id, name, input: FromOutside(input, spelling) }
            }
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                Known::ToolResult { tool_use_id, content: Content(content, spelling), is_error: *is_error }
            }
            ContentBlock::Image(media) => Known::Image { source: media.into() },
            ContentBlock::Document { title, media } => {
                Known::Document { title: title.as_deref(), source: media.into() }
            }
            ContentBlock::Reasoning { text, signature } => {
                Known::Thinking { thinking: text, signature: signature.as_deref() }
            }
            // Without a quotation, some JSON would be read back as a block of another kind.
            ContentBlock::Unknown(json) if spelling == Spelling::Exact => {
                let is_read_as_it_is = || {
                    let raw: &RawValue = serde_json::from_str(json.as_str()).ok()?;
                    read::block(Raw { json: raw, exact: true, foreign: false }, "content", 0)
                        .ok()
                        .filter(|read| read == block)
                };
                if breaks_line(json) || is_read_as_it_is().is_none() {
                    return write_quoted(json, serializer);
                }
                return write_raw(json, serializer);
            }
            ContentBlock::Unknown(json) => return json.to_value().serialize(serializer),
        };
        known.serialize(serializer)
    }
}

/// JSON from outside.
struct FromOutside<'a>(&'a Json, Spelling);

impl Serialize for FromOutside<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(json, spelling) = *self;
        if spelling == Spelling::Values {
            return json.to_value().serialize(serializer);
        }
        // JSON that would be read as a quote is quoted.
        if breaks_line(json) || unquoted(json.as_str()).is_some() {
            return write_quoted(json, serializer);
        }
        write_raw(json, serializer)
    }
}
