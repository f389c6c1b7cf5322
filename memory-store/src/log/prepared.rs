//! Messages hashed and encoded, ready to be given their place.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use memory_core::{LeafHasher, Message, MessageKey, NodeDraft, NodeOutline, NodeProof, Salt};

use super::{
    codec::{CodecError, StoredMessage, check_depth},
    frame::{FRAME_HEADER, Payload},
};

/// What a record takes beside the text of its message, mostly.
const USUAL_OVERHEAD: usize = 96;

/// Messages that are ready to be written; made on the caller's thread, so that callers share the work.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Their records, as they stand in a frame of their own.
    pub(crate) payload: Payload,
    pub(crate) messages: Vec<PreparedMessage>,
}

#[derive(Debug)]
pub(crate) struct PreparedMessage {
    /// Where in the frame its record stands.
    pub(crate) record: Range<usize>,
    pub(crate) outline: NodeOutline,
    pub(crate) importance: f32,
    /// The message itself where it has a key, to compare it with what is stored under that key.
    pub(crate) keyed: Option<Box<(MessageKey, Message)>>,
}

impl Prepared {
    /// Hashes and encodes a batch; each message brings its salt or else gets the one at its place.
    pub(crate) fn new(batch: Vec<NodeDraft>, salts: &[Salt], buffers: &Buffers) -> Result<Self, CodecError> {
        for draft in &batch {
            check_depth(&draft.message)?;
            check_weight(draft.importance)?;
        }
        let salts: Vec<Salt> = batch.iter().zip(salts).map(|(draft, drawn)| draft.salt.unwrap_or(*drawn)).collect();
        let salted = batch.iter().zip(&salts).map(|(draft, salt)| (salt, &draft.message, draft.at));
        let leaves = LeafHasher::default().leaves(salted);
        let bytes = batch.iter().map(|draft| draft.message.text_bytes() + USUAL_OVERHEAD).sum();
        let mut payload = Payload::within(buffers.take(), bytes);
        let mut messages = Vec::with_capacity(batch.len());
        for (draft, (salt, leaf)) in batch.into_iter().zip(salts.into_iter().zip(leaves)) {
            let stored = StoredMessage::of(draft, NodeProof { salt, leaf });
            let start = payload.frame_bytes();
            payload.push_with(|out| stored.encode_onto(out))?;
            let (outline, importance) = (stored.outline(), stored.draft.importance);
            let message = stored.draft.message;
            let keyed = message.key.clone().map(|key| Box::new((key, message)));
            messages.push(PreparedMessage { record: start..payload.frame_bytes(), outline, importance, keyed });
        }
        Ok(Self { payload, messages })
    }

    /// Bytes that they take in the log.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.frame_bytes() - FRAME_HEADER
    }
}

/// Memory of written frames, for frames to come: a fresh allocation of this size costs more than what is done in it.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

/// What is kept at most: this many buffers, none larger than this.
const MOST_BUFFERS: usize = 8;
const LARGEST_BUFFER: usize = 1 << 20;

impl Buffers {
    /// An empty buffer.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        if (1..=LARGEST_BUFFER).contains(&buffer.capacity()) {
            let mut buffers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if buffers.len() < MOST_BUFFERS {
                buffers.push(buffer);
            }
        }
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
