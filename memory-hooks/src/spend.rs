//! Limits of requests to a model, and the amounts spent.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limits of requests to a model; none by default.
///
/// A limit never blocks. Work that it leaves undone is done without a model, and reported once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpendLimits {
    /// The most requests of one compaction.
    pub requests_per_compaction: Option<u64>,
    /// The most tokens of one compaction, of requests and replies together.
    pub tokens_per_compaction: Option<u64>,
    /// The most requests of this process.
    pub requests: Option<u64>,
    /// The most tokens of this process, of requests and replies together.
    pub tokens: Option<u64>,
}

impl SpendLimits {
    memory_core::setters! {
        const some requests_per_compaction: u64,
        const some tokens_per_compaction: u64,
        const some requests: u64,
        const some tokens: u64,
    }
}

/// A limit that does not admit the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("exhausted: {spent} of {limit} {unit} of {scope} are spent, and the next request needs {needed}")]
#[non_exhaustive]
pub struct Exhausted {
    /// Unit of the limit: `requests` or `tokens`.
    pub unit: &'static str,
    /// Scope of the limit: `this compaction` or `this process`.
    pub scope: &'static str,
    /// The limit.
    pub limit: u64,
    /// Spent amount.
    pub spent: u64,
    /// Amount that the next request needs.
    pub needed: u64,
}

/// Amounts that were spent.
#[derive(Debug, Default)]
pub(crate) struct Spent(Mutex<Sum>);

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    requests: u64,
    tokens: u64,
}

impl Spent {
    fn lock(&self) -> MutexGuard<'_, Sum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Corrects the tokens of a request that was estimated.
    pub(crate) fn correct(&self, estimated: u64, actual: u64) {
        let mut sum = self.lock();
        sum.tokens = sum.tokens.saturating_sub(estimated).saturating_add(actual);
    }

    /// Takes a request of `tokens` tokens from both accounts, or from none.
    pub(crate) fn take(limits: &SpendLimits, compaction: &Self, process: &Self, tokens: u64) -> Result<(), Exhausted> {
        let (mut of_compaction, mut of_process) = (compaction.lock(), process.lock());
        let scopes = [
            ("this compaction", *of_compaction, limits.requests_per_compaction, limits.tokens_per_compaction),
            ("this process", *of_process, limits.requests, limits.tokens),
        ];
        for (scope, sum, requests, all_tokens) in scopes {
            for (unit, limit, spent, needed) in
                [("requests", requests, sum.requests, 1), ("tokens", all_tokens, sum.tokens, tokens)]
            {
                if let Some(limit) = limit.filter(|limit| spent.saturating_add(needed) > *limit) {
                    return Err(Exhausted { unit, scope, limit, spent, needed });
                }
            }
        }
        for sum in [&mut of_compaction, &mut of_process] {
            sum.requests = sum.requests.saturating_add(1);
            sum.tokens = sum.tokens.saturating_add(tokens);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_from_every_account_or_from_none() {
        let limits = SpendLimits::default().requests_per_compaction(2).tokens(100);
        let (compaction, process) = (Spent::default(), Spent::default());
        let take = |compaction: &Spent, tokens| Spent::take(&limits, compaction, &process, tokens);
        take(&compaction, 40).unwrap();
        let error = take(&compaction, 61).unwrap_err();
        assert_eq!((error.unit, error.scope, error.spent), ("tokens", "this process", 40));
        process.correct(40, 10);
        take(&compaction, 61).unwrap();
        let error = take(&compaction, 1).unwrap_err();
        assert_eq!((error.unit, error.scope, error.limit), ("requests", "this compaction", 2));
        take(&Spent::default(), 29).unwrap();
        take(&Spent::default(), 1).unwrap_err();
    }
}
