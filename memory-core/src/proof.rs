//! Proofs that carry all that is needed to check them.

mod json;
#[cfg(test)]
mod tests;

pub use json::InvalidProof;

use crate::{
    ConsistencyProof, ConversationId, Hash, InclusionProof, Message, Node, NodeId, NodeProof, ProofError, Salt,
    Timestamp, canonical_bytes, leaf_hash, size_with_root,
};

/// A proof about a conversation, which can be checked without the store that it was made from.
///
/// What it proves, it proves about roots. Whether a root is that of the conversation in question is for the reader to
/// know: from an earlier `memory verify`, a receipt, somebody else. No root covers the conversation's name, and a root
/// says nothing of how many nodes are below it: trust it together with the number it was given with.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use memory_core::{ConversationId, HistoryProof, Proof, TreeHead, leaf_hash};
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
    /// That a message is a node of a conversation.
    Message(Box<MessageProof>),
    /// That a conversation only grew.
    History(HistoryProof),
}

impl Proof {
    /// Whether the proof holds.
    ///
    /// # Errors
    /// [`ProofError`]: it does not.
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

/// A conversation as its Merkle tree sees it at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// How many nodes it has.
    pub nodes: u64,
    /// The root over them.
    pub root: Hash,
}

impl TreeHead {
    /// The head of the tree over these leaves.
    #[must_use]
    pub fn of(leaves: &[Hash]) -> Self {
        let frontier: crate::MerkleFrontier = leaves.iter().copied().collect();
        Self { nodes: frontier.len(), root: frontier.root() }
    }
}

/// A message, and that it is a node of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageProof {
    /// The conversation, as whoever made the proof calls it.
    pub conversation: ConversationId,
    /// The message's position in it.
    pub node: NodeId,
    /// The conversation when the proof was made.
    pub tree: TreeHead,
    /// What was hashed with the message.
    pub salt: Salt,
    /// When it was said.
    pub at: Timestamp,
    /// The message.
    pub message: Message,
    /// The hashes that lead from its leaf to the root, the lowest first.
    pub path: Vec<Hash>,
}

impl MessageProof {
    /// The proof for `node`, `proofs` being those of all nodes of the conversation.
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

    /// The leaf, hashed anew from the message.
    #[must_use]
    pub fn leaf(&self) -> Hash {
        leaf_hash(&self.salt, &canonical_bytes(&self.message, self.at))
    }

    /// Whether the message, hashed anew, is that node under the root.
    ///
    /// # Errors
    /// [`ProofError`]: it is not.
    pub fn verify(&self) -> Result<(), ProofError> {
        let TreeHead { nodes: size, root } = self.tree;
        let proof = InclusionProof { index: self.node.get() - 1, size, path: self.path.clone() };
        proof.verify(&self.leaf(), &root)
    }
}

/// That nothing which a conversation held earlier was changed, moved or taken out since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryProof {
    /// The conversation, as whoever made the proof calls it.
    pub conversation: ConversationId,
    /// The conversation as it was.
    pub earlier: TreeHead,
    /// The conversation when the proof was made.
    pub tree: TreeHead,
    /// The hashes that lead to both roots, the lowest first.
    pub path: Vec<Hash>,
}

impl HistoryProof {
    /// The proof that the conversation with these leaves once had `earlier_root`, and only grew.
    ///
    /// # Errors
    /// [`ProofError::NeverHad`]; the root of no leaves is an earlier state of everything, and no proof is made of it.
    pub fn new(conversation: ConversationId, leaves: &[Hash], earlier_root: &Hash) -> Result<Self, ProofError> {
        let tree = TreeHead::of(leaves);
        let never = ProofError::NeverHad { root: *earlier_root, size: tree.nodes };
        let nodes = size_with_root(leaves, earlier_root).ok_or(never)?;
        let path = ConsistencyProof::new(leaves, nodes)?.path;
        Ok(Self { conversation, earlier: TreeHead { nodes, root: *earlier_root }, tree, path })
    }

    /// Whether the later tree grew from the earlier one.
    ///
    /// # Errors
    /// [`ProofError`]: it did not.
    pub fn verify(&self) -> Result<(), ProofError> {
        let proof = ConsistencyProof { earlier: self.earlier.nodes, size: self.tree.nodes, path: self.path.clone() };
        proof.verify(&self.earlier.root, &self.tree.root)
    }
}
