//! What a shape has no place for.

/// What a shape has no place for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Blocks of reasoning.
    pub reasoning: u64,
    /// Blocks that are written as text.
    pub as_text: u64,
}
