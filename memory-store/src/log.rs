//! The append-only log: segments of frames, one writer thread, readers that never wait for it.

mod failure;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub(crate) mod keys;
mod media;
mod options;
mod read;
mod state;
pub(crate) mod store;
#[cfg(test)]
mod tests;
mod upkeep;
mod write;

pub use format::compressed::{CompressedSegment, CompressionError, CompressionOptions, ReadAt, compress_segment};
pub use keys::{EncryptionChange, MasterKey, must_open_again};
pub use options::LogOptions;
pub use read::recovery::OpenReport;
pub use state::damage::{Damage, LostNodes, TornTail};
pub(crate) use store::Leaves;
pub use store::LogStore;
pub use upkeep::{
    backup::{BackupCheck, BackupReport, RestoreReport, backup_taken, check_backup, is_backup_encrypted, restore},
    byte_scan::{FoundBytes, TextSet, scan_bytes},
    doctor::{ConversationLabel, ConversationReport, Diagnosis, Finding, examine, examine_with},
    enclosing::enclosing_store,
    encrypt::{EncryptionChanged, change_encryption},
    rescue::RescueError,
    salvage::{SalvageReport, salvage, salvage_with},
    vacuum::{VacuumOptions, VacuumReport},
};
pub(crate) use write::prepared::{check_event, check_message};
