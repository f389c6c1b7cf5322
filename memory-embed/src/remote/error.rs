//! The error of a remote embedder.

use std::time::Duration;

use memory_core::{ModelId, port::EmbedError};

/// Why a service returned no vectors, and the remedy.
///
/// Source of [`EmbedError::Unreachable`] and [`EmbedError::Backend`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The configuration is invalid.
    #[error("{what}")]
    Setup {
        /// The invalid setting, and a valid one.
        what: String,
    },
    /// The service does not know the model.
    #[error("the service does not know this model, or not in this region: check name and region ({detail})")]
    UnknownModel {
        /// The service's message.
        detail: String,
    },
    /// The caller may not use the model.
    #[error(
        "no access: enable the model for this account and region, and allow its use to these credentials ({detail})"
    )]
    NoAccess {
        /// The service's message.
        detail: String,
    },
    /// There are no credentials, or they are expired or wrong.
    #[error("credentials are missing, wrong or expired: {how} ({detail})")]
    Credentials {
        /// Remedy.
        how: &'static str,
        /// The message of the service or of the credentials chain.
        detail: String,
    },
    /// The account's quota is used up, so a retry does not help.
    #[error("the account's quota is used up: raise it or wait for the next period ({detail})")]
    Quota {
        /// The service's message.
        detail: String,
    },
    /// The service throttled all calls.
    #[error("throttled, {attempts} times: ask for a higher rate, or lower the concurrency ({detail})")]
    Throttled {
        /// Calls made.
        attempts: u32,
        /// The service's last message.
        detail: String,
    },
    /// The service failed.
    #[error("the service failed {attempts} times: try again later ({detail})")]
    Failed {
        /// Calls made.
        attempts: u32,
        /// The service's last message.
        detail: String,
    },
    /// No response arrived.
    #[error("no answer from the service in {attempts} calls: check the network and the endpoint ({detail})")]
    NoAnswer {
        /// Calls made.
        attempts: u32,
        /// The last failure.
        detail: String,
    },
    /// A call took longer than its timeout.
    #[error("no answer within {limit:?}, {attempts} times: allow calls more time, or try later")]
    TimedOut {
        /// Calls made.
        attempts: u32,
        /// The timeout of a call.
        limit: Duration,
    },
    /// The deadline passed: of a query, or of the next successful call in a request of documents.
    #[error("nothing done within {after:?}: try later")]
    Deadline {
        /// The allowed time.
        after: Duration,
    },
    /// A text is too long for the model.
    #[error(
        "a text is too long for the model, even in small pieces: check what the service allows, and state how many tokens \
         its model reads, as in `?tokens=256` after the name of an OpenAI-compatible one ({detail})"
    )]
    TooLong {
        /// The service's message.
        detail: String,
    },
    /// The service refused the request in another way.
    #[error("the service refused the request ({detail})")]
    Refused {
        /// The service's message.
        detail: String,
    },
    /// The vectors have other dimensions than configured.
    #[error("vectors of {actual} dimensions, not {expected}: configure the model with {actual}")]
    Dimensions {
        /// The configured dimensions.
        expected: usize,
        /// The dimensions of the vectors.
        actual: usize,
    },
    /// The response violates the protocol.
    #[error("the response is not a list of vectors: {what}")]
    Malformed {
        /// The fault.
        what: String,
    },
}

impl RemoteError {
    /// True if the same call may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled { .. } | Self::Failed { .. } | Self::NoAnswer { .. } | Self::TimedOut { .. })
    }

    /// Sets the number of calls made.
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

    pub(crate) fn into_embed_error(self, model: &ModelId) -> EmbedError {
        let model = model.clone();
        match self {
            Self::Dimensions { .. } | Self::Malformed { .. } => EmbedError::BadOutput { model, what: self.to_string() },
            Self::TooLong { .. } | Self::Refused { .. } => EmbedError::Backend { model, source: self.into() },
            _ => EmbedError::Unreachable { model, source: self.into() },
        }
    }
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: RemoteError,
    /// Minimum pause before the next call, if the service states one.
    pub(crate) retry_after: Option<Duration>,
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        Self { error, retry_after: None }
    }
}

/// Downcasts the source of an error.
#[cfg(test)]
pub(crate) fn cause_of(error: &EmbedError) -> &RemoteError {
    let (EmbedError::Unreachable { source, .. } | EmbedError::Backend { source, .. }) = error else {
        panic!("{error} has no cause");
    };
    source.downcast_ref().unwrap()
}
