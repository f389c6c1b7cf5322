//! Facts from the messages of a conversation that later prompts need, kept from prompt to prompt.

use std::{collections::BTreeSet, sync::Arc};

use memory_core::NodeId;
use memory_strategies::StandingLines;

use crate::links::Links;

/// Facts from the first messages of a conversation that later prompts need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    pub(crate) lines: StandingLines,
    /// Corrections of messages by others, among the newest 20,000.
    pub(crate) links: Arc<Links>,
    /// Sentences of persons that change earlier ones, with their messages, in order.
    pub(crate) changes: Arc<Vec<(NodeId, String)>>,
    /// Names or roles of the speakers.
    pub(crate) speakers: Arc<BTreeSet<String>>,
    /// The number of these messages.
    pub(crate) seen: u64,
}
