//! Counts of content that a shape leaves out.

use schemars::JsonSchema;
use serde::Serialize;

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
}
