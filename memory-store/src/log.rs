//! The append-only log: segments of frames, one writer thread, readers that never wait for it.

mod backup;
mod batch;
mod checkpoint;
mod codec;
mod conversation;
mod directory;
mod doctor;
mod enclosing;
mod failure;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod growing;
mod horizon;
mod keys;
mod leaves;
mod lock;
mod media;
mod nodes;
mod options;
mod prepared;
mod queue;
mod reader;
mod recovery;
mod replay;
mod rescue;
mod revised;
mod salvage;
mod scan;
mod segment;
mod shared;
mod shared_vec;
mod squeezed;
mod state;
mod store;
mod summaries;
mod summary_cache;
mod survey;
mod tail;
#[cfg(test)]
mod tests;
mod vacuum;
mod verify;
mod views;
mod writer;

pub use backup::{BackupCheck, BackupReport, RestoreReport, check_backup, restore};
pub use doctor::{Checkup, ConversationLabel, Diagnosis, Finding, examine};
pub use enclosing::enclosing_store;
pub(crate) use frame::StoreId;
pub(crate) use leaves::Leaves;
pub use options::LogOptions;
pub use recovery::{LostNodes, OpenReport, TornTail};
pub use rescue::RescueError;
pub use salvage::{SalvageReport, salvage};
pub use squeezed::{LostBlocks, ReadAt, SqueezeError, SqueezeOptions, Squeezed, squeeze};
pub use state::Damage;
pub use store::LogStore;
pub use vacuum::{VacuumOptions, VacuumReport};
