//! Why a service gave no vectors.

use std::time::Duration;

use memory_core::{EmbedError, ModelId};

/// Why a service gave no vectors, and what to do about it.
///
/// It is the source of [`EmbedError::Unreachable`] and [`EmbedError::Backend`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// Something was configured that cannot work.
    #[error("{what}")]
    Setup {
        /// What, and what to write instead.
        what: String,
    },
    /// The service does not know the model.
    #[error("the service does not know this model, or not in this region: check name and region ({detail})")]
    UnknownModel {
        /// What the service said.
        detail: String,
    },
    /// The caller may not use the model.
    #[error(
        "no access: enable the model for this account and region, and allow its use to these credentials ({detail})"
    )]
    NoAccess {
        /// What the service said.
        detail: String,
    },
    /// There are no credentials, or they are expired or wrong.
    #[error("credentials are missing, wrong or expired: {how} ({detail})")]
    Credentials {
        /// How to give them.
        how: &'static str,
        /// What the service or the search for credentials said.
        detail: String,
    },
    /// The account has nothing left; asking again does not help.
    #[error("the account's quota is used up: raise it or wait for the next period ({detail})")]
    Quota {
        /// What the service said.
        detail: String,
    },
    /// The service was asked too often.
    #[error("throttled, {attempts} times: ask for a higher rate, or lower the concurrency ({detail})")]
    Throttled {
        /// Calls made.
        attempts: u32,
        /// What the service said the last time.
        detail: String,
    },
    /// The service failed.
    #[error("the service failed {attempts} times: try again later ({detail})")]
    Failed {
        /// Calls made.
        attempts: u32,
        /// What the service said the last time.
        detail: String,
    },
    /// No answer came.
    #[error("no answer from the service in {attempts} calls: check the network and the endpoint ({detail})")]
    NoAnswer {
        /// Calls made.
        attempts: u32,
        /// What happened the last time.
        detail: String,
    },
    /// An answer took longer than a call may.
    #[error("no answer within {limit:?}, {attempts} times: allow calls more time, or try later")]
    TimedOut {
        /// Calls made.
        attempts: u32,
        /// The time that a call has.
        limit: Duration,
    },
    /// The time for the request is over: that of a question, or that in which one of the calls for documents had to succeed.
    #[error("nothing done within {after:?}: try later")]
    Deadline {
        /// The time there was.
        after: Duration,
    },
    /// A text is too long for the model.
    #[error(
        "a text is too long for the model, even in small pieces: check what the service allows, and say how many tokens \
         its model reads, as in `?tokens=256` behind the name of one in the style of OpenAI ({detail})"
    )]
    TooLong {
        /// What the service said.
        detail: String,
    },
    /// The service refused the request for another reason.
    #[error("the service refused the request ({detail})")]
    Refused {
        /// What the service said.
        detail: String,
    },
    /// The vectors have another length than the model was configured with.
    #[error("vectors of {actual} dimensions, not {expected}: configure the model with {actual}")]
    Dimensions {
        /// What was configured.
        expected: usize,
        /// What came.
        actual: usize,
    },
    /// The answer is not what the protocol says.
    #[error("an answer that is no list of vectors: {what}")]
    Malformed {
        /// What is wrong with it.
        what: String,
    },
}

impl RemoteError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled { .. } | Self::Failed { .. } | Self::NoAnswer { .. } | Self::TimedOut { .. })
    }

    /// The same after `made` calls.
    pub(super) fn after(mut self, made: u32) -> Self {
        if let Self::Throttled { attempts, .. }
        | Self::Failed { attempts, .. }
        | Self::NoAnswer { attempts, .. }
        | Self::TimedOut { attempts, .. } = &mut self
        {
            *attempts = made;
        }
        self
    }

    /// As the port's error.
    pub(crate) fn of_model(self, model: &ModelId) -> EmbedError {
        let model = model.clone();
        match self {
            Self::Dimensions { .. } | Self::Malformed { .. } => EmbedError::BadOutput { model, what: self.to_string() },
            Self::TooLong { .. } | Self::Refused { .. } => EmbedError::Backend { model, source: self.into() },
            _ => EmbedError::Unreachable { model, source: self.into() },
        }
    }
}

/// A failed call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: RemoteError,
    /// How long to wait at least before the next call, if the service said so.
    pub(crate) retry_after: Option<Duration>,
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        Self { error, retry_after: None }
    }
}

/// Names the kind of a boxed error, for callers that only have that.
#[cfg(test)]
pub(crate) fn cause_of(error: &EmbedError) -> &RemoteError {
    let (EmbedError::Unreachable { source, .. } | EmbedError::Backend { source, .. }) = error else {
        panic!("{error} has no cause");
    };
    source.downcast_ref().unwrap()
}
