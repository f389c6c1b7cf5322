//! The append-only log and the vector indexes beside it.
//!
//! [`LogStore`] keeps conversations for ever: an append returns when it is on disk, a crash loses nothing that
//! was acknowledged, and damage is found, named and read around. [`ExactIndex`] is a cache of vectors: losing
//! it loses time, never data. [`export`] writes a conversation of any store as lines of JSON, [`import`] brings it back
//! to the same Merkle root. `docs/format.md` defines every byte of all of them.
//!
//! Non-goals: deciding what to keep or show (that is `memory-core`), embedding, searching by words.
//!
//! ```
//! use memory_core::{ConversationId, Message, NodeDraft, Store, Timestamp};
//! use memory_store::LogStore;
//!
//! # pollster::block_on(async {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path();
//! let store = LogStore::open(path)?;
//! let talk = ConversationId::new("talk")?;
//! let draft = NodeDraft::new(Message::user("The budget is 4,200 euros."), Timestamp::from_millis(0), 8);
//! let appended = store.append(&talk, vec![draft]).await?;
//!
//! drop(store);
//! let store = LogStore::open(path)?;
//! let node = store.node(&talk, appended[0].node).await?;
//! assert_eq!(node.message.text(), "The budget is 4,200 euros.");
//! assert!(store.verify(None).await?.is_whole());
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

mod blocks;
mod cache_format;
mod checksum;
mod exchange;
mod log;
mod other_models;
mod prefetch;
mod tokens;
mod turn;
mod vector;
mod wire;

pub use blocks::BlockFiles;
pub use exchange::{ExchangeError, ExportFile, Exported, ImportedExport, export, import};
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use log::fuzzing;
pub use log::{
    BackupCheck, BackupReport, Checkup, ConversationLabel, Damage, Diagnosis, Finding, LogOptions, LogStore,
    LostBlocks, LostNodes, OpenReport, ReadAt, RescueError, RestoreReport, SalvageReport, SqueezeError, SqueezeOptions,
    Squeezed, TornTail, VacuumOptions, VacuumReport, check_backup, enclosing_store, examine, restore, salvage, squeeze,
};
pub use other_models::forget_other_models;
pub use tokens::{QuantizedTokens, TokenBits};
pub use vector::{
    AutoIndex, AutoOptions, Codes, ExactIndex, Graph, GraphBinding, GraphOptions, Kernels, Method, Near, SetAside,
    quantize,
};
#[cfg(feature = "hnsw-rs")]
pub use vector::{HnswRs, HnswRsError, HnswRsOptions};
