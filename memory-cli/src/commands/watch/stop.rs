//! Requests of a user or the system to end the program.

use std::{
    cell::Cell,
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// SIGINT and SIGTERM, caught from its creation on.
pub(super) struct Stop {
    signals: Receiver<()>,
    is_asked: Cell<bool>,
}

impl Stop {
    #[cfg(unix)]
    pub(super) fn listen() -> io::Result<Self> {
        use signal_hook::{
            consts::{SIGINT, SIGTERM},
            iterator::Signals,
        };

        let mut asked = Signals::new([SIGINT, SIGTERM])?;
        let (tell, signals) = channel();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for _ in asked.forever() {
                // Without a receiver, the program is ending already.
                let _ = tell.send(());
            }
        })?;
        Ok(Self { signals, is_asked: Cell::new(false) })
    }

    /// The system ends the program at once; the next run continues from the recorded state.
    #[cfg(not(unix))]
    pub(super) fn listen() -> io::Result<Self> {
        let (tell, signals) = channel();
        // The channel never gets a message.
        thread::Builder::new().spawn(move || {
            let _tell = tell;
            thread::park();
        })?;
        Ok(Self { signals, is_asked: Cell::new(false) })
    }

    pub(super) fn is_asked(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits at most `at_most`, or until the program must end. Returns true if it must.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let is_asked =
            self.is_asked.get() || !matches!(self.signals.recv_timeout(at_most), Err(RecvTimeoutError::Timeout));
        self.is_asked.set(is_asked);
        is_asked
    }
}
