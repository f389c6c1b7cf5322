//! Sources of words.

use crate::{Message, NodeOutline, Role};

/// The source of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SourceClass {
    /// Another program's file, through an importer.
    Import,
    /// A tool's answer.
    Tool,
    /// The model.
    Model,
    /// A person, or the application on a person's behalf.
    User,
}

impl SourceClass {
    /// The source of a message. Importers mark it in the metadata, as `imported`.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        let is_imported = message.metadata.get("imported").is_some_and(|flag| flag.as_str() == "true");
        match message.role {
            _ if is_imported => Self::Import,
            Role::Assistant => Self::Model,
            Role::Tool => Self::Tool,
            Role::User | Role::System if message.tool_results().next().is_some() => Self::Tool,
            Role::User | Role::System => Self::User,
        }
    }

    /// The source of a message by its outline, in which an importer's mark is missing.
    #[must_use]
    pub const fn of_outline(outline: &NodeOutline) -> Self {
        match outline.role {
            Role::Assistant => Self::Model,
            Role::User | Role::System if outline.answers == 0 => Self::User,
            Role::User | Role::System | Role::Tool => Self::Tool,
        }
    }

    /// `import`, `tool`, `model` or `user`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::User => "user",
        }
    }
}
