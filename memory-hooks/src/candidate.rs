//! Conversations that a name may mean.

use std::fmt;

use memory_core::ConversationId;

/// Most candidates that an error names.
const NAMED: usize = 5;

/// A conversation that a name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// Id of the conversation.
    pub id: ConversationId,
    /// Title of the conversation, if titles were searched.
    pub title: Option<String>,
}

/// Candidates as an error names them: `trip` (Rome in May), `train` and 3 more.
pub(crate) struct Named<'a>(pub(crate) &'a [Candidate]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Candidate { id, title }) in self.0.iter().take(NAMED).enumerate() {
            write!(f, "{}`{id}`", if index > 0 { ", " } else { "" })?;
            if let Some(title) = title {
                write!(f, " ({title})")?;
            }
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
