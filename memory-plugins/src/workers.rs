//! Threads that call plugins, and a clock thread that gives up late calls.

use std::{
    collections::VecDeque,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use memory_core::port::TokenCounter;

use crate::{
    call::{Answer, Call, Expire},
    error::CallError,
    options::PluginOptions,
};

/// A bounded pool of threads that run calls under a deadline.
///
/// A thread cannot be ended from outside. A call past its deadline is given up: its caller gets an error, its thread
/// counts as stuck, and another thread replaces it, up to a limit. When the stuck call returns, the surplus thread
/// ends. All threads end once the last handle is dropped and queued calls are answered.
#[derive(Debug)]
pub(crate) struct Workers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
    tick: Condvar,
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    deadline: Duration,
    workers: usize,
    queue: usize,
    replacements: usize,
}

/// The deadline if the configured one exceeds the range of the clock.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Runs one call; returns true if it was given up meanwhile.
type Job = Box<dyn FnOnce() -> bool + Send>;

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Deadlines of calls, in order, because all calls have the same time.
    deadlines: VecDeque<(Instant, Weak<dyn Expire>)>,
    threads: usize,
    /// Number of threads without a call.
    idle: usize,
    /// Number of threads whose call was given up. Briefly negative if a call returns while it is given up.
    stuck: isize,
    /// True while the clock thread runs.
    clock: bool,
    /// Time at which the clock thread wakes by itself.
    next_look: Option<Instant>,
    closed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { threads, idle, stuck, .. } = self;
        f.debug_struct("State")
            .field("threads", threads)
            .field("idle", idle)
            .field("stuck", stuck)
            .finish_non_exhaustive()
    }
}

impl State {
    /// Removes the deadlines of finished calls from the front of the queue.
    fn sweep(&mut self) {
        while self.deadlines.front().is_some_and(|(_, call)| call.strong_count() == 0) {
            self.deadlines.pop_front();
        }
    }
}

impl Workers {
    pub(crate) fn new(options: &PluginOptions) -> Self {
        let limits = Limits {
            deadline: options.deadline,
            workers: options.workers.max(1),
            queue: options.queue,
            replacements: options.replacements,
        };
        let shared = Shared { state: Mutex::default(), work: Condvar::new(), tick: Condvar::new(), limits };
        Self { shared: Arc::new(shared) }
    }

    /// Number of calls that were given up but have not returned.
    pub(crate) fn stuck(&self) -> usize {
        usize::try_from(self.shared.lock().stuck).unwrap_or(0)
    }

    /// Runs `work` on a worker, and counts tokens with `counter` while the answer is awaited.
    pub(crate) fn call<'a, T: Send + 'static>(
        &self,
        counter: Option<&'a dyn TokenCounter>,
        work: impl FnOnce(&Call<T>) -> Result<T, CallError> + Send + 'static,
    ) -> Answer<'a, T> {
        let call = Arc::new(Call::new());
        let job = {
            let call = Arc::clone(&call);
            Box::new(move || {
                if !call.begin() {
                    return false;
                }
                let outcome = catch_unwind(AssertUnwindSafe(|| work(&call))).unwrap_or_else(|payload| {
                    mem::forget(payload);
                    Err(CallError::Panicked("beyond its guard".to_owned()))
                });
                call.finish(outcome)
            })
        };
        let expiring: Arc<dyn Expire> = Arc::<Call<T>>::clone(&call);
        if let Err(error) = Shared::submit(&self.shared, job, Arc::downgrade(&expiring)) {
            call.finish(Err(error));
        }
        Answer { call, counter }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        self.shared.tick.notify_all();
    }
}

impl Shared {
    fn submit(this: &Arc<Self>, job: Job, call: Weak<dyn Expire>) -> Result<(), CallError> {
        let mut state = this.lock();
        if state.queue.len() >= this.limits.queue.max(1) {
            return Err(CallError::Busy);
        }
        if !state.clock {
            state.clock = this.spawn("memory-plugin-clock", Self::run_clock);
            if !state.clock {
                return Err(CallError::Busy);
            }
        }
        state.queue.push_back(job);
        state.sweep();
        let now = Instant::now();
        let at = now.checked_add(this.limits.deadline).unwrap_or(now + FAR);
        state.deadlines.push_back((at, call));
        this.staff(&mut state);
        let clock_sleeps_past = state.next_look.is_none_or(|look| look > at);
        drop(state);
        this.work.notify_one();
        if clock_sleeps_past {
            this.tick.notify_one();
        }
        Ok(())
    }

    /// Starts a thread if there is more work than idle threads, within the limit.
    fn staff(self: &Arc<Self>, state: &mut State) {
        if state.queue.len() > state.idle
            && state.threads < self.most_threads(state)
            && self.spawn("memory-plugin", Self::run_worker)
        {
            state.threads += 1;
        }
    }

    fn most_threads(&self, state: &State) -> usize {
        self.limits.workers + usize::try_from(state.stuck).unwrap_or(0).min(self.limits.replacements)
    }

    fn spawn(self: &Arc<Self>, name: &str, run: fn(&Arc<Self>)) -> bool {
        let this = Arc::clone(self);
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || run(&this));
        if let Err(error) = &spawned {
            tracing::warn!(%error, "no thread to call plugins");
        }
        spawned.is_ok()
    }

    fn run_worker(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            let Some(job) = state.queue.pop_front() else {
                if state.closed {
                    break;
                }
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let was_given_up = job();
            state = self.lock();
            if was_given_up {
                state.stuck -= 1;
                if state.threads > self.most_threads(&state) {
                    break;
                }
            }
        }
        state.threads -= 1;
    }

    fn run_clock(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            state.sweep();
            state.next_look = state.deadlines.front().map(|(at, _)| *at);
            let Some(next) = state.next_look else {
                if state.closed {
                    break;
                }
                state = self.tick.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = next.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                state = self.tick.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let call = state.deadlines.pop_front().and_then(|(_, call)| call.upgrade());
            drop(state);
            if let Some(call) = call.filter(|call| call.give_up()) {
                // Counted before the caller is answered, so that the caller sees it counted.
                let mut state = self.lock();
                state.stuck += 1;
                self.staff(&mut state);
                drop(state);
                call.tell_late(self.limits.deadline);
            }
            state = self.lock();
        }
        state.clock = false;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
