//! The wish of a user or the system that the program ends.

use std::{
    cell::Cell,
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// Hears SIGINT and SIGTERM from when it is made on.
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
                // Where nobody listens any more, the program is at its end.
                let _ = tell.send(());
            }
        })?;
        Ok(Self { signals, is_asked: Cell::new(false) })
    }

    /// Here the system ends the program at once; the next one goes on where it stood.
    #[cfg(not(unix))]
    pub(super) fn listen() -> io::Result<Self> {
        let (tell, signals) = channel();
        // It is never told.
        thread::Builder::new().spawn(move || {
            let _tell = tell;
            thread::park();
        })?;
        Ok(Self { signals, is_asked: Cell::new(false) })
    }

    pub(super) fn is_asked(&self) -> bool {
        self.wait(Duration::ZERO)
    }

    /// Waits so long, or until the program is to end; whether it is.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let is_asked =
            self.is_asked.get() || !matches!(self.signals.recv_timeout(at_most), Err(RecvTimeoutError::Timeout));
        self.is_asked.set(is_asked);
        is_asked
    }
}
