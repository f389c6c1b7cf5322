//! Conversation managers, which keep a history small.

pub(crate) mod failing;
pub(crate) mod hierarchical;
mod retelling;
pub(crate) mod rewriting;
pub(crate) mod turns;
pub(crate) mod writing;
