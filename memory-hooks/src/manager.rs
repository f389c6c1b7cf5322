//! Conversation managers, which keep a history small.

pub(crate) mod compacting;
pub(crate) mod failing;
pub(crate) mod hierarchical;
mod history;
mod retelling;
pub(crate) mod rewriting;
pub(crate) mod turns;
pub(crate) mod writing;
