//! Figures about a conversation.

use memory_core::{
    Level, NodeKind,
    plan::{Tree, coarsest},
    port::ConversationState,
};

/// Figures of a conversation's content and of the savings by its compression.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConversationStats {
    /// Number of messages.
    pub nodes: u64,
    /// Messages of the user's side.
    pub user_nodes: u64,
    /// Messages of the model.
    pub ai_nodes: u64,
    /// Nodes at each level, by the level's number.
    #[cfg_attr(feature = "serde", serde(with = "crate::wire::per_level"), schemars(with = "crate::wire::PerLevel"))]
    pub nodes_per_level: [u64; 4],
    /// Summaries recorded.
    pub summaries: u64,
    /// Superseded summaries, which no new view shows.
    pub superseded: u64,
    /// Tokens of all messages.
    pub tokens: u64,
    /// Tokens of a view that shows all messages verbatim, including what a message costs in addition to its text.
    pub shown_tokens: u64,
    /// Tokens of the coarsest view that covers all messages.
    pub view_tokens: u64,
    /// Days between the first and the last message; 0 where a time is unknown.
    pub days: f64,
}

impl ConversationStats {
    pub(crate) fn of(state: &ConversationState, tree: &Tree) -> Self {
        let user_nodes = tree.nodes().filter(|node| NodeKind::of(node.role) == NodeKind::User).count() as u64;
        let span = match (state.first_at, state.last_at) {
            (Some(first), Some(last)) if first.is_known() && last.is_known() => {
                last.as_millis().saturating_sub(first.as_millis())
            }
            _ => 0,
        };
        #[expect(clippy::cast_precision_loss, reason = "days are shown with one decimal")]
        let days = span as f64 / 86_400_000.0;
        Self {
            nodes: state.nodes,
            user_nodes,
            ai_nodes: tree.total() - user_nodes,
            nodes_per_level: tree.nodes_per_level(),
            summaries: state.summaries,
            superseded: tree.superseded() as u64,
            tokens: state.tokens,
            shown_tokens: state.tokens + state.nodes * u64::from(tree.policy().per_message),
            view_tokens: u64::from(coarsest(tree)),
            days,
        }
    }

    /// Number of nodes at a level.
    #[must_use]
    pub fn at_level(&self, level: Level) -> u64 {
        self.nodes_per_level.get(usize::from(level.number())).copied().unwrap_or(0)
    }

    /// [`Self::shown_tokens`] minus [`Self::view_tokens`]: the saving of the coarsest view.
    #[must_use]
    pub fn tokens_saved(&self) -> u64 {
        self.shown_tokens.saturating_sub(self.view_tokens)
    }

    /// [`Self::shown_tokens`] divided by [`Self::view_tokens`]: the compression of the coarsest view, against one that
    /// shows everything.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio need not be exact")]
    pub fn compression_ratio(&self) -> f64 {
        if self.view_tokens == 0 { 1.0 } else { self.shown_tokens as f64 / self.view_tokens as f64 }
    }
}
