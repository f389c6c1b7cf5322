//! What a shape has no place for.

use memory_core::{ContentBlock, Media, Message, Role, Timestamp};

use super::Written;

/// What a shape has no place for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Blocks of reasoning.
    pub reasoning: u64,
    /// Blocks that are written as text.
    pub as_text: u64,
    /// Messages whose speaker's name is not written.
    pub names: u64,
    /// Messages whose time is not written.
    pub times: u64,
    /// Pictures and files that are named and not held.
    pub files: u64,
    /// Calls without a result, in whose place a result says so.
    pub unanswered: u64,
}

impl LeftOut {
    /// Counts what a shape leaves out of every message: times, names and files.
    pub(super) fn count(&mut self, shape: Written, message: &Message, at: Timestamp) {
        let speaker = message.speaker.as_deref();
        let (has_times, has_name) = match shape {
            Written::OpenAi => {
                (false, speaker.is_none_or(|name| super::openai::is_name(name) && message.role != Role::System))
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

/// Pictures and files with their bytes that are not held: those that tools gave, and all where nothing holds them.
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
