//! Threads that call plugins, and the clock thread that gives up late calls.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use memory_core::TokenCounter;

use crate::{
    call::{Answer, Call, Expire},
    error::CallError,
    exit,
    options::PluginOptions,
    spin_wait::{LONGEST_SPIN, spin_until},
};

/// A bounded set of threads that run calls under a deadline.
///
/// A thread cannot be ended from outside, so a call past its deadline is given up: its caller gets an error, its thread
/// counts as stuck, and another thread takes its place, up to a bound. When the stuck call returns, the surplus thread
/// ends. All threads end when the last handle is dropped and the queued calls are answered.
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
    /// Calls in the queue. Changed under the lock; read without it by threads that spin-wait for one.
    queued: AtomicUsize,
    /// The last call was shorter than [`LONGEST_SPIN`], so the next one may be.
    is_brief: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    deadline: Duration,
    workers: usize,
    queue: usize,
    replacements: usize,
}

/// The deadline where the configured one is beyond the range of the clock.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Runs one call; true when the call had been given up in the meantime.
type Job = Box<dyn FnOnce() -> bool + Send>;

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    deadlines: BinaryHeap<Reverse<Deadline>>,
    threads: usize,
    /// Threads without a call, awake or asleep.
    idle: usize,
    /// Idle threads that need not be woken.
    awake: usize,
    /// Threads whose call was given up. Briefly below 0 when a call returns just as it is given up.
    stuck: isize,
    /// The clock thread runs.
    clock: bool,
    /// When the clock thread next wakes by itself.
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
    /// Removes deadlines of calls that are over from the front of the queue.
    fn sweep(&mut self) {
        while self.deadlines.peek().is_some_and(|Reverse(deadline)| deadline.call.strong_count() == 0) {
            self.deadlines.pop();
        }
    }
}

struct Deadline {
    at: Instant,
    call: Weak<dyn Expire>,
}

impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Deadline {}

impl Workers {
    pub(crate) fn new(options: &PluginOptions) -> Self {
        let limits = Limits {
            deadline: options.deadline,
            workers: options.workers.max(1),
            queue: options.queue,
            replacements: options.replacements,
        };
        let shared = Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            tick: Condvar::new(),
            limits,
            queued: AtomicUsize::new(0),
            is_brief: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Calls that were given up and have not returned.
    pub(crate) fn stuck(&self) -> usize {
        usize::try_from(self.shared.lock().stuck).unwrap_or(0)
    }

    /// Runs `work` on a worker. While the answer is awaited, tokens are counted with `counter`.
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
                let outcome =
                    catch_unwind(AssertUnwindSafe(|| exit::in_plugin(|| work(&call)))).unwrap_or_else(|payload| {
                        mem::forget(payload);
                        Err(CallError::Panicked("beyond its guard".to_owned()))
                    });
                call.finish(outcome)
            })
        };
        let expiring: Arc<dyn Expire> = Arc::<Call<T>>::clone(&call);
        let is_soon = match Shared::submit(&self.shared, job, Arc::downgrade(&expiring)) {
            Ok(is_soon) => is_soon,
            Err(error) => {
                call.finish(Err(error));
                false
            }
        };
        Answer { call, counter, is_soon }
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
    /// Queues a job; true when the outcome may come within a spin-wait.
    fn submit(this: &Arc<Self>, job: Job, call: Weak<dyn Expire>) -> Result<bool, CallError> {
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
        this.queued.store(state.queue.len(), Ordering::Release);
        state.sweep();
        let now = Instant::now();
        let at = now.checked_add(this.limits.deadline).unwrap_or(now + FAR);
        state.deadlines.push(Reverse(Deadline { at, call }));
        this.staff(&mut state);
        let clock_sleeps_past = state.next_look.is_none_or(|look| look > at);
        let is_one_to_wake = state.queue.len() > state.awake;
        let is_next = state.queue.len() <= state.idle;
        drop(state);
        if is_one_to_wake {
            this.work.notify_one();
        }
        if clock_sleeps_past {
            this.tick.notify_one();
        }
        Ok(is_next && this.is_brief.load(Ordering::Relaxed))
    }

    /// Starts a thread when there is more work than idle threads and the bound allows it.
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
        let mut was_brief = false;
        loop {
            let Some(job) = state.queue.pop_front() else {
                if state.closed {
                    break;
                }
                state.idle += 1;
                if mem::take(&mut was_brief) {
                    state.awake += 1;
                    drop(state);
                    spin_until(|| self.queued.load(Ordering::Acquire) > 0);
                    state = self.lock();
                    state.awake -= 1;
                } else {
                    state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.idle -= 1;
                continue;
            };
            self.queued.store(state.queue.len(), Ordering::Release);
            drop(state);
            let begin = Instant::now();
            let was_given_up = job();
            was_brief = begin.elapsed() < LONGEST_SPIN;
            self.is_brief.store(was_brief, Ordering::Relaxed);
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
            state.next_look = state.deadlines.peek().map(|Reverse(deadline)| deadline.at);
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
            let call = state.deadlines.pop().and_then(|Reverse(deadline)| deadline.call.upgrade());
            drop(state);
            if let Some(call) = call.filter(|call| call.give_up()) {
                // Counted before the caller is answered, so that a caller that is late sees it counted.
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
