//! How a service is called.

use std::time::Duration;

use super::RemoteError;

/// How a service is called: how often, how long, how many calls at once, and how texts are cut for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Times that a call is made before it is given up, at least 1. By default 6.
    pub attempts: u32,
    /// The longest first pause after a failed call; it doubles with each failure. A pause is a random part of the
    /// longest one ("full jitter"), so that clients that failed together do not return together. By default 0.5 s.
    pub first_pause: Duration,
    /// What the longest pause grows to. By default 20 s.
    pub longest_pause: Duration,
    /// How long one call may take. One of several texts that takes longer is made in halves, as are those after it until
    /// calls are fast again: the server may be slow. By default 30 s.
    pub call_timeout: Duration,
    /// How long a request of documents may go without a call that succeeds, with all pauses. By default 5 minutes.
    pub document_deadline: Duration,
    /// How long a question may take, with all calls and pauses: somebody waits. By default 10 s.
    pub query_deadline: Duration,
    /// Calls under way at once, at least 1, over all requests. By default 4.
    pub concurrency: usize,
    /// Tokens of a chunk by a careful estimate, at least 16; the model's own limit where that is lower. By default 512:
    /// one vector for much more text says little about any of its passages.
    pub chunk_tokens: usize,
    /// Tokens that a chunk of a long text repeats from the chunk before it, at most; half of a chunk at most. By
    /// default 32.
    pub overlap_tokens: usize,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            attempts: 6,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
            call_timeout: Duration::from_secs(30),
            document_deadline: Duration::from_mins(5),
            query_deadline: Duration::from_secs(10),
            concurrency: 4,
            chunk_tokens: 512,
            overlap_tokens: 32,
        }
    }
}

impl RemoteOptions {
    /// Sets [`attempts`](Self::attempts).
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets [`first_pause`](Self::first_pause) and [`longest_pause`](Self::longest_pause).
    #[must_use]
    pub const fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.first_pause = first;
        self.longest_pause = longest;
        self
    }

    /// Sets [`call_timeout`](Self::call_timeout).
    #[must_use]
    pub const fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets [`document_deadline`](Self::document_deadline) and [`query_deadline`](Self::query_deadline).
    #[must_use]
    pub const fn deadlines(mut self, documents: Duration, query: Duration) -> Self {
        self.document_deadline = documents;
        self.query_deadline = query;
        self
    }

    /// Sets [`concurrency`](Self::concurrency).
    #[must_use]
    pub const fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls;
        self
    }

    /// Sets [`chunk_tokens`](Self::chunk_tokens) and [`overlap_tokens`](Self::overlap_tokens).
    #[must_use]
    pub const fn chunks(mut self, tokens: usize, overlap: usize) -> Self {
        self.chunk_tokens = tokens;
        self.overlap_tokens = overlap;
        self
    }

    /// # Errors
    /// [`RemoteError::Setup`] for a value that makes no sense.
    pub(crate) fn check(&self) -> Result<(), RemoteError> {
        let refuse = |what: &str| Err(RemoteError::Setup { what: what.to_owned() });
        if self.attempts == 0 {
            return refuse("attempts is 0: it must be at least 1");
        }
        if self.concurrency == 0 || self.concurrency > 1024 {
            return refuse("concurrency must be 1 to 1024");
        }
        if self.chunk_tokens < 16 {
            return refuse("chunk_tokens must be at least 16");
        }
        if self.overlap_tokens > self.chunk_tokens / 2 {
            return refuse("overlap_tokens must be at most half of chunk_tokens");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_sense_are_refused_by_name() {
        let options = RemoteOptions::default();
        options.check().unwrap();
        for (options, name) in [
            (options.attempts(0), "attempts"),
            (options.concurrency(0), "concurrency"),
            (options.chunks(8, 0), "chunk_tokens"),
            (options.chunks(64, 33), "overlap_tokens"),
        ] {
            let error = options.check().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
