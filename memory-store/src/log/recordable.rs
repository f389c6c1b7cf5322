//! Checks that the log can hold an event, before any byte is written.

use memory_core::{Event, Hash, NodeDraft, NodeProof, SummaryId};

use super::{
    format::codec::{StoredMessage, check_depth, encode_event},
    write::prepared::check_weight,
};

/// `Err` says why a message with this leaf would be refused.
pub(crate) fn check_message(draft: NodeDraft, leaf: Hash) -> Result<(), String> {
    let refused = check_depth(&draft.message).and_then(|()| check_weight(draft.importance)).and_then(|()| {
        let proof = NodeProof { salt: draft.salt.unwrap_or_default(), leaf };
        StoredMessage::of(draft, proof).encode_onto(&mut Vec::new())
    });
    refused.map_err(|error| error.0)
}

/// `Err` says why an event would be refused.
pub(crate) fn check_event(event: &Event) -> Result<(), String> {
    let Some(number) = SummaryId::new(1) else { return Ok(()) };
    encode_event(event, number).map(drop).map_err(|error| error.0)
}
