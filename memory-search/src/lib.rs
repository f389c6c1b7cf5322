//! Retrieval by words and by meaning, and packing under a token budget.
//!
//! [`HybridRetriever`] implements [`Retriever`](memory_core::Retriever) over a store, an embedding model and an index
//! of its vectors, the latter two of which may be missing. [`find`] looks for regular expressions in the messages
//! themselves, [`pack`] chooses what to show, and [`Explanation`] says why.
//!
//! Non-goals: keeping messages or vectors, running models, summaries.
//!
//! ```
//! # use std::sync::Arc;
//! use memory_core::{ConversationId, Message, NodeDraft, Query, Retriever, Scope, Store, Timestamp};
//! # use memory_core::testing::MemoryStore;
//! use memory_search::HybridRetriever;
//!
//! # pollster::block_on(async {
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
//! let trip = ConversationId::new("trip")?;
//! let said = ["Where do we stay?", "The booking is QX-4471-93B, for two nights."];
//! let said = said.map(|text| NodeDraft::new(Message::user(text).by("Maya"), Timestamp::from_millis(0), 12));
//! store.append(&trip, said.to_vec()).await?;
//!
//! let retriever = HybridRetriever::new(store, None, None);
//! let query = Query::new("which booking was for nights?", Scope::one(&trip));
//! let found = retriever.search(&query).await?;
//! assert_eq!(found.hits[0].node.get(), 2);
//! assert_eq!(found.notices, ["recall is by words only: no embedding model is set up"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod complexity;
mod explain;
mod features;
mod find;
mod fuse;
mod late;
mod lexical;
mod nearest;
mod notices;
mod pack;
mod pairs;
mod question;
mod ranker;
mod ranking;
mod recheck;
mod rerank;
mod retriever;
mod selection;
mod semantic;
mod shared_past;
mod stopwatch;
mod worth;

pub use explain::Explanation;
pub use find::{FindError, FindRequest, Found, LeftOut, Match, find};
pub use pack::{Characters, Lengths, PackRequest, Packed, TooLarge, pack, reach};
pub use pairs::Pairs;
pub use rerank::RerankOptions;
pub use retriever::HybridRetriever;
