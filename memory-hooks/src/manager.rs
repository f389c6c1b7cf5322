//! Conversation managers, which keep a history small.

pub(crate) mod adopting;
pub(crate) mod compacting;
mod density;
pub(crate) mod failing;
mod history;
pub(crate) mod locks;
mod merged_sources;
pub(crate) mod repairing;
pub(crate) mod rewriting;
pub(crate) mod tree;
pub(crate) mod writing;
