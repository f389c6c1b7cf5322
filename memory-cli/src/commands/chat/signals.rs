//! Ctrl-C: interrupts an answer, and ends the program where nothing is being answered.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use memory_agent::CancellationToken;
use signal_hook::{consts::SIGINT, flag};

/// Exit code of a program that Ctrl-C ends.
const ENDED: i32 = 130;
/// Time between two checks of the flag of a signal.
const BETWEEN_LOOKS: Duration = Duration::from_millis(30);

/// Signals of this process, while a chat runs.
#[derive(Clone, Debug)]
pub(crate) struct Signals(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// True while nothing is answered: the signal then ends the program.
    is_idle: Arc<AtomicBool>,
    is_sent: Arc<AtomicBool>,
    /// Number of signals in this turn.
    times: AtomicU32,
    turn: Mutex<Option<CancellationToken>>,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let state = Arc::new(State::default());
        state.is_idle.store(true, Ordering::SeqCst);
        flag::register_conditional_shutdown(SIGINT, ENDED, Arc::clone(&state.is_idle))?;
        flag::register(SIGINT, Arc::clone(&state.is_sent))?;
        let heard = Arc::downgrade(&state);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            while let Some(state) = heard.upgrade() {
                if state.is_sent.swap(false, Ordering::SeqCst) {
                    state.interrupt();
                }
                drop(state);
                thread::sleep(BETWEEN_LOOKS);
            }
        })?;
        Ok(Self(state))
    }

    /// Begins a turn, which the returned token interrupts.
    pub(crate) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.0.turn() = Some(token.clone());
        self.0.times.store(0, Ordering::SeqCst);
        self.0.is_idle.store(false, Ordering::SeqCst);
        token
    }

    /// Ends a turn.
    pub(crate) fn end(&self) {
        self.0.is_idle.store(true, Ordering::SeqCst);
        *self.0.turn() = None;
    }

    /// Number of interruptions of the last turn.
    pub(crate) fn interruptions(&self) -> u32 {
        self.0.times.load(Ordering::SeqCst)
    }
}

impl State {
    fn turn(&self) -> std::sync::MutexGuard<'_, Option<CancellationToken>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interrupt(&self) {
        if let Some(turn) = &*self.turn() {
            turn.cancel();
            if self.times.fetch_add(1, Ordering::SeqCst) > 1 {
                // After the third one the next ends the program, without waiting for the turn.
                self.is_idle.store(true, Ordering::SeqCst);
            }
        }
    }
}
