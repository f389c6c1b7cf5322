//! The terminal while the program draws on the whole of it, and its restoration however the program ends.
#![expect(clippy::disallowed_methods, reason = "what is drawn was made harmless in item.rs and state.rs")]

use std::{
    io::{self, Stdout},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::Show,
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
};

use crate::terminal::hold_errors;

/// True while the terminal is drawn on.
static IS_DRAWN: AtomicBool = AtomicBool::new(false);
static PANICS: Once = Once::new();

/// The terminal that is drawn on. A drop restores it.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        // The message of a panic would be drawn over, so the terminal is restored first.
        PANICS.call_once(|| {
            let said = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                leave();
                said(panic);
            }));
        });
        take()?;
        match Terminal::new(CrosstermBackend::new(io::stdout())) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    /// Lends the terminal to others while `other` runs.
    pub(super) fn paused<T>(&mut self, other: impl FnOnce() -> T) -> io::Result<T> {
        leave();
        let done = other();
        take()?;
        // `clear` would ask the terminal for its cursor, and the answer comes among the keys, or not at all.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())?;
        Ok(done)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn take() -> io::Result<()> {
    hold_errors(true);
    IS_DRAWN.store(true, Ordering::SeqCst);
    let taken = enable_raw_mode().and_then(|()| execute!(io::stdout(), EnterAlternateScreen));
    if taken.is_err() {
        leave();
    }
    taken
}

/// Restores the terminal. A terminal that is gone needs nothing.
fn leave() {
    if IS_DRAWN.swap(false, Ordering::SeqCst) {
        drop(execute!(io::stdout(), LeaveAlternateScreen, Show));
        drop(disable_raw_mode());
    }
    hold_errors(false);
}
