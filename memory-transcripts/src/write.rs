//! Writes a conversation in a shape that other programs read, message by message.

mod anthropic;
mod heading;
mod html;
mod left_out;
mod markdown;
mod openai;
mod pairs;
mod text;

use std::{fmt, io, io::Write, str::FromStr};

pub use heading::Heading;
pub use left_out::LeftOut;
use memory_core::{ContentBlock, Media, Message, Role, Timestamp};

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

/// Writes messages as a stream, in memory proportional to one message.
#[derive(Debug)]
pub struct MessageWriter<W> {
    out: W,
    shape: Shape,
    pairs: pairs::Pairs,
    left_out: LeftOut,
}

#[derive(Debug)]
enum Shape {
    OpenAi(openai::OpenAi),
    Anthropic(anthropic::Anthropic),
    Markdown,
    Html,
}

impl<W: Write> MessageWriter<W> {
    /// Writes everything above the messages.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn begin(mut out: W, shape: Written, heading: Heading<'_>) -> io::Result<Self> {
        let shape = match shape {
            Written::OpenAi => Shape::OpenAi(openai::OpenAi::begin(&mut out)?),
            Written::Anthropic => Shape::Anthropic(anthropic::Anthropic::begin(&mut out)?),
            Written::Markdown => {
                markdown::begin(&mut out, heading)?;
                Shape::Markdown
            }
            Written::Html => {
                html::begin(&mut out, heading)?;
                Shape::Html
            }
        };
        Ok(Self { out, shape, pairs: pairs::Pairs::default(), left_out: LeftOut::default() })
    }

    /// Writes the next message.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write(&mut self, message: &Message, at: Timestamp) -> io::Result<()> {
        let shape = match &self.shape {
            Shape::OpenAi(_) => Written::OpenAi,
            Shape::Anthropic(_) => Written::Anthropic,
            Shape::Markdown => Written::Markdown,
            Shape::Html => Written::Html,
        };
        self.left_out.count(shape, message, at);
        match &self.shape {
            Shape::OpenAi(_) | Shape::Anthropic(_) => {
                let paired = self.pairs.next(message.clone(), &mut self.left_out);
                self.write_paired(&paired)
            }
            Shape::Markdown => markdown::write(&mut self.out, message, at),
            Shape::Html => html::write(&mut self.out, message, at),
        }
    }

    fn write_paired(&mut self, messages: &[Message]) -> io::Result<()> {
        messages.iter().try_for_each(|message| match &mut self.shape {
            Shape::OpenAi(openai) => openai.write(&mut self.out, message, &mut self.left_out),
            Shape::Anthropic(anthropic) => anthropic.write(&mut self.out, message, &mut self.left_out),
            Shape::Markdown | Shape::Html => Ok(()),
        })
    }

    /// Writes everything below the messages; returns counts of content that was left out.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn end(mut self) -> io::Result<LeftOut> {
        let paired = self.pairs.end(&mut self.left_out);
        self.write_paired(&paired)?;
        match self.shape {
            Shape::OpenAi(_) => openai::end(&mut self.out)?,
            Shape::Anthropic(anthropic) => anthropic.end(&mut self.out)?,
            Shape::Markdown => {}
            Shape::Html => html::end(&mut self.out)?,
        }
        self.out.flush()?;
        Ok(self.left_out)
    }
}

impl LeftOut {
    /// Counts the times, names and files of a message that a shape leaves out.
    fn count(&mut self, shape: Written, message: &Message, at: Timestamp) {
        let speaker = message.speaker.as_deref();
        let (has_times, has_name) = match shape {
            Written::OpenAi => {
                (false, speaker.is_none_or(|name| openai::is_name(name) && message.role != Role::System))
            }
            Written::Anthropic => (false, speaker.is_none()),
            Written::Markdown | Written::Html => (true, true),
        };
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
