//! Conversations in an append-only log on disk, and the caches derived from it.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! 1. Open a [`LogStore`] with [`LogStore::open`]; [`LogOptions`] sets its sizes and limits. It implements the port
//!    [`Store`](memory_core::port::Store). [`LogStore::report`] returns the [`OpenReport`] with any [`Damage`],
//!    [`LostNodes`] and [`TornTail`]. [`LogStore::open_read_only`] works on read-only media, too.
//! 2. Search by meaning with an [`AutoIndex`] next to the store. It scans small conversations and walks a graph of near
//!    neighbours through large ones, as its [`AutoOptions`] state. [`ExactIndex`] always scans. Both implement
//!    [`VectorIndex`](memory_core::port::VectorIndex).
//! 3. [`QuantizedTokens`] stores a few bits for each component of the vectors of tokens, for late interaction.
//!    [`BlockFiles`] stores blocks that a search derives, such as its index of words. [`forget_other_models`] removes
//!    the caches of models that are no longer used. [`DerivedFiles`] lists, checks and forgets what these files hold,
//!    [`RecordedQuestions`] what recorded views hold; both are [`Derived`](memory_core::port::Derived).
//! 4. [`LogStore::backup`] copies a store while it is in use. [`check_backup`] compares a backup with its checksums and
//!    [`restore`] makes a store of it. [`LogStore::vacuum`] drops dead records and compresses sealed segments, as its
//!    [`VacuumOptions`] state.
//!    [`scan_bytes`] searches every file of a store for texts, such as erased ones.
//! 5. After damage, [`examine`] returns a [`Diagnosis`] and changes nothing. [`salvage`] makes a new store of all that
//!    is whole.
//! 6. [`export`] writes a conversation of any store as lines of JSON. [`ExportFile`] checks such a file, and [`import`]
//!    adds it to a store, where the conversation has the same Merkle root.
//!
//! Several processes may open one store. They take turns at writing, and reads never wait for a writer. No async
//! runtime is needed. `docs/format.md` defines every byte of every file.
//!
//! Some parts also work without a store: [`Graph`] over rows of [`Codes`], [`Kernels`] and [`quantize`] for inner
//! products of vectors, and [`compress_segment`] and [`CompressedSegment`] for compressed segments.
//!
//! # Features
//!
//! None is on by default.
//!
//! - `hnsw-rs`: the crate hnsw_rs as another graph, `Method::HnswRs`.
//! - `fuzzing`: entry points for fuzzers and their tests, not covered by semantic versioning.
//!
//! # Non-goals
//!
//! Deciding what to keep or show (`memory-core`), computing embeddings (`memory-embed`), and searching by words
//! (`memory-search`).

mod checksum;
mod derived;
mod log;
mod portable;
mod prefetch;
#[cfg(feature = "serde")]
mod reports;
mod wire;

pub use derived::{
    AutoIndex, AutoOptions, BlockFiles, Codes, DerivedBlocks, DerivedFiles, ExactIndex, Graph, GraphOptions, Kernels,
    Method, Near, QuantizedTokens, RecordedQuestions, TokenBits, forget_other_models, quantize,
};
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub use log::fuzzing;
pub use log::{
    BackupCheck, BackupReport, CompressedSegment, CompressionError, CompressionOptions, ConversationLabel,
    ConversationReport, Damage, Diagnosis, EncryptionChange, EncryptionChanged, Finding, FoundBytes, LogOptions,
    LogStore, LostNodes, MasterKey, OpenReport, ReadAt, RescueError, RestoreReport, SalvageReport, TextSet, TornTail,
    VacuumOptions, VacuumReport, backup_taken, change_encryption, check_backup, compress_segment, enclosing_store,
    examine, examine_with, is_backup_encrypted, must_open_again, restore, salvage, salvage_with, scan_bytes,
};
pub use portable::{
    ExchangeError, ExportFile, Exported, ImportedExport, ReadLimits, Spool, StreamTooLong, export, import,
};
