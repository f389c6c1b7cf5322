//! Contents that a shape has no place for.

use schemars::JsonSchema;
use serde::Serialize;

/// Contents that a shape has no place for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
