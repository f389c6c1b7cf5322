//! Sources of words: who or what a message comes from, and what it was made from.

use std::{fmt, str::FromStr};

use crate::{Message, NodeOutline, NodeRange, Role};

/// The source of words, from the least trusted to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum SourceClass {
    /// Another program's file, through an importer.
    Import,
    /// A tool's answer.
    Tool,
    /// A plugin.
    Plugin,
    /// The model.
    Model,
    /// A document that a person added.
    Document,
    /// A person, or the application on a person's behalf.
    User,
}

impl SourceClass {
    /// All sources, from the least trusted to the most.
    pub const ALL: [Self; 6] = [Self::Import, Self::Tool, Self::Plugin, Self::Model, Self::Document, Self::User];

    /// Member of a message's metadata that names its source, where a program knows it better.
    pub const MEMBER: &'static str = "source_class";

    /// The source of a message: the one that its metadata names; an importer's, which marks its messages as `imported`;
    /// or else that of its role.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        let named = message.metadata.get(Self::MEMBER).map(crate::Json::to_value);
        if let Some(named) = named.as_ref().and_then(|value| value.as_str()?.parse().ok()) {
            return named;
        }
        match message.role {
            _ if Self::is_imported(message) => Self::Import,
            Role::Assistant => Self::Model,
            Role::Tool => Self::Tool,
            Role::User | Role::System if message.tool_results().next().is_some() => Self::Tool,
            Role::User | Role::System => Self::User,
        }
    }

    /// True if an importer brought the message.
    #[must_use]
    pub fn is_imported(message: &Message) -> bool {
        message.metadata.get("imported").is_some_and(|flag| flag.as_str() == "true")
    }

    /// The source of a message by its outline, in which metadata is missing.
    #[must_use]
    pub const fn of_outline(outline: &NodeOutline) -> Self {
        match outline.role {
            Role::Assistant => Self::Model,
            Role::User | Role::System if outline.answers == 0 => Self::User,
            Role::User | Role::System | Role::Tool => Self::Tool,
        }
    }

    /// `import`, `tool`, `plugin`, `model`, `document` or `user`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Tool => "tool",
            Self::Plugin => "plugin",
            Self::Model => "model",
            Self::Document => "document",
            Self::User => "user",
        }
    }
}

impl fmt::Display for SourceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no source: user (or person), document, model, plugin, tool or import")]
pub struct UnknownSourceClass(pub String);

impl FromStr for SourceClass {
    type Err = UnknownSourceClass;

    /// Reads what [`SourceClass::as_str`] writes, and `person` for `user`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = if text == "person" { "user" } else { text };
        let found = Self::ALL.into_iter().find(|class| class.as_str() == named);
        found.ok_or_else(|| UnknownSourceClass(text.to_owned()))
    }
}

/// Source of a message or a summary, and what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Provenance {
    /// The message, or the run that a summary covers.
    pub nodes: NodeRange,
    /// Its source; of a summary the least trusted of what it covers.
    pub source: SourceClass,
    /// The least trusted source among its own and those of everything that it was made from.
    pub lowest: SourceClass,
    /// Names of the tools whose results it is, or was made from, in order.
    pub tools: Vec<String>,
    /// Session that its metadata names.
    pub session: Option<String>,
    /// Messages that it was made from: of a model's, the results of tools since a person last spoke; of a summary, all
    /// that it covers.
    pub from: Vec<NodeRange>,
    /// Strategy or person that wrote a summary.
    pub written_by: Option<String>,
}

impl Provenance {
    /// The provenance of messages from one source that were made from nothing else.
    #[must_use]
    pub const fn new(nodes: NodeRange, source: SourceClass) -> Self {
        Self { nodes, source, lowest: source, tools: Vec::new(), session: None, from: Vec::new(), written_by: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;

    #[test]
    fn metadata_names_a_source_that_a_role_does_not_show() {
        let with = |name: &str, value: &str| {
            let mut message = Message::user("Hi");
            message.metadata.insert(name.to_owned(), Json::new(value).unwrap());
            SourceClass::of(&message)
        };
        assert_eq!(SourceClass::of(&Message::user("Hi")), SourceClass::User);
        assert_eq!(SourceClass::of(&Message::assistant("Hi")), SourceClass::Model);
        assert_eq!(with("imported", "true"), SourceClass::Import);
        assert_eq!(with("imported", "false"), SourceClass::User);
        assert_eq!(with("source_class", r#""document""#), SourceClass::Document);
        assert_eq!(with("source_class", r#""friend""#), SourceClass::User);
        assert!(SourceClass::ALL.iter().all(|class| class.as_str().parse() == Ok(*class)));
        assert_eq!("person".parse(), Ok(SourceClass::User));
        assert!(SourceClass::ALL.is_sorted());
    }
}
