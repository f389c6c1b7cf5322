//! Options of calls to a service.

use std::time::Duration;

use super::RemoteError;

/// Options of calls to a service: retries, timeouts, concurrency and chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Maximum attempts of a call, at least 1. By default 6.
    pub attempts: u32,
    /// Upper bound of the first pause after a failed call; doubles with each failure. The actual pause is a random part
    /// of the bound ("full jitter"), so that clients that failed together do not retry together. By default 0.5 s.
    pub first_pause: Duration,
    /// Maximum of that bound. By default 20 s.
    pub longest_pause: Duration,
    /// Timeout of one call. A call of several texts that times out is split in halves, and later calls stay that small
    /// until calls are fast again. By default 30 s.
    pub call_timeout: Duration,
    /// Maximum time without a successful call in a request of documents, including pauses. By default 5 minutes.
    pub document_deadline: Duration,
    /// Time limit of a query with all calls and pauses. By default 10 s.
    pub query_deadline: Duration,
    /// Maximum concurrent calls of all requests, at least 1. By default 4.
    pub concurrency: usize,
    /// Maximum tokens of a chunk by a conservative estimate, at least 16. The model's own limit applies if lower. By
    /// default 512, because a vector of much more text represents none of its passages well.
    pub chunk_tokens: usize,
    /// Maximum tokens that a chunk of a long text repeats from the previous chunk, up to half of a chunk. By default
    /// 32.
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
    memory_core::setters! {
        const attempts: u32,
        const first_pause: Duration,
        const longest_pause: Duration,
        const call_timeout: Duration,
        const document_deadline: Duration,
        const query_deadline: Duration,
        const concurrency: usize,
        const chunk_tokens: usize,
        const overlap_tokens: usize,
    }

    /// # Errors
    /// [`RemoteError::Setup`] for an invalid value.
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
            (options.chunk_tokens(8).overlap_tokens(0), "chunk_tokens"),
            (options.chunk_tokens(64).overlap_tokens(33), "overlap_tokens"),
        ] {
            let error = options.check().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
