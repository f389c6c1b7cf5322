//! Requests to the writer thread, and its answers.

use futures_channel::oneshot;
use memory_core::{
    ConversationId, NodeId, OwnerId,
    port::{Appended, Event, Recorded, StoreError},
};

use super::prepared::Prepared;

/// Sender of the answer to a request.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Request {
    Append { owner: Option<OwnerId>, conversation: ConversationId, batch: Prepared, reply: Reply<Vec<Appended>> },
    Record { owner: Option<OwnerId>, conversation: ConversationId, events: Vec<Event>, reply: Reply<Vec<Recorded>> },
    Fork { parent: ConversationId, node: NodeId, child: ConversationId, reply: Reply<()> },
    Seal { reply: Reply<()> },
}

impl Request {
    /// Answers that it was not written.
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Append { reply, .. } => answer(reply, Err(error)),
            Self::Record { reply, .. } => answer(reply, Err(error)),
            Self::Fork { reply, .. } | Self::Seal { reply } => answer(reply, Err(error)),
        }
    }
}

/// An answer that waits for its group to be on disk.
#[derive(Debug)]
pub(crate) enum Answer {
    Appended(Reply<Vec<Appended>>, Vec<Appended>),
    Recorded(Reply<Vec<Recorded>>, Vec<Recorded>),
    Forked(Reply<()>),
}

impl Answer {
    pub(crate) fn give(self, failure: Option<StoreError>) {
        match (self, failure) {
            (Self::Appended(reply, appended), None) => answer(reply, Ok(appended)),
            (Self::Recorded(reply, recorded), None) => answer(reply, Ok(recorded)),
            (Self::Forked(reply), failure) => answer(reply, failure.map_or(Ok(()), Err)),
            (Self::Appended(reply, _), Some(error)) => answer(reply, Err(error)),
            (Self::Recorded(reply, _), Some(error)) => answer(reply, Err(error)),
        }
    }
}

pub(crate) fn answer<T>(reply: Reply<T>, result: Result<T, StoreError>) {
    // The caller may be gone; what was written stays written.
    drop(reply.send(result));
}
