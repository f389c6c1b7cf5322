//! A message in an export: the shape of [`message_to_json`](memory_core::message_to_json), with JSON from
//! outside byte for byte as it came.

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine, prelude::BASE64_STANDARD};
use memory_core::{ContentBlock, Json, Media, Message, MessageKey, Role};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

/// How deep tool results may be nested in one another; no store of ours keeps a deeper one.
const MAX_DEPTH: usize = 32;

/// A message on its way.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageLine<'a> {
    role: RoleName,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    speaker: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    content: Box<RawValue>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keep_out_of_summaries: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<Cow<'a, str>, Box<RawValue>>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleName {
    User,
    Assistant,
    System,
    Tool,
}

/// A block's kind, whatever else it has.
#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextBlock {
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolUse {
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    id: String,
    name: String,
    input: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolResult {
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    tool_use_id: String,
    content: Box<RawValue>,
    is_error: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Image {
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    source: Source,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    source: Source,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Thinking {
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    thinking: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Source {
    Url { url: String },
    Text { media_type: String, data: String },
    Base64 { media_type: String, data: String },
}

/// JSON that cannot stand in a line as it is.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quoted {
    json_text: String,
}

impl<'a> MessageLine<'a> {
    pub(super) fn new(message: &'a Message) -> serde_json::Result<Self> {
        let Message { role, speaker, content, key, metadata, keep_out_of_summaries } = message;
        let metadata = metadata.iter().map(|(name, value)| Ok((Cow::Borrowed(name.as_str()), carried(value)?)));
        Ok(Self {
            role: match role {
                Role::User => RoleName::User,
                Role::Assistant => RoleName::Assistant,
                Role::System => RoleName::System,
                Role::Tool => RoleName::Tool,
            },
            speaker: speaker.as_deref().map(Cow::Borrowed),
            key: key.as_ref().map(|key| Cow::Borrowed(key.as_str())),
            content: write_content(content)?,
            keep_out_of_summaries: *keep_out_of_summaries,
            metadata: metadata.collect::<serde_json::Result<_>>()?,
        })
    }

    /// The message itself; `Err` says what is wrong with it.
    pub(super) fn into_message(self) -> Result<Message, String> {
        let key = self.key.map(|key| MessageKey::new(&key)).transpose().map_err(|error| error.to_string())?;
        let metadata = self.metadata.into_iter().map(|(name, value)| Ok((name.into_owned(), uncarried(&value)?)));
        Ok(Message {
            role: match self.role {
                RoleName::User => Role::User,
                RoleName::Assistant => Role::Assistant,
                RoleName::System => Role::System,
                RoleName::Tool => Role::Tool,
            },
            speaker: self.speaker.map(Cow::into_owned),
            content: read_content(&self.content, 0)?,
            key,
            metadata: metadata.collect::<Result<_, String>>()?,
            keep_out_of_summaries: self.keep_out_of_summaries,
        })
    }
}

fn write_content(content: &[ContentBlock]) -> serde_json::Result<Box<RawValue>> {
    match content {
        [ContentBlock::Text(text)] => to_raw_value(text),
        blocks => to_raw_value(&blocks.iter().map(write_block).collect::<serde_json::Result<Vec<_>>>()?),
    }
}

fn write_block(block: &ContentBlock) -> serde_json::Result<Box<RawValue>> {
    match block {
        ContentBlock::Text(text) => to_raw_value(&TextBlock { kind: "text".into(), text: text.clone() }),
        ContentBlock::ToolUse { id, name, input } => to_raw_value(&ToolUse {
            kind: "tool_use".into(),
            id: id.clone(),
            name: name.clone(),
            input: carried(input)?,
        }),
        ContentBlock::ToolResult { tool_use_id, content, is_error } => to_raw_value(&ToolResult {
            kind: "tool_result".into(),
            tool_use_id: tool_use_id.clone(),
            content: write_content(content)?,
            is_error: *is_error,
        }),
        ContentBlock::Image(media) => to_raw_value(&Image { kind: "image".into(), source: Source::of(media) }),
        ContentBlock::Document { title, media } => {
            to_raw_value(&Document { kind: "document".into(), title: title.clone(), source: Source::of(media) })
        }
        ContentBlock::Reasoning { text, signature } => {
            let (thinking, signature) = (text.clone(), signature.clone());
            to_raw_value(&Thinking { kind: "thinking".into(), thinking, signature })
        }
        // As a block, some JSON would be read as another block.
        ContentBlock::Unknown(json) if !breaks_line(json) && read_block(json.as_str(), 0).as_ref() == Ok(block) => {
            RawValue::from_string(json.as_str().to_owned())
        }
        ContentBlock::Unknown(json) => quoted(json),
    }
}

/// JSON as it stands in a line: as it came, or quoted where that would break the line or be taken for a quote.
fn carried(json: &Json) -> serde_json::Result<Box<RawValue>> {
    if breaks_line(json) || parse::<Quoted>(json.as_str()).is_some() {
        quoted(json)
    } else {
        RawValue::from_string(json.as_str().to_owned())
    }
}

fn breaks_line(json: &Json) -> bool {
    json.as_str().contains(['\n', '\r'])
}

fn quoted(json: &Json) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&Quoted { json_text: json.as_str().to_owned() })
}

fn uncarried(raw: &RawValue) -> Result<Json, String> {
    let text = match parse::<Quoted>(raw.get()) {
        Some(quoted) => Cow::Owned(quoted.json_text),
        None => Cow::Borrowed(raw.get()),
    };
    Json::new(&text).map_err(|_| "`json_text` holds no JSON".to_owned())
}

/// An object with exactly the members of `T`.
fn parse<T: DeserializeOwned>(text: &str) -> Option<T> {
    // A list would be taken for an object without names.
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

fn read_content(content: &RawValue, depth: usize) -> Result<Vec<ContentBlock>, String> {
    if content.get().starts_with('"') {
        let text = serde_json::from_str(content.get()).map_err(|error| error.to_string())?;
        return Ok(vec![ContentBlock::Text(text)]);
    }
    let blocks: Vec<&RawValue> =
        serde_json::from_str(content.get()).map_err(|_| "content: expected a text or a list of blocks".to_owned())?;
    blocks.into_iter().map(|block| read_block(block.get(), depth)).collect()
}

fn read_block(text: &str, depth: usize) -> Result<ContentBlock, String> {
    if depth > MAX_DEPTH {
        return Err(format!("tool results are nested more than {MAX_DEPTH} deep"));
    }
    if let Some(Quoted { json_text }) = parse(text) {
        let json = Json::new(&json_text).map_err(|_| "`json_text` holds no JSON".to_owned())?;
        return Ok(ContentBlock::Unknown(json));
    }
    let kind = parse(text).map(|Kind { kind }| kind);
    let known = match kind.as_deref() {
        Some("text") => parse(text).map(|TextBlock { text, .. }| ContentBlock::Text(text)),
        Some("tool_use") => match parse(text) {
            Some(ToolUse { id, name, input, .. }) => {
                Some(ContentBlock::ToolUse { id, name, input: uncarried(&input)? })
            }
            None => None,
        },
        Some("tool_result") => match parse(text) {
            Some(ToolResult { tool_use_id, content, is_error, .. }) => {
                let content = read_content(&content, depth + 1)?;
                Some(ContentBlock::ToolResult { tool_use_id, content, is_error })
            }
            None => None,
        },
        Some("image") => parse(text).and_then(|Image { source, .. }| source.into_media()).map(ContentBlock::Image),
        Some("document") => parse(text).and_then(|Document { title, source, .. }| {
            Some(ContentBlock::Document { title, media: source.into_media()? })
        }),
        Some("thinking") => parse(text)
            .map(|Thinking { thinking, signature, .. }| ContentBlock::Reasoning { text: thinking, signature }),
        _ => None,
    };
    match known {
        Some(block) => Ok(block),
        None => Json::new(text).map(ContentBlock::Unknown).map_err(|error| error.to_string()),
    }
}

impl Source {
    fn of(media: &Media) -> Self {
        match media {
            Media::Url(url) => Self::Url { url: url.clone() },
            Media::Text { media_type, text } => Self::Text { media_type: media_type.clone(), data: text.clone() },
            Media::Bytes { media_type, data } => {
                Self::Base64 { media_type: media_type.clone(), data: BASE64_STANDARD.encode(data) }
            }
        }
    }

    fn into_media(self) -> Option<Media> {
        Some(match self {
            Self::Url { url } => Media::Url(url),
            Self::Text { media_type, data } => Media::Text { media_type, text: data },
            Self::Base64 { media_type, data } => {
                Media::Bytes { media_type, data: BASE64_STANDARD.decode(data).ok()?.into() }
            }
        })
    }
}
