//! Messages that are hashed and encoded, but have no place in the log yet.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use memory_core::{
    ErasedKey, Hash, Message, MessageKey, NodeDraft, NodeOutline, SummaryId,
    port::{Event, NodeProof},
    proof::{LeafHasher, Salt},
};

use crate::log::format::{
    codec::{CodecError, ErasedMessage, StoredMessage, check_depth, encode_event},
    frame::{FRAME_HEADER, Payload},
};

/// The usual size of a record without the text of its message.
const USUAL_OVERHEAD: usize = 96;

/// Messages that are ready to be written; prepared on the caller's thread, so that callers share the work.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Records of the messages, as in a frame of their own.
    pub(crate) payload: Payload,
    pub(crate) messages: Vec<PreparedMessage>,
}

#[derive(Debug)]
pub(crate) struct PreparedMessage {
    /// Range of the record in the frame.
    pub(crate) record: Range<usize>,
    pub(crate) outline: NodeOutline,
    pub(crate) importance: f32,
    /// The message itself if it has a key, for comparison with the message stored under that key.
    pub(crate) keyed: Option<Box<(MessageKey, Message)>>,
    /// Hash that recognizes the key of an imported message that was erased.
    pub(crate) erased_key: Option<ErasedKey>,
}

impl Prepared {
    /// Hashes and encodes a batch. A message without a salt gets the salt at its index.
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
            if let Some(erased) = ErasedMessage::of(&draft) {
                let start = payload.frame_bytes();
                payload.push_with(|out| erased.encode_onto(out))?;
                messages.push(PreparedMessage {
                    record: start..payload.frame_bytes(),
                    outline: erased.outline(),
                    importance: 0.0,
                    keyed: None,
                    erased_key: erased.left.key,
                });
                continue;
            }
            let stored = StoredMessage::of(draft, NodeProof { salt, leaf });
            let start = payload.frame_bytes();
            payload.push_with(|out| stored.encode_onto(out))?;
            let (outline, importance) = (stored.outline(), stored.draft.importance);
            let message = stored.draft.message;
            let keyed = message.key.clone().map(|key| Box::new((key, message)));
            let record = start..payload.frame_bytes();
            messages.push(PreparedMessage { record, outline, importance, keyed, erased_key: None });
        }
        Ok(Self { payload, messages })
    }

    /// Bytes that the messages take in the log.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.frame_bytes() - FRAME_HEADER
    }
}

/// Buffers of written frames, to be reused: a fresh allocation of this size costs more than filling it.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Vec<Vec<u8>>>);

/// Maximum number of kept buffers, and maximum size of each.
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

/// Checks that an importance is valid.
pub(crate) fn check_weight(importance: f32) -> Result<(), CodecError> {
    if (0.0..=1.0).contains(&importance) {
        Ok(())
    } else {
        Err(CodecError(format!("an importance lies in 0..=1, not at {importance}")))
    }
}

/// Checks that a message with this leaf would be accepted; `Err` states why not.
pub(crate) fn check_message(draft: NodeDraft, leaf: Hash) -> Result<(), String> {
    let refused = check_depth(&draft.message).and_then(|()| check_weight(draft.importance)).and_then(|()| {
        let proof = NodeProof { salt: draft.salt.unwrap_or_default(), leaf };
        StoredMessage::of(draft, proof).encode_onto(&mut Vec::new())
    });
    refused.map_err(|error| error.0)
}

/// Checks that an event would be accepted; `Err` states why not.
pub(crate) fn check_event(event: &Event) -> Result<(), String> {
    let Some(number) = SummaryId::new(1) else { return Ok(()) };
    encode_event(event, number).map(drop).map_err(|error| error.0)
}
