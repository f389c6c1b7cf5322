//! The sign that memory was used, and what of it.

use memory_core::{ConversationId, MemoryUsed};
use serde_json::{Value, json};

use crate::output::grouped;

/// Most pieces that a sentence names.
const NAMED: usize = 6;

/// `memory used: 3 recalled, 12 summaries (message 7, message 9 and 13 more)`; `None` where nothing was.
pub(super) fn sentence(used: &MemoryUsed) -> Option<String> {
    let counts = [(used.recalled, "recalled"), (used.standing, "standing lines"), (used.summaries, "summaries")];
    let counts: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, of)| format!("{} {of}", grouped(*count))).collect();
    let named: Vec<_> = used.pieces.iter().take(NAMED).map(String::as_str).collect();
    let more = match used.pieces.len() - named.len() {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    used.is_any().then(|| format!("memory used: {} ({}{more})", counts.join(", "), named.join(", ")))
}

pub(super) fn to_json(used: &MemoryUsed) -> Value {
    json!({
        "recalled": used.recalled,
        "standing": used.standing,
        "summaries": used.summaries,
        "pieces": used.pieces,
        "conversations": used.conversations.iter().map(ConversationId::as_str).collect::<Vec<_>>(),
    })
}
