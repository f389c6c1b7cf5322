//! Ctrl-C: interrupts an answer, and ends the program where nothing is being answered or the answer hangs.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use memory_agent::CancellationToken;
use signal_hook::{consts::SIGINT, flag, low_level};

use super::ahead::{Quiet, Typed};
use crate::terminal;

/// Exit code of a program that Ctrl-C ends.
const ENDED: i32 = 130;
/// Time between two checks of the flag of a signal.
const BETWEEN_LOOKS: Duration = Duration::from_millis(30);
/// Time that a turn has to record what came, after the second signal.
const PATIENCE: Duration = Duration::from_secs(1);

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
    turn: Mutex<Option<Running>>,
}

/// A turn that is being answered.
#[derive(Debug)]
struct Running {
    token: CancellationToken,
    /// The terminal, if keys are kept for the editor.
    quiet: Option<Quiet>,
    /// Time at which the program ends, with or without the turn.
    ends: Option<Instant>,
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
                    state.interrupt(Instant::now());
                }
                state.end_hanging(Instant::now());
                drop(state);
                thread::sleep(BETWEEN_LOOKS);
            }
        })?;
        Ok(Self(state))
    }

    /// Begins a turn, which the returned token interrupts.
    pub(crate) fn begin(&self) -> CancellationToken {
        self.begun(None)
    }

    /// Begins a turn during which keys are kept for the editor.
    pub(super) fn begin_quietly(&self) -> CancellationToken {
        self.begun(Quiet::begin())
    }

    fn begun(&self, quiet: Option<Quiet>) -> CancellationToken {
        let token = CancellationToken::new();
        *self.0.turn() = Some(Running { token: token.clone(), quiet, ends: None });
        self.0.times.store(0, Ordering::SeqCst);
        self.0.is_idle.store(false, Ordering::SeqCst);
        token
    }

    /// Ends a turn, and returns the keys that were kept.
    pub(crate) fn end(&self) -> Typed {
        let ended = self.0.turn().take();
        let typed = ended.and_then(|turn| turn.quiet).map(Quiet::end).unwrap_or_default();
        self.0.is_idle.store(true, Ordering::SeqCst);
        typed
    }

    /// Number of interruptions of the last turn.
    pub(crate) fn interruptions(&self) -> u32 {
        self.0.times.load(Ordering::SeqCst)
    }
}

impl State {
    fn turn(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first signal interrupts the turn, the second one leaves it a moment, and the third one none.
    fn interrupt(&self, now: Instant) {
        if let Some(turn) = &mut *self.turn() {
            turn.token.cancel();
            turn.ends = match self.times.fetch_add(1, Ordering::SeqCst) {
                0 => None,
                1 => Some(now + PATIENCE),
                _ => Some(now),
            };
        }
    }

    /// Ends the program if the turn does not end by itself.
    fn end_hanging(&self, now: Instant) {
        let turn = self.turn();
        let Some(Running { quiet, ends: Some(ends), .. }) = &*turn else { return };
        if *ends <= now {
            quiet.iter().for_each(Quiet::restore);
            terminal::flush_errors();
            low_level::exit(ENDED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_signal_ends_a_turn_that_hangs() {
        let signals = Signals(Arc::new(State::default()));
        let (token, now) = (signals.begin(), Instant::now());
        let ends = || signals.0.turn().as_ref().and_then(|turn| turn.ends);
        signals.0.interrupt(now);
        assert!(token.is_cancelled() && ends().is_none());
        signals.0.interrupt(now);
        assert_eq!((signals.interruptions(), ends()), (2, Some(now + PATIENCE)));
        signals.0.interrupt(now);
        assert_eq!(ends(), Some(now));
        signals.end();
        signals.0.end_hanging(now);
    }
}
