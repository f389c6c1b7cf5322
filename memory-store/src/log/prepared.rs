//! Messages hashed and encoded, ready to be given their place.

use memory_core::{Message, MessageKey, NodeDraft, NodeId, NodeOutline, Salt};

use super::codec::{CodecError, StoredMessage, check_depth};

/// A message that is ready to be written; made on the caller's thread, so that callers share the work.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) record: Vec<u8>,
    pub(crate) outline: NodeOutline,
    pub(crate) importance: f32,
    /// The message itself where it has a key, to compare it with what is stored under that key.
    pub(crate) keyed: Option<(MessageKey, Message)>,
}

impl Prepared {
    pub(crate) fn new(draft: NodeDraft, salt: Salt) -> Result<Self, CodecError> {
        check_depth(&draft.message)?;
        check_weight(draft.importance)?;
        let stored = StoredMessage::new(draft, salt);
        let record = stored.encode()?;
        // An outline holds no number; which one the node gets is known later.
        let node = stored.into_node(NodeId::FIRST);
        let (outline, importance) = (NodeOutline::of(&node), node.importance);
        let keyed = node.message.key.clone().map(|key| (key, node.message));
        Ok(Self { record, outline, importance, keyed })
    }

    /// Bytes that it takes in the log.
    pub(crate) fn bytes(&self) -> usize {
        self.record.len()
    }
}

/// Checks that an importance is one.
pub(crate) fn check_weight(importance: f32) -> Result<(), CodecError> {
    if (0.0..=1.0).contains(&importance) {
        Ok(())
    } else {
        Err(CodecError(format!("an importance lies in 0..=1, not at {importance}")))
    }
}
