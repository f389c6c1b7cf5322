//! What the store holds that the binary is asked about.

/// Messages of the store.
pub(super) const MESSAGES: usize = 10_000;
/// Its only conversation.
pub(super) const CONVERSATION: &str = "ten-thousand";
