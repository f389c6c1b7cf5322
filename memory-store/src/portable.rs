//! Conversations as files: one conversation as lines of JSON, and back to the same Merkle root.
//!
//! `docs/format.md`, section "Export", defines the lines.

mod error;
mod export;
mod file;
mod import;
mod line;
mod spool;
#[cfg(test)]
mod tests;

pub use error::ExchangeError;
pub use export::{Exported, export};
pub use file::ExportFile;
pub use import::{ImportedExport, import};
pub use spool::{ReadLimits, Spool, StreamTooLong};

use memory_core::{NodeId, NodeRange};

/// Version of the lines of a conversation without an owner.
const FORMAT: u32 = 1;
/// Version of the lines of a conversation that has an owner.
const WITH_OWNER: u32 = 2;
/// Version of the lines of a conversation that has notes.
const WITH_NOTES: u32 = 3;
/// Version of the lines of a conversation with summaries that serve single views, with or without owner and notes.
const WITH_VIEWS: u32 = 4;
/// Version of the lines of a conversation with erased messages, with or without the others.
const WITH_ERASED: u32 = 5;
/// Version of the lines of a conversation with disabled messages or summaries, with or without the others; the highest
/// that this module reads.
const WITH_DISABLED: u32 = 6;
/// Bytes of lines that are held at once, apart from one line that is longer.
const RUN_BYTES: usize = 4 << 20;
/// Most nodes, summaries or notes that are held at once.
const RUN: usize = 512;

/// Most notes that are read at once: each may be as long as the longest record.
const NOTES: u64 = 16;

/// The run of at most `most` nodes after the first `done` of `nodes`.
fn run(done: u64, most: u64, nodes: u64) -> Option<NodeRange> {
    NodeRange::new(NodeId::new(done.saturating_add(1))?, NodeId::new(nodes.min(done.saturating_add(most)))?)
}
