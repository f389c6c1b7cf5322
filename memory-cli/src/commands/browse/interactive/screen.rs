//! The terminal while the whole of it is drawn on, and its return to what it was, however the program goes on.
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

/// The terminal that is drawn on. Dropping it gives the terminal back.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        // The screen would be drawn over the message of a panic.
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

    /// Gives the terminal to others while `other` runs.
    pub(super) fn paused<T>(&mut self, other: impl FnOnce() -> T) -> io::Result<T> {
        leave();
        let done = other();
        take()?;
        // `clear` would ask the terminal where its cursor is, and the answer comes among the keys, or not at all.
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

/// Gives the terminal back. A terminal that is gone needs nothing.
fn leave() {
    if IS_DRAWN.swap(false, Ordering::SeqCst) {
        drop(execute!(io::stdout(), LeaveAlternateScreen, Show));
        drop(disable_raw_mode());
    }
    hold_errors(false);
}
