//! Messages and their content blocks.

mod texts;

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use crate::Json;

/// Role of the speaker.
///
/// Exhaustive: a new role is a new format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A person, or a tool answering on their side of the exchange.
    User,
    /// The model.
    Assistant,
    /// Instructions of the application.
    System,
    /// A tool's answer, where a provider has a separate role for it.
    Tool,
}

impl Role {
    /// The role in lower case, as providers write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One piece of a message.
///
/// Exhaustive: a new kind is a new format, and [`Unknown`](Self::Unknown) holds unknown blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentBlock {
    /// Plain text.
    Text(String),
    /// The model calls a tool.
    ToolUse {
        /// The call's id, which its result repeats.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Json,
    },
    /// A tool's answer.
    ToolResult {
        /// The id of the call that it answers.
        tool_use_id: String,
        /// Result of the tool.
        content: Vec<ContentBlock>,
        /// True if the tool failed.
        is_error: bool,
    },
    /// A picture.
    Image(Media),
    /// A document.
    Document {
        /// The title or file name.
        title: Option<String>,
        /// The document itself.
        media: Media,
    },
    /// The model's reasoning.
    Reasoning {
        /// The text.
        text: String,
        /// The provider's signature over it.
        signature: Option<String>,
    },
    /// A block of an unknown kind, unchanged.
    Unknown(Json),
}

/// A picture or document, by address or by value.
///
/// Exhaustive: a new kind is a new format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Media {
    /// Stored elsewhere.
    Url(String),
    /// Text stored here.
    Text {
        /// IANA media type, as in `text/plain`.
        media_type: String,
        /// The text.
        text: String,
    },
    /// Bytes stored here.
    Bytes {
        /// IANA media type, as in `image/png`.
        media_type: String,
        /// The bytes.
        data: Arc<[u8]>,
    },
}

/// The caller's own name for a message, of 1 to 256 bytes. Appending a second message under the same key to the same
/// conversation does nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey(Arc<str>);

/// A text that cannot be a message key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message key has 1 to 256 bytes, this one has {0}")]
pub struct InvalidMessageKey(pub usize);

impl MessageKey {
    /// Checks `key`.
    ///
    /// # Errors
    /// When it is empty or longer than 256 bytes.
    pub fn new(key: &str) -> Result<Self, InvalidMessageKey> {
        if (1..=256).contains(&key.len()) { Ok(Self(key.into())) } else { Err(InvalidMessageKey(key.len())) }
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One message, unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Role of the speaker.
    pub role: Role,
    /// The speaker's name, if known.
    pub speaker: Option<String>,
    /// Content blocks, in order.
    pub content: Vec<ContentBlock>,
    /// The caller's name for the message, which makes appending it idempotent.
    pub key: Option<MessageKey>,
    /// Anything else that the caller stores with it.
    pub metadata: BTreeMap<String, Json>,
    /// True if no summary may hold the content. Recall still finds the message.
    pub keep_out_of_summaries: bool,
}

impl Message {
    /// A message of these blocks.
    #[must_use]
    pub const fn new(role: Role, content: Vec<ContentBlock>) -> Self {
        Self { role, speaker: None, content, key: None, metadata: BTreeMap::new(), keep_out_of_summaries: false }
    }

    /// A message of one text block.
    #[must_use]
    pub fn text_of(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![ContentBlock::Text(text.into())])
    }

    /// A user's message of one text block.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::text_of(Role::User, text)
    }

    /// The model's message of one text block.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text_of(Role::Assistant, text)
    }

    crate::setters! {
        some into speaker: String,
        into key: Option<MessageKey>,
        metadata: BTreeMap<String, Json>,
    }

    /// Sets [`keep_out_of_summaries`](Self::keep_out_of_summaries), which excludes its content from all summaries, and
    /// its identifying terms (terms with a digit) from summaries of other messages. Another message that repeats its
    /// other words may be summarized, unless excluded too.
    #[must_use]
    pub const fn keep_out_of_summaries(mut self, keep_out_of_summaries: bool) -> Self {
        self.keep_out_of_summaries = keep_out_of_summaries;
        self
    }

    /// The speaker's name, or else the role.
    #[must_use]
    pub fn speaker_or_role(&self) -> &str {
        self.speaker.as_deref().unwrap_or(self.role.as_str())
    }

    /// Role of the speaker: the message's role, but a tool if a user's message holds only results of tools, as in
    /// Anthropic's Messages API. The stored message keeps its role.
    #[must_use]
    pub fn said_as(&self) -> Role {
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        let is_tool = self.role == Role::User && !self.content.is_empty() && self.content.iter().all(is_result);
        if is_tool { Role::Tool } else { self.role }
    }

    /// The speaker's name or else [role](Self::said_as), for display to people.
    #[must_use]
    pub fn voice(&self) -> &str {
        self.speaker.as_deref().unwrap_or(self.said_as().as_str())
    }

    /// The UTC offset of the message's time, in seconds east, if it states one: member `utc_offset` of its metadata.
    #[must_use]
    pub fn utc_offset(&self) -> Option<i32> {
        let seconds = self.metadata.get("utc_offset")?.as_str().parse::<i32>().ok()?;
        Some(seconds).filter(|seconds| seconds.abs() < 86_400)
    }

    /// States the UTC offset of the message's time, in seconds east, unless it states one.
    pub fn state_utc_offset(&mut self, seconds: i32) {
        self.metadata.entry("utc_offset".to_owned()).or_insert_with(|| Json::from_value(&seconds.into()));
    }

    /// The message as text: blocks one below the other, tool calls and results by their content, media as a line that
    /// names them.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        push_blocks(&mut out, &self.content);
        out
    }

    /// Lines of [`Self::text`]; an empty message has one.
    #[must_use]
    pub fn line_count(&self) -> u32 {
        let lines = match self.content.as_slice() {
            [block] => lines(&block.text()),
            _ => lines(&self.text()),
        };
        u32::try_from(lines.max(1)).unwrap_or(u32::MAX)
    }

    /// The approximate number of bytes of its texts.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.content.iter().map(ContentBlock::text_bytes).sum()
    }

    /// Ids of the tool calls it makes.
    pub fn tool_calls(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|block| {
            let ContentBlock::ToolUse { id, .. } = block else { return None };
            Some(id.as_str())
        })
    }

    /// Ids of the tool calls it answers.
    pub fn tool_results(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|block| {
            let ContentBlock::ToolResult { tool_use_id, .. } = block else { return None };
            Some(tool_use_id.as_str())
        })
    }

    /// True if a prompt may begin here: a user's message that answers no tool call.
    #[must_use]
    pub fn begins_prompt(&self) -> bool {
        self.role == Role::User && self.tool_results().next().is_none()
    }
}

/// Number of lines that [`str::lines`] gives, counted without splitting.
fn lines(text: &str) -> usize {
    // Sums of bytes are vectorized; 255 of them cannot overflow.
    let in_chunk = |chunk: &[u8]| chunk.iter().fold(0_u8, |sum, byte| sum + u8::from(*byte == b'\n'));
    let ends: usize = text.as_bytes().chunks(255).map(|chunk| usize::from(in_chunk(chunk))).sum();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

fn push_blocks(out: &mut String, blocks: &[ContentBlock]) {
    for block in blocks {
        let line = block.text();
        if line.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line);
    }
}

impl ContentBlock {
    fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning { text, .. } => text.len(),
            Self::ToolUse { input, .. } | Self::Unknown(input) => input.as_str().len(),
            Self::ToolResult { content, .. } => content.iter().map(Self::text_bytes).sum(),
            Self::Image(media) | Self::Document { media, .. } => media.bytes(),
        }
    }

    /// The block as text; empty for a block without text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) | Self::Reasoning { text, .. } => Cow::Borrowed(text),
            Self::ToolUse { name, input, .. } => Cow::Owned(format!("{name}({input})")),
            Self::ToolResult { content, is_error, .. } => {
                let mut out = String::from(if *is_error { "error:" } else { "" });
                push_blocks(&mut out, content);
                Cow::Owned(out)
            }
            Self::Image(media) => Cow::Owned(format!("[image: {}]", media.describe())),
            Self::Document { title, media } => {
                let title = title.as_deref().unwrap_or("untitled");
                match media {
                    Media::Text { text, .. } => Cow::Owned(format!("[document: {title}]\n{text}")),
                    Media::Url(_) | Media::Bytes { .. } => {
                        Cow::Owned(format!("[document: {title}, {}]", media.describe()))
                    }
                }
            }
            Self::Unknown(json) => match json.to_value().get("text").and_then(|text| text.as_str()) {
                Some(text) => Cow::Owned(text.to_owned()),
                None => Cow::Borrowed(json.as_str()),
            },
        }
    }
}

impl Media {
    fn bytes(&self) -> usize {
        match self {
            Self::Url(text) | Self::Text { text, .. } => text.len(),
            Self::Bytes { data, .. } => data.len(),
        }
    }

    fn describe(&self) -> Cow<'_, str> {
        match self {
            Self::Url(url) => Cow::Borrowed(url),
            Self::Text { media_type, .. } => Cow::Borrowed(media_type),
            Self::Bytes { media_type, data } => Cow::Owned(format!("{media_type}, {} bytes", data.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_result_is_said_not_reported_as_no_output() {
        let result = ContentBlock::ToolResult {
            tool_use_id: "t".into(),
            content: vec![ContentBlock::Text("41 rows".into())],
            is_error: true,
        };
        let message = Message { content: vec![result], ..Message::user("") };
        assert_eq!(message.text(), "error:\n41 rows");
        assert!(!message.begins_prompt());
    }

    #[test]
    fn lines_are_counted_as_they_are_split() {
        let long = "\n".repeat(700);
        for text in ["", "a", "a\n", "a\nb", "\n", "\r\n", "a\r\nb\r\n", "\n\n", &long] {
            assert_eq!(lines(text), text.lines().count(), "{text:?}");
        }
    }

    #[test]
    fn an_unknown_block_is_searched_by_its_text() {
        let block = ContentBlock::Unknown(Json::new(r#"{"type":"x","text":"hello"}"#).unwrap());
        assert_eq!(block.text(), "hello");
    }
}
