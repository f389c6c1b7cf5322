//! What the messages of a conversation say that later prompts need, kept from prompt to prompt.

use std::sync::Arc;

use memory_strategies::StandingLines;

use crate::links::Links;

/// What the first messages of a conversation say that later prompts need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    pub(crate) lines: Arc<StandingLines>,
    /// Which message corrects which, of the newest 20,000.
    pub(crate) links: Arc<Links>,
    /// The number of these messages.
    pub(crate) seen: u64,
}
