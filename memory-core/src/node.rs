//! A message at its position in a conversation.

use crate::{
    ContentBlock, DISABLED, DISABLED_TOKENS, ERASED, ERASED_TOKENS, ErasedLeaf, Message, NodeId, Role, Timestamp,
    proof::Salt,
};

/// A stored message with its metadata.
///
/// Its compression [`Level`](crate::Level) is not a field: it follows from the summaries that cover it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Node {
    /// Its position in the conversation.
    #[cfg_attr(feature = "serde", serde(rename = "node"))]
    pub id: NodeId,
    /// The message, exactly as it was said.
    pub message: Message,
    /// When it was said.
    pub at: Timestamp,
    /// Lines of its text, at least 1.
    #[cfg_attr(feature = "serde", serde(rename = "lines"))]
    pub line_count: u32,
    /// Tokens of its text, by the counter of the program that appended it.
    pub tokens: u32,
    /// Importance in 0..=1; 0.5 until it is scored.
    pub importance: f32,
    /// Topics of the message.
    pub topics: Vec<String>,
    /// An earlier node that it follows up or corrects.
    pub relates_to: Option<Relation>,
    /// True if the message stays verbatim in every view that it fits.
    pub pinned: bool,
    /// True if the message was erased. Then [`Self::message`] holds [`ERASED`] alone.
    #[cfg_attr(feature = "serde", serde(rename = "erased", default, skip_serializing_if = "std::ops::Not::not"))]
    pub is_erased: bool,
    /// True if the message is disabled. Then [`Self::message`] holds [`DISABLED`] alone, unless the whole message was
    /// asked for.
    #[cfg_attr(feature = "serde", serde(rename = "disabled", default, skip_serializing_if = "std::ops::Not::not"))]
    pub is_disabled: bool,
}

impl Node {
    /// Importance of a node without a score.
    pub const NEUTRAL_IMPORTANCE: f32 = 0.5;

    /// A node of one line, of no tokens and of neutral importance, to be completed by a store.
    #[must_use]
    pub const fn new(id: NodeId, message: Message, at: Timestamp) -> Self {
        Self {
            id,
            message,
            at,
            line_count: 1,
            tokens: 0,
            importance: Self::NEUTRAL_IMPORTANCE,
            topics: Vec::new(),
            relates_to: None,
            pinned: false,
            is_erased: false,
            is_disabled: false,
        }
    }

    /// The node whose message by `role`, said at this time, was erased.
    #[must_use]
    pub fn erased(id: NodeId, role: Role, at: Timestamp) -> Self {
        let message = Message::new(role, vec![ContentBlock::Text(ERASED.to_owned())]);
        Self { tokens: ERASED_TOKENS, importance: 0.0, is_erased: true, ..Self::new(id, message, at) }
    }

    /// Node as it is read while its message is disabled: only `role` and time.
    #[must_use]
    pub fn disabled(id: NodeId, role: Role, at: Timestamp) -> Self {
        let message = Message::new(role, vec![ContentBlock::Text(DISABLED.to_owned())]);
        Self { tokens: DISABLED_TOKENS, importance: 0.0, is_disabled: true, ..Self::new(id, message, at) }
    }

    /// True if the message was erased or is disabled, so that its content is not to be read.
    #[must_use]
    pub const fn is_hidden(&self) -> bool {
        self.is_erased || self.is_disabled
    }

    crate::setters! {
        const line_count: u32,
        const tokens: u32,
        const importance: f32,
        topics: Vec<String>,
        into relates_to: Option<Relation>,
        const pinned: bool,
    }

    /// Side that said the message: the user's or the model.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        NodeKind::of(self.message.role)
    }
}

/// Side that said a message: the user's or the model.
///
/// Exhaustive: every role is of one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum NodeKind {
    /// The user's side, tools and instructions included.
    User,
    /// The model.
    Ai,
}

impl NodeKind {
    /// The kind for a role.
    #[must_use]
    pub const fn of(role: Role) -> Self {
        match role {
            Role::Assistant => Self::Ai,
            Role::User | Role::System | Role::Tool => Self::User,
        }
    }

    /// `user` or `ai`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Ai => "ai",
        }
    }
}

/// How a node refers back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Relation {
    /// The earlier node.
    pub to: NodeId,
    /// Kind of the relation.
    pub kind: RelationKind,
}

/// Relation of a node to the earlier one that it refers to.
///
/// Exhaustive: a new kind is a new format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum RelationKind {
    /// Continues it.
    FollowUp,
    /// Corrects it.
    Correction,
}

/// A message about to be appended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NodeDraft {
    /// The message.
    pub message: Message,
    /// When it was said.
    pub at: Timestamp,
    /// Tokens of its text.
    pub tokens: u32,
    /// Importance in 0..=1.
    pub importance: f32,
    /// Topics of the message.
    pub topics: Vec<String>,
    /// An earlier node that it follows up or corrects.
    pub relates_to: Option<Relation>,
    /// The salt of an imported message, so that its leaf stays the same; with `None` the store draws one.
    pub salt: Option<Salt>,
    /// Remains of an imported message that was erased; role and time are kept besides.
    pub erased: Option<ErasedLeaf>,
}

impl NodeDraft {
    /// A draft of neutral importance.
    #[must_use]
    pub fn new(message: Message, at: Timestamp, tokens: u32) -> Self {
        Self {
            message,
            at,
            tokens,
            importance: Node::NEUTRAL_IMPORTANCE,
            topics: Vec::new(),
            relates_to: None,
            salt: None,
            erased: None,
        }
    }

    crate::setters! {
        const importance: f32,
        topics: Vec<String>,
        into relates_to: Option<Relation>,
        into salt: Option<Salt>,
        into erased: Option<ErasedLeaf>,
    }
}

/// The part of a node that planning needs; 24 bytes, so that a million of them fit in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeOutline {
    /// When it was said.
    pub at: Timestamp,
    /// Tokens of its text.
    pub tokens: u32,
    /// Lines of its text; `u16::MAX` stands for that many or more.
    pub line_count: u16,
    /// Tool calls that it makes, at most 255.
    pub calls: u8,
    /// Tool calls that it answers, at most 255.
    pub answers: u8,
    /// Importance in 255ths.
    importance: u8,
    /// Role of the speaker.
    pub role: Role,
    /// True if the message stays verbatim in every view that it fits.
    pub pinned: bool,
    /// True if its content is excluded from summaries.
    pub keep_out_of_summaries: bool,
    /// True if the message was erased.
    pub is_erased: bool,
    /// True if the message is disabled. Tokens and importance are those of what stands in its place.
    pub is_disabled: bool,
}

impl NodeOutline {
    /// The outline of a message by `role`, said `at` that time, with the other fields empty: for stores that fill them
    /// in without building the whole [`Node`].
    #[must_use]
    pub fn new(at: Timestamp, role: Role) -> Self {
        Self {
            at,
            tokens: 0,
            line_count: 1,
            calls: 0,
            answers: 0,
            importance: 0,
            role,
            pinned: false,
            keep_out_of_summaries: false,
            is_erased: false,
            is_disabled: false,
        }
    }

    /// The outline of `node`.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let mut outline = Self::of_message(&node.message, node.at, node.line_count);
        outline.tokens = node.tokens;
        outline.pinned = node.pinned;
        outline.is_erased = node.is_erased;
        outline.is_disabled = node.is_disabled;
        outline.set_importance(node.importance);
        outline
    }

    /// The outline of a message of `line_count` lines, said `at` that time, without tokens and importance.
    #[must_use]
    pub fn of_message(message: &Message, at: Timestamp, line_count: u32) -> Self {
        Self {
            line_count: u16::try_from(line_count).unwrap_or(u16::MAX),
            calls: u8::try_from(message.tool_calls().count()).unwrap_or(u8::MAX),
            answers: u8::try_from(message.tool_results().count()).unwrap_or(u8::MAX),
            keep_out_of_summaries: message.keep_out_of_summaries,
            ..Self::new(at, message.role)
        }
    }

    /// The outline of the same node, whose message is disabled. Its calls still belong to their answers.
    #[must_use]
    pub fn disabled(self) -> Self {
        let (tokens, line_count) = (DISABLED_TOKENS, 1);
        Self { is_disabled: true, tokens, line_count, importance: 0, pinned: false, ..self }
    }

    /// True if the message was erased or is disabled, so that its content is not to be read.
    #[must_use]
    pub const fn is_hidden(&self) -> bool {
        self.is_erased || self.is_disabled
    }

    /// Importance in 0..=1.
    #[must_use]
    pub fn importance(&self) -> f32 {
        f32::from(self.importance) / 255.0
    }

    /// Sets the importance. A value outside 0..=1 becomes the nearest end, NaN becomes 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=255 just before")]
    pub fn set_importance(&mut self, importance: f32) {
        self.importance = (importance.clamp(0.0, 1.0) * 255.0).round() as u8;
    }

    /// True if a prompt may begin here: a user's message that answers no tool call.
    #[must_use]
    pub fn begins_prompt(&self) -> bool {
        self.role == Role::User && self.answers == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_stays_small() {
        assert!(size_of::<NodeOutline>() <= 24);
    }
}
