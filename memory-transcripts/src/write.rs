//! Writes a conversation in a shape that other programs read, message by message.

mod anthropic;
mod html;
mod markdown;
mod openai;
mod pairs;
mod text;

use std::{fmt, io, io::Write, str::FromStr};

use memory_core::{ContentBlock, Media, Message, Role, Timestamp, text::one_line};
use schemars::JsonSchema;
use serde::Serialize;

/// A shape of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Written {
    /// `{"messages": [...]}` of OpenAI's Chat Completions API.
    OpenAi,
    /// `{"messages": [...], "system": ...}` of Anthropic's Messages API.
    Anthropic,
    /// Markdown for people.
    Markdown,
    /// A page for people: one file, without scripts or external resources.
    Html,
}

impl Written {
    /// All shapes.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Markdown, Self::Html];

    /// The name on a command line; it never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    /// The usual extension of a file's name.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "json",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// True if the shape is JSON.
    #[must_use]
    pub const fn is_json(self) -> bool {
        matches!(self, Self::OpenAi | Self::Anthropic)
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Written {
    type Err = UnknownWritten;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|shape| shape.as_str() == name).ok_or_else(|| UnknownWritten(name.to_owned()))
    }
}

/// The error for a text that names no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is none of openai, anthropic, markdown, html", memory_core::text::one_line(.0))]
pub struct UnknownWritten(pub String);

/// The heading above the messages.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Heading<'a> {
    /// The conversation's name.
    pub conversation: &'a str,
    /// Its title.
    pub title: Option<&'a str>,
}

impl<'a> Heading<'a> {
    /// The heading of a conversation without a title.
    #[must_use]
    pub const fn new(conversation: &'a str) -> Self {
        Self { conversation, title: None }
    }

    memory_core::setters! { into title: Option<&'a str> }

    /// Title, or the name if there is no title.
    fn shown(&self) -> &str {
        self.title.unwrap_or(self.conversation)
    }
}

/// Counts of content that a shape leaves out or changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct LeftOut {
    /// Blocks of reasoning.
    pub reasoning: u64,
    /// Blocks that are written as text.
    pub as_text: u64,
    /// Messages whose speaker's name is left out.
    pub names: u64,
    /// Messages whose time is left out.
    pub times: u64,
    /// Pictures and files that are named, but whose bytes are left out.
    pub files: u64,
    /// Calls without a result; a result that says so is added.
    pub unanswered: u64,
    /// Calls whose id, or the name of whose tool, is written in another way.
    pub renamed: u64,
    /// Messages that are added so that a person speaks first: 0 or 1.
    pub openings: u64,
}

/// Writes messages as a stream, in memory proportional to one message.
#[derive(Debug)]
pub struct MessageWriter<W> {
    out: W,
    shape: Written,
    pairs: pairs::Pairs,
    has_messages: bool,
    anthropic: anthropic::Anthropic,
    left_out: LeftOut,
}

impl<W: Write> MessageWriter<W> {
    /// Writes everything above the messages.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn begin(mut out: W, shape: Written, heading: Heading<'_>) -> io::Result<Self> {
        match shape {
            Written::OpenAi | Written::Anthropic => out.write_all(b"{\"messages\": [")?,
            Written::Markdown => markdown::begin(&mut out, heading)?,
            Written::Html => html::begin(&mut out, heading)?,
        }
        let (pairs, anthropic) = (pairs::Pairs::default(), anthropic::Anthropic::default());
        Ok(Self { out, shape, pairs, has_messages: false, anthropic, left_out: LeftOut::default() })
    }

    /// Writes the next message.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write(&mut self, message: &Message, at: Timestamp) -> io::Result<()> {
        self.left_out.count(self.shape, message, at);
        match self.shape {
            Written::OpenAi | Written::Anthropic => {
                let named = with_name(message.clone(), self.shape);
                let paired = self.pairs.next(named, &mut self.left_out);
                self.write_paired(&paired)
            }
            Written::Markdown => markdown::write(&mut self.out, message, at),
            Written::Html => html::write(&mut self.out, message, at),
        }
    }

    fn write_paired(&mut self, messages: &[Message]) -> io::Result<()> {
        for message in messages {
            if self.shape == Written::Anthropic {
                self.anthropic.write(&mut self.out, message, &mut self.left_out)?;
                continue;
            }
            for message in openai::messages(message, &mut self.left_out) {
                let before = if std::mem::replace(&mut self.has_messages, true) { ",\n" } else { "\n" };
                write!(self.out, "{before}{message}")?;
            }
        }
        Ok(())
    }

    /// Writes everything below the messages; returns counts of content that was left out.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn end(mut self) -> io::Result<LeftOut> {
        let paired = self.pairs.end(&mut self.left_out);
        self.write_paired(&paired)?;
        match self.shape {
            Written::OpenAi => self.out.write_all(b"\n]}\n")?,
            Written::Anthropic => self.anthropic.end(&mut self.out)?,
            Written::Markdown => {}
            Written::Html => html::end(&mut self.out)?,
        }
        self.out.flush()?;
        Ok(self.left_out)
    }
}

/// True if the name of a speaker stands before the words of a message, since the shape has no other place for it. The
/// model's own words would teach it to write names.
fn leads_with_name(message: &Message, name: &str, shape: Written) -> bool {
    let is_own = |block: &ContentBlock| !matches!(block, ContentBlock::ToolResult { .. });
    let is_said = matches!(message.role, Role::User | Role::Tool) && message.content.iter().any(is_own);
    is_said && (shape == Written::Anthropic || openai::fitting_name(name).is_none())
}

/// A message with the name of its speaker before the words where the shape needs it.
fn with_name(mut message: Message, shape: Written) -> Message {
    let name = message.speaker.clone().filter(|name| leads_with_name(&message, name, shape));
    let Some(name) = name.as_deref().map(one_line) else { return message };
    let is_own = |block: &ContentBlock| !matches!(block, ContentBlock::ToolResult { .. });
    let at = message.content.iter().position(is_own).unwrap_or_default();
    match message.content.get_mut(at) {
        Some(ContentBlock::Text(text)) => *text = format!("{name}: {text}"),
        _ => message.content.insert(at, ContentBlock::Text(format!("{name}:"))),
    }
    message
}

impl LeftOut {
    /// Counts the times, names and files of a message that a shape leaves out.
    fn count(&mut self, shape: Written, message: &Message, at: Timestamp) {
        let fits = |name: &str| openai::fitting_name(name).is_some() && message.role != Role::System;
        let has_place = |name: &str| match shape {
            Written::OpenAi => fits(name) || leads_with_name(message, name, shape),
            Written::Anthropic => leads_with_name(message, name, shape),
            Written::Markdown | Written::Html => true,
        };
        let (has_times, has_name) = (!shape.is_json(), message.speaker.as_deref().is_none_or(has_place));
        self.times += u64::from(!has_times && at.is_known());
        self.names += u64::from(!has_name);
        self.files += match shape {
            Written::OpenAi => files(&message.content, message.role == Role::User),
            Written::Anthropic => 0,
            Written::Markdown | Written::Html => files(&message.content, false),
        };
    }
}

/// Number of pictures and files whose bytes are left out: all in tool results, and the others unless `holds` is true.
fn files(blocks: &[ContentBlock], holds: bool) -> u64 {
    let of = |block: &ContentBlock| match block {
        ContentBlock::Image(Media::Bytes { .. }) | ContentBlock::Document { media: Media::Bytes { .. }, .. } => {
            u64::from(!holds)
        }
        ContentBlock::ToolResult { content, .. } => files(content, false),
        _ => 0,
    };
    blocks.iter().map(of).sum()
}

#[cfg(test)]
mod tests;
