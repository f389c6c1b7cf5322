//! One call of a plugin: state shared by the caller, the worker that runs it, and the clock thread.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use memory_core::port::TokenCounter;

use crate::error::CallError;

/// A call that is waiting, running or over.
///
/// The caller's token counter is borrowed and must not outlive the caller's wait, but a call that was given up does. So
/// the worker has no counter: it sends texts to the caller's future, which counts them and returns the numbers.
#[derive(Debug)]
pub(crate) struct Call<T> {
    state: Mutex<State<T>>,
    answered: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// A worker is running the call.
    running: bool,
    /// The caller no longer waits: the outcome is known, or the caller is gone.
    over: bool,
    /// The call was given up while it was running.
    given_up: bool,
    outcome: Option<Result<T, CallError>>,
    caller: Option<Waker>,
    /// Text to count, and its number of tokens.
    question: Option<String>,
    answer: Option<u32>,
    /// A thread of the plugin is waiting for a count; others queue up.
    asking: bool,
}

impl<T> Call<T> {
    pub(crate) fn new() -> Self {
        let state = State {
            running: false,
            over: false,
            given_up: false,
            outcome: None,
            caller: None,
            question: None,
            answer: None,
            asking: false,
        };
        Self { state: Mutex::new(state), answered: Condvar::new() }
    }

    /// Begins the call on a worker; false if it is over.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.lock();
        state.running = !state.over;
        state.running
    }

    /// Ends the call, also one that no worker will begin. Returns true if it was given up before.
    pub(crate) fn finish(&self, outcome: Result<T, CallError>) -> bool {
        let mut state = self.lock();
        state.running = false;
        let given_up = state.given_up;
        if !state.over {
            self.settle(state, Some(outcome));
        }
        given_up
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Requests the number of tokens of `text` from the caller; `u32::MAX` if the call is over.
    pub(crate) fn count(&self, text: &str) -> u32 {
        let mut state = self.lock();
        while state.asking && !state.over {
            state = self.wait(state);
        }
        if state.over {
            return u32::MAX;
        }
        state.asking = true;
        state.question = Some(text.to_owned());
        let caller = state.caller.take();
        drop(state);
        wake(caller);
        state = self.lock();
        let tokens = loop {
            if let Some(tokens) = state.answer.take() {
                break tokens;
            }
            if state.over {
                break u32::MAX;
            }
            state = self.wait(state);
        };
        state.asking = false;
        self.answered.notify_all();
        tokens
    }

    /// Returns the number of tokens to the worker.
    fn answer(&self, tokens: u32) {
        self.lock().answer = Some(tokens);
        self.answered.notify_all();
    }

    /// Ends the caller's wait with `outcome`, or with `None` if the caller is gone.
    fn settle(&self, mut state: MutexGuard<'_, State<T>>, outcome: Option<Result<T, CallError>>) {
        state.over = true;
        state.outcome = outcome;
        let caller = state.caller.take();
        drop(state);
        wake(caller);
        self.answered.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Each change of the state is a single step, so a panic leaves it consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.answered.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the caller. No lock may be held, because a waker runs code of the caller's runtime.
fn wake(caller: Option<Waker>) {
    if let Some(caller) = caller {
        caller.wake();
    }
}

/// A call with a deadline.
pub(crate) trait Expire: Send + Sync {
    /// Gives the call up at its deadline. A call that no worker has begun ends at once. Returns true if a worker is
    /// running it, because that worker may never return; [`Self::tell_late`] then answers the caller, after the worker
    /// was counted as stuck.
    fn give_up(&self) -> bool;

    /// Answers the caller of a call that was given up, unless it was answered meanwhile.
    fn tell_late(&self, deadline: Duration);
}

impl<T: Send> Expire for Call<T> {
    fn give_up(&self) -> bool {
        let mut state = self.lock();
        let running = state.running;
        state.given_up = running;
        if !running && !state.over {
            self.settle(state, Some(Err(CallError::Busy)));
        }
        running
    }

    fn tell_late(&self, deadline: Duration) {
        let state = self.lock();
        if !state.over {
            self.settle(state, Some(Err(CallError::Late(deadline))));
        }
    }
}

/// Waits for a call and counts tokens for it. Dropping this gives the call up.
pub(crate) struct Answer<'a, T> {
    pub(crate) call: Arc<Call<T>>,
    pub(crate) counter: Option<&'a dyn TokenCounter>,
}

impl<T> Future for Answer<'_, T> {
    type Output = Result<T, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let call = &*self.call;
            let mut state = call.lock();
            if let Some(outcome) = state.outcome.take() {
                return Poll::Ready(outcome);
            }
            if let Some(question) = state.question.take() {
                drop(state);
                let tokens = self.counter.map_or(u32::MAX, |counter| counter.count(&question));
                call.answer(tokens);
            } else {
                state.caller = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
    }
}

impl<T> Drop for Answer<'_, T> {
    fn drop(&mut self) {
        let state = self.call.lock();
        if !state.over {
            self.call.settle(state, None);
        }
    }
}
