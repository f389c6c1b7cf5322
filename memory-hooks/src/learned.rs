//! Facts from the messages of a conversation that later prompts need, kept from prompt to prompt.

use std::sync::Arc;

use memory_strategies::StandingLines;

use crate::links::Links;

/// Facts from the first messages of a conversation that later prompts need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    pub(crate) lines: StandingLines,
    /// Corrections of messages by others, among the newest 20,000.
    pub(crate) links: Arc<Links>,
    /// The number of these messages.
    pub(crate) seen: u64,
}
