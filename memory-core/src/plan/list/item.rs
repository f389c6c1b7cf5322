//! Outline of a message in a list.

use super::shorten::{can_be_shortened, shorten_block};
use crate::{ContentBlock, Json, Message, Role};

/// Outline of a message in a list, as plans need it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListItem {
    /// Role of the speaker.
    pub role: Role,
    /// Ids of its tool calls.
    pub calls: Vec<String>,
    /// Ids of the tool calls that it answers.
    pub results: Vec<String>,
    /// True if the message itself is pinned.
    pub pinned: bool,
    /// True if one of the message's tool results can be shortened.
    pub can_be_shortened: bool,
    /// True if the manager wrote the message as a summary.
    pub is_own: bool,
    /// Characters of its text.
    pub length: usize,
}

impl ListItem {
    /// A message without tool calls.
    #[must_use]
    pub const fn new(role: Role, length: usize) -> Self {
        Self {
            role,
            calls: Vec::new(),
            results: Vec::new(),
            pinned: false,
            can_be_shortened: false,
            is_own: false,
            length,
        }
    }

    crate::setters! {
        calls: Vec<String>,
        results: Vec<String>,
        const pinned: bool,
        const can_be_shortened: bool,
        const is_own: bool,
    }
}

/// A message of a list, in any program's shape.
pub trait Listed: Clone {
    /// Outline of the message. Its `is_own` is false: only the manager knows its own summaries.
    fn item(&self) -> ListItem;

    /// Pins the message.
    fn pin(&mut self);

    /// Shortens the texts of its tool results with [`shorten_text`](super::shorten_text), and replaces their pictures
    /// with a line.
    fn shorten_results(&mut self);

    /// True if both are the same message, pinned or not.
    fn is_same(&self, other: &Self) -> bool;
}

/// Metadata member of a message that pins it in a list.
const PINNED: &str = "pinned";

impl Listed for Message {
    /// Outline of the message, pinned by `"pinned": true` in the metadata.
    fn item(&self) -> ListItem {
        ListItem::new(self.role, self.text().chars().count())
            .calls(self.tool_calls().map(str::to_owned).collect())
            .results(self.tool_results().map(str::to_owned).collect())
            .pinned(self.metadata.get(PINNED).is_some_and(|pinned| pinned.as_str() == "true"))
            .can_be_shortened(self.content.iter().any(can_be_shortened))
    }

    fn pin(&mut self) {
        self.metadata.insert(PINNED.to_owned(), Json::from_value(&true.into()));
    }

    fn shorten_results(&mut self) {
        for block in &mut self.content {
            if let ContentBlock::ToolResult { content, .. } = block {
                content.iter_mut().for_each(shorten_block);
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (&self.key, &other.key) {
            (Some(key), Some(other)) => key == other,
            _ => self.role == other.role && self.content == other.content,
        }
    }
}
