//! The append-only log: segments of frames, one writer thread, readers that never wait for it.

mod failure;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod leaves;
mod media;
mod options;
mod read;
pub(crate) mod recordable;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod upkeep;
mod write;

pub use format::compressed::{CompressedSegment, CompressionError, CompressionOptions, ReadAt, compress_segment};
pub(crate) use leaves::Leaves;
pub use options::LogOptions;
pub use read::recovery::OpenReport;
pub use state::damage::{Damage, LostNodes, TornTail};
pub use store::LogStore;
pub use upkeep::{
    backup::{BackupCheck, BackupReport, RestoreReport, backup_taken, check_backup, restore},
    doctor::{ConversationLabel, ConversationReport, Diagnosis, Finding, examine},
    enclosing::enclosing_store,
    rescue::RescueError,
    salvage::{SalvageReport, salvage},
    vacuum::{VacuumOptions, VacuumReport},
};
