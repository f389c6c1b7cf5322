//! Conversation managers, which keep a history small.

pub(crate) mod adopting;
pub(crate) mod compacting;
pub(crate) mod failing;
mod history;
pub(crate) mod repairing;
mod retelling;
pub(crate) mod rewriting;
pub(crate) mod tree;
pub(crate) mod turns;
pub(crate) mod writing;
