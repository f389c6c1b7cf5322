//! An agent's memory as a whole: conversations that are appended to, compacted, shown and recalled from.
//!
//! [`Memory::builder`] takes the ports of `memory-core` as `Arc<dyn …>` and needs no sibling crate: bring the
//! log of `memory-store` or a store of your own. A [`Conversation`] appends messages, keeps the summary tree
//! compacted, and assembles a [`Context`]: what a model is shown for a question, every message represented
//! exactly once, and beside it the exact words that bear on the question. What was shown is recorded, and
//! [`Conversation::as_of`] shows it again byte for byte. [`HookRegistry`] lets others take
//! part; [`RecallHook`] adds recalled words to a user's message.
//!
//! Non-goals: storage, embedding, search (ports), and talking to a model's provider.
//!
//! ```
//! use std::sync::Arc;
//! use memory_core::{ConversationId, Message, testing::{MemoryStore, ScanRetriever, WordCounter}};
//! use memory_hooks::{ContextOptions, Memory};
//!
//! # pollster::block_on(async {
//! let store = Arc::new(MemoryStore::default()); // a real one: memory_store::LogStore
//! let memory = Memory::builder()
//!     .store(store.clone())
//!     .token_counter(Arc::new(WordCounter))
//!     .retriever(Arc::new(ScanRetriever::new(store)))
//!     .build()?;
//! let trip = memory.conversation(ConversationId::new("trip")?);
//! trip.append(Message::user("The train leaves at 7:42 from platform 9.")).await?;
//! let context = trip.context("When does the train leave?", &ContextOptions::tokens(400)).await?;
//! assert!(context.text().contains("7:42"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod clock;
mod context;
mod conversation;
mod counts;
mod debts;
mod error;
mod events;
mod followed;
mod kept_out;
mod manager;
mod memory;
mod prices;
mod recall_hook;
mod registry;
mod render;
mod replay;
mod shorten;
mod spending;
mod stats;
mod uses;
mod view_error;

pub use clock::SystemClock;
pub use context::{Context, ContextOptions, Piece, PieceKind, Reduction, Source};
pub use conversation::{Added, Conversation};
pub use error::{BuildError, MemoryError};
pub use events::{Compacted, CompactionFailed, FellBack, HookEvent, MessageAdded, RecallUsed};
pub use kept_out::asks_to_be_kept_out;
pub use manager::{
    hierarchical::CompactionReport,
    rewriting::{Resummarize, ResummarizeReport},
};
pub use memory::{Memory, MemoryBuilder};
pub use prices::Prices;
pub use recall_hook::{RecallBudget, RecallHook, RecallHookOptions};
pub use registry::{Hook, HookProvider, HookRegistry};
pub use replay::AsOf;
pub use spending::{Alternatives, Prompts, Spending};
pub use stats::ConversationStats;
pub use view_error::{Difference, ViewError};
