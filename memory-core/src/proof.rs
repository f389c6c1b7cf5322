//! Self-contained proofs about conversations, and the Merkle tree that they are about.

mod canonical;
mod json;
mod leaf;
mod merkle;
mod once;
#[cfg(test)]
mod tests;

pub use canonical::{InvalidCanonical, canonical_bytes, message_from_canonical};
pub use json::InvalidProof;
pub use leaf::LeafHasher;
pub use merkle::{ConsistencyProof, InclusionProof, MerkleFrontier, ProofError, Salt, leaf_hash, size_with_root};

use crate::{ConversationId, Hash, Message, Node, NodeId, Timestamp, port::NodeProof};

/// A proof about a conversation, which can be checked without its store.
///
/// A proof is about roots. The reader must know that a root belongs to the conversation in question: from an earlier
/// `memory verify`, a receipt, or another person. No root covers the conversation's name or the number of nodes below
/// it: trust a root only together with the number it was given with.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use memory_core::{ConversationId, proof::{HistoryProof, Proof, TreeHead, leaf_hash}};
///
/// let leaves: Vec<_> = (0u8..5).map(|n| leaf_hash(&[n; 16], b"canonical bytes")).collect();
/// let earlier = TreeHead::of(&leaves[..3]);
/// let proof = HistoryProof::new(ConversationId::new("trip")?, &leaves, &earlier.root)?;
///
/// let sent = Proof::from(proof).to_json().to_string();
/// let Proof::History(received) = Proof::parse(sent.as_bytes())? else { return Err("another kind".into()) };
/// received.verify()?;
/// assert_eq!((received.earlier, received.tree), (earlier, TreeHead::of(&leaves)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Proof {
    /// Proves that a message is a node of a conversation.
    Message(Box<MessageProof>),
    /// Proves that a conversation only grew.
    History(HistoryProof),
}

impl Proof {
    /// Checks the proof.
    ///
    /// # Errors
    /// [`ProofError`] when the proof does not hold.
    pub fn verify(&self) -> Result<(), ProofError> {
        match self {
            Self::Message(proof) => proof.verify(),
            Self::History(proof) => proof.verify(),
        }
    }
}

impl From<MessageProof> for Proof {
    fn from(proof: MessageProof) -> Self {
        Self::Message(Box::new(proof))
    }
}

impl From<HistoryProof> for Proof {
    fn from(proof: HistoryProof) -> Self {
        Self::History(proof)
    }
}

/// The size and root of a conversation's Merkle tree at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// Number of nodes.
    pub nodes: u64,
    /// The root over the nodes.
    pub root: Hash,
}

impl TreeHead {
    /// The head of the tree over these leaves.
    #[must_use]
    pub fn of(leaves: &[Hash]) -> Self {
        let frontier: crate::proof::MerkleFrontier = leaves.iter().copied().collect();
        Self { nodes: frontier.len(), root: frontier.root() }
    }
}

/// Proves that a message is a node of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MessageProof {
    /// The conversation's name, according to the proof's author.
    pub conversation: ConversationId,
    /// Position of the message in the conversation.
    pub node: NodeId,
    /// The conversation when the proof was made.
    pub tree: TreeHead,
    /// The salt that was hashed with the message.
    pub salt: Salt,
    /// Time of the message.
    pub at: Timestamp,
    /// The message.
    pub message: Message,
    /// Hashes from the message's leaf to the root, the lowest first.
    pub path: Vec<Hash>,
}

impl MessageProof {
    /// The proof for `node`; `proofs` are those of all nodes of the conversation.
    ///
    /// # Errors
    /// [`ProofError`] when there is no such node, or when its message is not the one that its leaf was hashed from.
    pub fn new(conversation: ConversationId, node: &Node, proofs: &[NodeProof]) -> Result<Self, ProofError> {
        let leaves: Vec<Hash> = proofs.iter().map(|proof| proof.leaf).collect();
        let InclusionProof { index, size, path } = InclusionProof::new(&leaves, node.id.get() - 1)?;
        let salt = proofs.get(node.id.index()).ok_or(ProofError::NoLeaf { index, size })?.salt;
        let (node, at, message) = (node.id, node.at, node.message.clone());
        let proof = Self { conversation, node, tree: TreeHead::of(&leaves), salt, at, message, path };
        proof.verify().map(|()| proof)
    }

    /// The leaf, hashed again from the message.
    #[must_use]
    pub fn leaf(&self) -> Hash {
        leaf_hash(&self.salt, &canonical_bytes(&self.message, self.at))
    }

    /// Checks that the message, hashed again, is that node under the root.
    ///
    /// # Errors
    /// [`ProofError`] when the proof does not hold.
    pub fn verify(&self) -> Result<(), ProofError> {
        let TreeHead { nodes: size, root } = self.tree;
        let proof = InclusionProof { index: self.node.get() - 1, size, path: self.path.clone() };
        proof.verify(&self.leaf(), &root)
    }
}

/// Proves that no earlier part of a conversation was changed, moved or removed since.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryProof {
    /// The conversation's name, according to the proof's author.
    pub conversation: ConversationId,
    /// The earlier conversation.
    pub earlier: TreeHead,
    /// The conversation when the proof was made.
    pub tree: TreeHead,
    /// The hashes that lead to both roots, the lowest first.
    pub path: Vec<Hash>,
}

impl HistoryProof {
    /// The proof that the conversation with these leaves once had `earlier_root`, and only grew since.
    ///
    /// # Errors
    /// [`ProofError::NeverHad`]. The root of no leaves is an earlier state of every conversation; no proof is made for
    /// it.
    pub fn new(conversation: ConversationId, leaves: &[Hash], earlier_root: &Hash) -> Result<Self, ProofError> {
        let tree = TreeHead::of(leaves);
        let never = ProofError::NeverHad { root: *earlier_root, size: tree.nodes };
        let nodes = size_with_root(leaves, earlier_root).ok_or(never)?;
        let path = ConsistencyProof::new(leaves, nodes)?.path;
        Ok(Self { conversation, earlier: TreeHead { nodes, root: *earlier_root }, tree, path })
    }

    /// Checks that the later tree grew from the earlier one.
    ///
    /// # Errors
    /// [`ProofError`] when the proof does not hold.
    pub fn verify(&self) -> Result<(), ProofError> {
        let proof = ConsistencyProof { earlier: self.earlier.nodes, size: self.tree.nodes, path: self.path.clone() };
        proof.verify(&self.earlier.root, &self.tree.root)
    }
}
