//! Retries failed calls within a deadline and a limit on concurrency.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep_until, timeout, timeout_at},
};

use super::{Failure, RemoteError, RemoteOptions, embedder::Purpose};

/// Time by which a request must end, or its next call must succeed.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    at: Arc<Mutex<Instant>>,
    after: Duration,
    /// True if each successful call restarts the time.
    moves: bool,
}

impl Deadline {
    /// A fixed deadline from now.
    pub(super) fn after(time: Duration) -> Self {
        Self { at: Arc::new(Mutex::new(Instant::now() + time)), after: time, moves: false }
    }

    /// A deadline since the last successful call. Clones share it.
    pub(super) fn without_progress(time: Duration) -> Self {
        Self { moves: true, ..Self::after(time) }
    }

    pub(super) fn progress(&self) {
        if self.moves {
            *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + self.after;
        }
    }

    fn at(&self) -> Instant {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn passed(&self) -> RemoteError {
        RemoteError::Deadline { after: self.after }
    }

    /// Runs `work` until the deadline.
    async fn limit<T>(&self, work: impl Future<Output = T>) -> Result<T, RemoteError> {
        let mut work = pin!(work);
        loop {
            let at = self.at();
            match timeout_at(at, work.as_mut()).await {
                Ok(done) => return Ok(done),
                Err(_) if self.at() <= at => return Err(self.passed()),
                Err(_) => {}
            }
        }
    }
}

/// Limits the concurrent calls.
#[derive(Debug)]
pub(super) struct Permits {
    calls: Semaphore,
    /// Held additionally by calls for documents, some of which must run alone; queries do not wait for those.
    documents: Semaphore,
}

impl Permits {
    pub(super) fn new(calls: usize) -> Self {
        Self { calls: Semaphore::new(calls), documents: Semaphore::new(calls) }
    }
}

/// Repeats a call until it succeeds, fails permanently, or has used up its attempts or time.
///
/// Each call waits for a permit, which is released during pauses. If the next pause would outlast the deadline, the
/// last failure is returned at once. So is the timeout of a call that `is_divisible`, because the same call would take
/// as long. Any other call for documents that timed out is repeated while no other call for documents runs, because the
/// service may have been busy with those.
pub(super) async fn with_retries<T, F>(
    options: &RemoteOptions,
    deadline: &Deadline,
    permits: &Permits,
    (purpose, is_divisible): (Purpose, bool),
    mut call: impl FnMut() -> F,
) -> Result<T, RemoteError>
where
    F: Future<Output = Result<T, Failure>>,
{
    let limit = options.call_timeout;
    let all = u32::try_from(options.concurrency).unwrap_or(u32::MAX);
    let (mut made, mut turns) = (0, u32::from(purpose == Purpose::Document));
    loop {
        let granted = async { (permits.documents.acquire_many(turns).await, permits.calls.acquire().await) };
        let (Ok(turn), Ok(permit)) = deadline.limit(granted).await? else { return Err(deadline.passed()) };
        made += 1;
        let failure = match deadline.limit(timeout(limit, call())).await? {
            Ok(Ok(answer)) => {
                deadline.progress();
                return Ok(answer);
            }
            Ok(Err(failure)) => failure,
            Err(_) if is_divisible => return Err(RemoteError::TimedOut { attempts: made, limit }),
            Err(_) => {
                if purpose == Purpose::Document {
                    turns = all;
                }
                RemoteError::TimedOut { attempts: made, limit }.into()
            }
        };
        drop((turn, permit));
        let error = failure.error.after(made);
        if !error.is_retryable() || made >= options.attempts {
            return Err(error);
        }
        let pause = jittered(longest_pause(options, made)).max(failure.retry_after.unwrap_or_default());
        let next = Instant::now() + pause;
        if next >= deadline.at() {
            return Err(error);
        }
        tracing::debug!(%error, ?pause, "a call failed and is repeated");
        sleep_until(next).await;
    }
}

/// Upper bound of the pause after `made` calls.
fn longest_pause(options: &RemoteOptions, made: u32) -> Duration {
    let doubled = 2_u32.checked_pow(made.saturating_sub(1)).and_then(|factor| options.first_pause.checked_mul(factor));
    doubled.unwrap_or(options.longest_pause).min(options.longest_pause)
}

/// A random part of `longest`.
fn jittered(longest: Duration) -> Duration {
    longest.mul_f64(fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: (Purpose, bool) = (Purpose::Document, false);

    fn options() -> RemoteOptions {
        RemoteOptions::default()
            .concurrency(1)
            .first_pause(Duration::from_millis(500))
            .longest_pause(Duration::from_secs(20))
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds: Vec<f64> = (1..=8).map(|made| longest_pause(&options(), made).as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]);
        assert_eq!(longest_pause(&options(), u32::MAX), Duration::from_secs(20));
    }

    #[test]
    fn a_pause_is_any_part_of_the_longest() {
        let pauses: Vec<Duration> = (0..200).map(|_| jittered(Duration::from_secs(1))).collect();
        assert!(pauses.iter().all(|pause| *pause <= Duration::from_secs(1)));
        assert!(pauses.iter().any(|pause| *pause < Duration::from_millis(200)), "never short");
        assert!(pauses.iter().any(|pause| *pause > Duration::from_millis(800)), "never long");
    }

    fn throttled() -> RemoteError {
        RemoteError::Throttled { attempts: 1, detail: "slow down".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn the_service_may_ask_for_a_longer_pause() {
        let start = Instant::now();
        let mut calls = 0;
        let answer =
            with_retries(&options(), &Deadline::after(Duration::from_mins(1)), &Permits::new(1), DOCUMENT, || {
                calls += 1;
                let answer = if calls == 1 {
                    Err(Failure { error: throttled(), retry_after: Some(Duration::from_secs(7)) })
                } else {
                    Ok(3)
                };
                async { answer }
            })
            .await;
        assert_eq!(answer.unwrap(), 3);
        assert_eq!(start.elapsed().as_secs(), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_beyond_the_deadline_is_not_begun() {
        let start = Instant::now();
        let deadline = Deadline::after(Duration::from_secs(5));
        let error = with_retries(&options(), &deadline, &Permits::new(1), DOCUMENT, || async {
            Err::<(), _>(Failure { error: throttled(), retry_after: Some(Duration::from_secs(60)) })
        })
        .await;
        assert!(matches!(error, Err(RemoteError::Throttled { attempts: 1, .. })));
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_are_counted_and_then_used_up() {
        let options = options().attempts(4);
        let mut calls = 0;
        let error =
            with_retries(&options, &Deadline::after(Duration::from_mins(9)), &Permits::new(1), DOCUMENT, || {
                calls += 1;
                async { Err::<(), Failure>(throttled().into()) }
            })
            .await
            .unwrap_err();
        assert!(matches!(error, RemoteError::Throttled { attempts: 4, .. }), "{error}");
        assert_eq!(calls, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_hangs_is_made_again_until_the_deadline() {
        let options = options().call_timeout(Duration::from_secs(2));
        let mut calls = 0;
        let deadline = Deadline::after(Duration::from_secs(3));
        let error = with_retries(&options, &deadline, &Permits::new(1), DOCUMENT, || {
            calls += 1;
            std::future::pending::<Result<(), Failure>>()
        })
        .await
        .unwrap_err();
        assert!(matches!(error, RemoteError::Deadline { .. } | RemoteError::TimedOut { attempts: 1, .. }), "{error}");
        assert!(calls <= 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_gets_on_has_more_time() {
        let second = Duration::from_secs(1);
        let deadline = Deadline::without_progress(5 * second);
        let (options, calls) = (options(), Permits::new(1));
        let call = |seconds: u32| {
            let work = move || async move {
                tokio::time::sleep(seconds * second).await;
                Ok::<_, Failure>(seconds)
            };
            with_retries(&options, &deadline, &calls, DOCUMENT, work)
        };
        for _ in 0..4 {
            assert_eq!(call(3).await.unwrap(), 3);
        }
        // A call that waits for another, which succeeds meanwhile.
        let (first, second) = tokio::join!(call(4), call(4));
        assert_eq!((first.unwrap(), second.unwrap()), (4, 4));
        assert!(matches!(call(6).await, Err(RemoteError::Deadline { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_does_one_thing_at_a_time_gets_done() {
        let options = options().concurrency(4).attempts(2);
        let (deadline, calls, server) =
            (Deadline::without_progress(Duration::from_mins(5)), Permits::new(4), Semaphore::new(1));
        let call = || async {
            // The second of two concurrent calls times out.
            let _turn = server.acquire().await.unwrap();
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok::<_, Failure>(())
        };
        let ask = || with_retries(&options, &deadline, &calls, DOCUMENT, call);
        let (a, b, c, d) = tokio::join!(ask(), ask(), ask(), ask());
        assert!([a, b, c, d].iter().all(Result::is_ok));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_does_not_wait_for_a_text_that_hangs() {
        let (options, permits) = (options().concurrency(4).attempts(3), Permits::new(4));
        let deadline = Deadline::without_progress(Duration::from_mins(5));
        let hang = || std::future::pending::<Result<(), Failure>>();
        let text = || with_retries(&options, &deadline, &permits, DOCUMENT, hang);
        let questions = async {
            for _ in 0..100 {
                let soon = Deadline::after(Duration::from_secs(10));
                let call = || async { Ok::<_, Failure>(()) };
                with_retries(&options, &soon, &permits, (Purpose::Query, false), call).await?;
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            Ok::<_, RemoteError>(())
        };
        let (one, other, asked) = tokio::join!(text(), text(), questions);
        assert!(one.is_err() && other.is_err());
        asked.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_can_be_divided_is_not_made_again_as_it_was() {
        let mut calls = 0;
        let deadline = Deadline::after(Duration::from_mins(9));
        let error = with_retries(&options(), &deadline, &Permits::new(1), (Purpose::Document, true), || {
            calls += 1;
            std::future::pending::<Result<(), Failure>>()
        })
        .await;
        assert!(matches!(error, Err(RemoteError::TimedOut { attempts: 1, .. })));
        assert_eq!(calls, 1);
    }

    #[tokio::test]
    async fn a_refusal_is_final() {
        let mut calls = 0;
        let error =
            with_retries(&options(), &Deadline::after(Duration::from_mins(9)), &Permits::new(1), DOCUMENT, || {
                calls += 1;
                async { Err::<(), Failure>(RemoteError::Refused { detail: String::new() }.into()) }
            })
            .await;
        assert!(matches!(error, Err(RemoteError::Refused { .. })));
        assert_eq!(calls, 1);
    }
}
