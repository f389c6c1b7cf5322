//! What the system wants of the program while it has the terminal.

#[cfg(not(unix))]
use std::io;

/// A wish of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// To end, by this signal.
    End(i32),
    /// To stop until it is continued.
    Stop,
}

#[cfg(unix)]
pub(super) use self::unix::{Signals, end_by, stop};

#[cfg(unix)]
mod unix {
    use std::{
        io,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP},
        flag,
        low_level::emulate_default_handler,
    };

    use super::Wish;

    const HEARD: [i32; 4] = [SIGHUP, SIGINT, SIGTERM, SIGTSTP];

    /// Hears signals from when it is made on.
    pub(in super::super) struct Signals(Vec<(i32, Arc<AtomicBool>)>);

    impl Signals {
        pub(in super::super) fn listen() -> io::Result<Self> {
            let mut heard = Vec::new();
            for signal in HEARD {
                let is_sent = Arc::new(AtomicBool::new(false));
                flag::register(signal, Arc::clone(&is_sent))?;
                heard.push((signal, is_sent));
            }
            Ok(Self(heard))
        }

        /// The wish that was not asked for before.
        pub(in super::super) fn wish(&self) -> Option<Wish> {
            let (signal, _) = self.0.iter().find(|(_, is_sent)| is_sent.swap(false, Ordering::SeqCst))?;
            Some(if *signal == SIGTSTP { Wish::Stop } else { Wish::End(*signal) })
        }
    }

    /// Stops until the program is continued.
    pub(in super::super) fn stop() -> io::Result<()> {
        emulate_default_handler(SIGTSTP)
    }

    /// Ends as the signal ends a program that does not hear it, so that the shell sees that.
    pub(in super::super) fn end_by(signal: i32) {
        // It does not return.
        drop(emulate_default_handler(signal));
    }
}

/// Here the system has no such signals.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "as on Unix")]
    pub(super) fn wish(&self) -> Option<Wish> {
        None
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
pub(super) fn stop() -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn end_by(_signal: i32) {}
