//! Types, ports and pure planning of an agent's memory.
//!
#![doc = include_str!("../README.md")]
//!
//! # Guide
//!
//! In the order in which a user meets them:
//!
//! 1. A [`Message`] has a [`Role`] and [`ContentBlock`]s. [`message_from_json`] reads it in the shape of Anthropic's
//!    Messages API.
//! 2. A [`Store`] appends it to the conversation of a [`ConversationId`] and reads it back as a [`Node`] with a
//!    [`NodeId`], dense from 1. A [`NodeRange`] is a run of nodes.
//! 3. A [`Summary`] covers a run of nodes at a [`Level`]. A [`Summarizer`] writes it, an [`ImportanceScorer`] scores
//!    the messages, and a [`TokenCounter`] counts what they cost.
//! 4. [`plan`] decides: a [`Tree`](plan::Tree) holds the shape of a conversation,
//!    [`plan_compaction`](plan::plan_compaction) lists the summaries to write, and a [`ContextStrategy`] chooses the
//!    [`Cut`](plan::Cut) that fits a budget. [`plan::list`] decides over a caller's own list of messages.
//! 5. A [`Retriever`] finds the messages that answer a [`Query`]: a question, a [`Scope`] and a [`Filter`].
//! 6. A [`View`] records what a model was shown, so that the text can be written out again byte for byte.
//! 7. A [`MessageProof`] or [`HistoryProof`] proves, against a Merkle root, that a message is in a conversation or that
//!    a conversation only grew.
//!
//! # Modules
//!
//! The root has messages, nodes, summaries and what names them. Traits to implement and the types of their calls are in
//! [`port`], decisions in [`plan`], records of what was shown in [`view`], Merkle trees and proofs in [`proof`], shapes
//! of messages in [`json`], times in [`time`], and safe text in [`text`].
//!
//! # Ports
//!
//! Engines in other crates implement the ports. A program holds each of them as `Arc<dyn Port>`:
//!
//! - [`Store`] keeps conversations; [`Source`], which every store is, is the little of it that a searcher reads.
//!   [`OwnedStore`] shows those of one owner, [`PastStore`] one as it was. [`BlockCache`] keeps derived data between
//!   runs. [`Derived`] lists, checks and forgets everything that is derived.
//! - [`Embedder`], [`TokenEmbedder`] and [`Reranker`] run models for search. [`VectorIndex`] and [`TokenIndex`] keep
//!   the vectors.
//! - [`Retriever`] searches and recalls.
//! - [`ConversationManager`] keeps a conversation small enough for a model. [`Summarizer`], [`ImportanceScorer`] and
//!   [`ContextStrategy`] are the replaceable strategies of the default one.
//! - [`ChatModel`] replies, [`TokenCounter`] counts and [`Clock`] returns the time. A [`Spawner`] has threads for work
//!   that blocks.
//!
//! Asynchronous ports return a [`BoxFuture`] and name no runtime. Each port documents its contract.
//!
//! # Features
//!
//! `testing` adds the module `testing`: in-memory fakes of the ports, generators for property tests, and conformance
//! suites for implementations of [`Store`], [`Source`], [`VectorIndex`], [`BlockCache`], [`ConversationManager`],
//! [`Summarizer`] and [`Derived`].
//!
//! `serde` implements `Serialize` and `Deserialize` for what programs pass to each other: ids, messages in the shape of
//! [`message_to_json`], nodes, summaries, hits, notices, requests to chat models, and the states of conversations. The
//! whole answers of a search ([`Retrieved`], [`Recall`]) are only written. The feature brings no further crate.
//!
//! # Non-goals
//!
//! No encoding for disk, no file or network access, no threads, no clock, no randomness, no async runtime.
//!
//! [`message_from_json`]: json::message_from_json
//! [`message_to_json`]: json::message_to_json
//! [`BlockCache`]: port::BlockCache
//! [`BoxFuture`]: port::BoxFuture
//! [`ChatModel`]: port::ChatModel
//! [`Clock`]: port::Clock
//! [`ContextStrategy`]: port::ContextStrategy
//! [`ConversationManager`]: port::ConversationManager
//! [`Derived`]: port::Derived
//! [`Embedder`]: port::Embedder
//! [`ImportanceScorer`]: port::ImportanceScorer
//! [`OwnedStore`]: port::OwnedStore
//! [`PastStore`]: port::PastStore
//! [`Query`]: port::Query
//! [`Recall`]: port::Recall
//! [`Reranker`]: port::Reranker
//! [`Retrieved`]: port::Retrieved
//! [`Retriever`]: port::Retriever
//! [`Scope`]: port::Scope
//! [`Source`]: port::Source
//! [`Spawner`]: port::Spawner
//! [`Store`]: port::Store
//! [`Summarizer`]: port::Summarizer
//! [`TokenCounter`]: port::TokenCounter
//! [`TokenEmbedder`]: port::TokenEmbedder
//! [`TokenIndex`]: port::TokenIndex
//! [`VectorIndex`]: port::VectorIndex
//! [`HistoryProof`]: proof::HistoryProof
//! [`MessageProof`]: proof::MessageProof
//! [`View`]: view::View

mod components;
mod disabling;
mod erasure;
mod filter;
mod hash;
mod id;
pub mod json;
mod mark;
mod message;
mod node;
mod node_set;
mod own_tools;
mod owner;
pub mod plan;
pub mod port;
pub mod proof;
mod range;
mod setters;
mod source_class;
mod spoken_by;
mod summary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod time;
mod used;
pub mod view;
#[cfg(feature = "serde")]
mod wire;

pub use components::{AiComponents, Attachment, AttachmentKind, ToolAnswer, ToolCall};
pub use disabling::{DISABLED, DISABLED_TOKENS, Disabling, Disablings};
pub use erasure::{ERASED, ERASED_TOKENS, ErasedKey, ErasedLeaf, Erasure, ErasureId, InvalidErasureId};
pub use filter::Filter;
pub use hash::{Hash, InvalidHash};
pub use id::{ConversationId, InvalidConversationId, ModelId, NodeId, NoteId, SummaryId, UnfitName, ViewId};
pub use json::Json;
pub use mark::{Mark, UnknownMark};
pub use message::{ContentBlock, InvalidMessageKey, Media, Message, MessageKey, Role};
pub use node::{Node, NodeDraft, NodeKind, NodeOutline, Relation, RelationKind};
pub use node_set::NodeSet;
pub use own_tools::{OWN_TOOLS, is_own_tool};
pub use owner::{InvalidOwnerId, OwnerId};
pub use range::NodeRange;
pub use source_class::{Provenance, SourceClass, UnknownSourceClass};
pub use summary::{Level, Summary, SummaryDraft, SummaryMetadata, SummaryOutline, WrittenBy};
pub use time::Timestamp;
pub use used::MemoryUsed;
