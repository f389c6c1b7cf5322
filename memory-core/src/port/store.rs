//! Port: the store of conversations.

use std::fmt;

use super::{BoxFuture, Changes, Revision, Source, StoreError};
use crate::{
    ConversationId, Hash, MessageKey, Node, NodeDraft, NodeId, NodeRange, OwnerId, Salt, Summary, SummaryDraft,
    SummaryId, Timestamp, View, ViewDraft, ViewId, WrittenBy,
};

/// The result of appending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Appended {
    /// Its position.
    pub node: NodeId,
    /// `false` when its key already names the same message: nothing was written.
    #[cfg_attr(feature = "serde", serde(rename = "new"))]
    pub is_new: bool,
}

impl Appended {
    /// A message that was written at `node`.
    #[must_use]
    pub const fn new(node: NodeId) -> Self {
        Self { node, is_new: true }
    }

    /// A message that `node` already holds under the same key.
    #[must_use]
    pub const fn existing(node: NodeId) -> Self {
        Self { node, is_new: false }
    }
}

/// A record of a conversation that is not a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A strategy wrote a summary. A later one of the same level, span and children, written from another input,
    /// supersedes it: both are kept, and the later words are shown.
    Summary(SummaryDraft),
    /// A strategy or a person scored a node.
    Importance {
        /// The node.
        node: NodeId,
        /// Importance in 0..=1.
        importance: f32,
        /// The scorer.
        scored_by: WrittenBy,
    },
    /// A node is to stay verbatim, or no longer.
    Pin {
        /// The node.
        node: NodeId,
        /// True if the node is pinned.
        pinned: bool,
    },
    /// The conversation got a title.
    Title(String),
    /// The conversation's tags, all of them.
    Tags(Vec<String>),
    /// A model was shown this view.
    View(Box<ViewDraft>),
}

/// The result of recording an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recorded {
    /// The summary's number. Recording the same level, span and input hash again returns the existing number.
    Summary(SummaryId),
    /// The view's number.
    View(ViewId),
    /// Anything else.
    Done,
}

/// Where a conversation was forked from its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ForkedFrom {
    /// The parent.
    pub conversation: ConversationId,
    /// The last node of the shared prefix.
    pub node: NodeId,
}

/// The state of a conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationState {
    /// Its name.
    pub id: ConversationId,
    /// How many messages; the last node's position.
    pub nodes: u64,
    /// How many summaries.
    pub summaries: u64,
    /// The number of the last recorded view; 0 while there is none.
    pub views: u64,
    /// When the first message was said; `None` while it is empty.
    pub first_at: Option<Timestamp>,
    /// When the last message was said, or the last before it whose time is known.
    pub last_at: Option<Timestamp>,
    /// Sum of the messages' tokens.
    pub tokens: u64,
    /// Its title.
    pub title: Option<String>,
    /// Its tags, sorted.
    pub tags: Vec<String>,
    /// Place where it was forked, if it was and if that is still known.
    pub forked_from: Option<ForkedFrom>,
    /// Owner, if any.
    pub owner: Option<OwnerId>,
}

impl ConversationState {
    /// The state of an empty conversation.
    #[must_use]
    pub fn new(id: ConversationId) -> Self {
        Self {
            id,
            nodes: 0,
            summaries: 0,
            views: 0,
            first_at: None,
            last_at: None,
            tokens: 0,
            title: None,
            tags: Vec::new(),
            forked_from: None,
            owner: None,
        }
    }

    crate::setters! {
        const nodes: u64,
        const summaries: u64,
        const views: u64,
        into first_at: Option<Timestamp>,
        into last_at: Option<Timestamp>,
        const tokens: u64,
        into title: Option<String>,
        tags: Vec<String>,
        into forked_from: Option<ForkedFrom>,
        into owner: Option<OwnerId>,
    }
}

/// Proof of a node: its leaf is `leaf_hash(salt, canonical bytes)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeProof {
    /// The salt hashed with the message.
    pub salt: Salt,
    /// The leaf.
    pub leaf: Hash,
}

/// The result of reading everything again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verification {
    /// Each conversation that was read, by name.
    pub conversations: Vec<VerifiedConversation>,
    /// Nodes that should exist.
    pub nodes: u64,
    /// Nodes that were read back, decoded, and whose leaf was hashed again.
    pub verified: u64,
    /// The conversation's root; for several conversations, the hash over their names and roots.
    pub root: Hash,
    /// The damage, in words with path and offset; empty when there is none.
    pub damage: Vec<String>,
}

/// A conversation that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct VerifiedConversation {
    /// Its name.
    #[cfg_attr(feature = "serde", serde(rename = "conversation"))]
    pub id: ConversationId,
    /// Nodes that should exist.
    pub nodes: u64,
    /// Nodes that were read back and hashed again.
    pub verified: u64,
    /// The Merkle root over its leaves.
    pub root: Hash,
}

impl VerifiedConversation {
    /// A conversation without nodes, with this root.
    #[must_use]
    pub fn new(id: ConversationId, root: Hash) -> Self {
        Self { id, nodes: 0, verified: 0, root }
    }

    crate::setters! {
        const nodes: u64,
        const verified: u64,
    }
}

impl Verification {
    /// The result for some conversations. The root of a single one is its own; that of several is the hash over their
    /// names and roots.
    #[must_use]
    pub fn of(mut conversations: Vec<VerifiedConversation>, damage: Vec<String>) -> Self {
        conversations.sort_by(|a, b| a.id.cmp(&b.id));
        let root = match conversations.as_slice() {
            [only] => only.root,
            all => Hash::of_parts(all.iter().flat_map(|c| [c.id.as_str().as_bytes(), c.root.as_bytes().as_slice()])),
        };
        Self {
            nodes: conversations.iter().map(|c| c.nodes).sum(),
            verified: conversations.iter().map(|c| c.verified).sum(),
            conversations,
            root,
            damage,
        }
    }

    /// True if every node was read back and nothing is damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.verified == self.nodes && self.damage.is_empty()
    }
}

/// The right to do background work on a store: compacting, building indexes, rewriting files. Dropping the value ends
/// the right.
pub struct Lease {
    /// Dropping this ends the lease in the store.
    _held: Option<Box<dyn Send + Sync>>,
}

impl Lease {
    /// A lease for a store that needs no exclusion.
    #[must_use]
    pub fn unshared() -> Self {
        Self { _held: None }
    }

    /// A lease that ends when `held` is dropped.
    #[must_use]
    pub fn holding(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Some(Box::new(held)) }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}

/// Keeps conversations: for each, an append-only sequence of messages and the events next to them. [`Source`] has what
/// a searcher reads of them.
///
/// Contract, which `testing::store_conformance` checks:
/// - `append` and `record` return once what they wrote survives a crash. A batch is written whole or
///   not at all, in order, without another batch between; dropping the future neither loses nor doubles it.
/// - Nodes are numbered densely from 1 in the order of appending. A conversation begins with its first append.
/// - A message whose key is in the conversation already is not written again. A *different* message under the same key
///   is [`StoreError::KeyConflict`], and its batch writes nothing.
/// - Reads see everything that was acknowledged before they began, and return exactly what was appended.
/// - Nothing is ever changed in place: a node's importance and pin are those of the latest event.
/// - A fork has the nodes of its parent up to the fork point, under the same numbers and with the same proofs. Messages
///   and events that are appended or recorded later in one of them are not in the other.
/// - Names are unique over all owners. The store itself keeps owners and shows all conversations;
///   [`OwnedStore`](super::OwnedStore) and a [`Scope`](super::Scope) with an owner show one owner's alone.
/// - One process at a time has the lease for background work; within that process it is shared.
pub trait Store: Source {
    /// Appends messages to a conversation, and begins it as `owner`'s if needed. An empty batch writes nothing.
    ///
    /// The owner of a conversation is recorded together with its first messages and never changes. Without `owner` a
    /// conversation begins without an owner, and appending goes to any conversation.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`] when the conversation exists and is not the owner's, [`StoreError::Reserved`] when its name
    /// is kept for notes of another owner, or when the messages are no notes.
    fn append_for<'a>(
        &'a self,
        owner: Option<&'a OwnerId>,
        conversation: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>>;

    /// [`Self::append_for`] without an owner.
    fn append<'a>(
        &'a self,
        conversation: &'a ConversationId,
        batch: Vec<NodeDraft>,
    ) -> BoxFuture<'a, Result<Vec<Appended>, StoreError>> {
        self.append_for(None, conversation, batch)
    }

    /// Records events of a conversation, which must exist. A summary must have a level above FULL, span
    /// existing nodes, and name children whose spans tile its own; a view must cover its messages, as
    /// [`check_view`](crate::check_view) specifies.
    fn record<'a>(
        &'a self,
        conversation: &'a ConversationId,
        events: Vec<Event>,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, StoreError>>;

    /// Begins the conversation `child` as a continuation of `parent` after `node`, and returns its state.
    ///
    /// The child has the parent's nodes 1 to `node`, with their keys and their current importance and pins; the
    /// parent's summaries that cover no other nodes; and the views that were recorded before the next node was
    /// appended. All of them keep their numbers. Records of the child are numbered after those of the parent. The child
    /// has no title and no tags; it is its parent's owner's. Forks may be forked.
    ///
    /// # Errors
    /// [`StoreError::UnknownConversation`] and [`StoreError::UnknownNode`] of the parent, [`StoreError::NameTaken`] and
    /// [`StoreError::UnfitName`] of the child.
    fn fork<'a>(
        &'a self,
        parent: &'a ConversationId,
        node: NodeId,
        child: &'a ConversationId,
    ) -> BoxFuture<'a, Result<ConversationState, StoreError>>;

    /// One node.
    fn node<'a>(&'a self, conversation: &'a ConversationId, node: NodeId) -> BoxFuture<'a, Result<Node, StoreError>>;

    /// The nodes of a run that exist, in order; an error when one of them cannot be read.
    fn nodes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<Node>, StoreError>>;

    /// The summaries with these numbers that can be read, in order of their numbers.
    fn summaries_of<'a>(
        &'a self,
        conversation: &'a ConversationId,
        ids: &'a [SummaryId],
    ) -> BoxFuture<'a, Result<Vec<Summary>, StoreError>> {
        Box::pin(async move {
            let mut summaries = self.summaries(conversation).await?;
            summaries.retain(|summary| ids.contains(&summary.id));
            Ok(summaries)
        })
    }

    /// The recorded views of a conversation with numbers from `first` to `last` that can be read, in order. A store
    /// that lost some to damage leaves their numbers out.
    fn views<'a>(
        &'a self,
        conversation: &'a ConversationId,
        first: ViewId,
        last: ViewId,
    ) -> BoxFuture<'a, Result<Vec<View>, StoreError>>;

    /// Changes since `since`, so that a caller that shows a long conversation at every turn need not read all of it
    /// each time. The default reports everything as new.
    fn changes<'a>(
        &'a self,
        conversation: &'a ConversationId,
        since: Revision,
    ) -> BoxFuture<'a, Result<Changes, StoreError>> {
        Box::pin(async move {
            let _ = since;
            Changes::everything(self, conversation).await
        })
    }

    /// The node that has this key, if any.
    fn find_key<'a>(
        &'a self,
        conversation: &'a ConversationId,
        key: &'a MessageKey,
    ) -> BoxFuture<'a, Result<Option<NodeId>, StoreError>>;

    /// Salt and leaf of the nodes of a run that exist, in order.
    fn proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<NodeProof>, StoreError>>;

    /// The nodes of a run that exist with salt and leaf, in order; an error when one of them cannot be read. The
    /// default reads each message twice, which a store that keeps them together need not.
    fn nodes_with_proofs<'a>(
        &'a self,
        conversation: &'a ConversationId,
        range: NodeRange,
    ) -> BoxFuture<'a, Result<Vec<(Node, NodeProof)>, StoreError>> {
        Box::pin(async move {
            let nodes = self.nodes(conversation, range).await?;
            let proofs = self.proofs(conversation, range).await?;
            Ok(nodes.into_iter().zip(proofs).collect())
        })
    }

    /// Reads everything again from where it is kept, hashes it again, and reports the result. Damage is an answer, not
    /// an error. `None` verifies every conversation.
    fn verify<'a>(
        &'a self,
        conversation: Option<&'a ConversationId>,
    ) -> BoxFuture<'a, Result<Verification, StoreError>>;

    /// The lease for background work, so that two processes do not do the same work. No urgent work waits for it, and
    /// no data depends on it. A store that only one process can open always grants it. So does one that is read-only,
    /// since nothing done there is kept.
    ///
    /// # Errors
    /// [`StoreError::Locked`], at once, while another process holds it.
    fn lease(&self) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async { Ok(Lease::unshared()) })
    }
}
