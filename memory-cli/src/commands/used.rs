//! The sign that memory was used, and what of it.

use memory_core::{ConversationId, MemoryUsed};
use serde_json::{Value, json};

pub(super) fn to_json(used: &MemoryUsed) -> Value {
    json!({
        "recalled": used.recalled,
        "standing": used.standing,
        "summaries": used.summaries,
        "pieces": used.pieces,
        "conversations": used.conversations.iter().map(ConversationId::as_str).collect::<Vec<_>>(),
    })
}
