//! A fault of the configuration file, and where it is.

use std::{fmt, ops::Range, path::Path};

use memory_core::text::one_line;
use schemars::JsonSchema;
use serde::Serialize;

use super::keys::shown;

/// A line and a character in it, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct Position {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The character in it, from 1.
    pub(crate) column: usize,
}

impl Position {
    pub(super) fn of(text: &str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }
}

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The file does not exist.
    Missing,
    /// The file cannot be read, or it is not TOML there.
    Unreadable,
    /// The key or table does not exist.
    Unknown,
    /// A key has a value that it does not take.
    Value,
    /// A secret, which does not belong there.
    Secret,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Fault {
    #[serde(skip)]
    pub(crate) kind: FaultKind,
    #[serde(flatten)]
    pub(crate) place: Option<Position>,
    /// The table.
    pub(crate) table: Option<String>,
    /// The key.
    pub(crate) key: Option<String>,
    /// The fault.
    pub(crate) why: String,
}

impl Fault {
    pub(super) fn new(kind: FaultKind, place: Option<Position>, why: impl Into<String>) -> Self {
        Self { kind, place, table: None, key: None, why: why.into() }
    }

    pub(super) fn at(mut self, table: Option<&str>, key: &str) -> Self {
        (self.table, self.key) = (table.map(str::to_owned), Some(key.to_owned()));
        self
    }

    /// True if the fault may hide that another store or owner is meant.
    pub(crate) fn may_hide_the_store(&self) -> bool {
        match self.kind {
            FaultKind::Missing | FaultKind::Unreadable => true,
            FaultKind::Unknown => self.table.is_none(),
            FaultKind::Value | FaultKind::Secret => {
                self.table.is_none() && matches!(self.key.as_deref(), Some("store" | "owner"))
            }
        }
    }

    /// One line, as compilers name places: `FILE:3:1: …`.
    pub(crate) fn line(&self, file: &Path) -> String {
        let place = self.place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
        one_line(&format!("{}{place}: {self}", file.display())).into_owned()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.key, self.kind) {
            (Some(key), FaultKind::Value) => write!(f, "{}: {}", shown(self.table.as_deref(), key), self.why),
            _ => f.write_str(&self.why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_characters_from_one() {
        let text = "a = 1\n\nμ = \"é\"x\n";
        let at = |byte: usize| Position::of(text, &(byte..byte));
        assert_eq!(at(0), Position { line: 1, column: 1 });
        assert_eq!(at(4), Position { line: 1, column: 5 });
        assert_eq!(at(text.find('x').unwrap()), Position { line: 3, column: 8 });
        assert_eq!(at(99), Position { line: 4, column: 1 }, "past the end");
    }
}
