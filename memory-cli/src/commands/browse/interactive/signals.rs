//! Signals of the system for the program while it has the terminal.

#[cfg(not(unix))]
use std::{io, time::Duration};

/// Request of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalRequest {
    /// End by this signal.
    End(i32),
    /// Stop until continued.
    Stop,
}

/// Result of a wait for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitEnd {
    /// A key or a signal came, or the time is over.
    MaybeInput,
    /// The terminal is gone: no more input comes from it.
    TerminalGone,
}

#[cfg(unix)]
pub(super) use self::unix::{Signals, end_by, stop};

#[cfg(unix)]
mod unix {
    use std::{
        fs::File,
        io::{self, IsTerminal as _},
        os::fd::AsFd as _,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::Errno,
    };
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP},
        flag,
        low_level::emulate_default_handler,
    };

    use super::{SignalRequest, WaitEnd};

    const HEARD: [i32; 4] = [SIGHUP, SIGINT, SIGTERM, SIGTSTP];

    /// The signals that came since it was made.
    pub(in super::super) struct Signals {
        heard: Vec<(i32, Arc<AtomicBool>)>,
        /// Terminal, if it is not standard input.
        other: Option<File>,
    }

    impl Signals {
        pub(in super::super) fn listen() -> io::Result<Self> {
            let mut heard = Vec::new();
            for signal in HEARD {
                let is_sent = Arc::new(AtomicBool::new(false));
                flag::register(signal, Arc::clone(&is_sent))?;
                heard.push((signal, is_sent));
            }
            let other = if io::stdin().is_terminal() { None } else { Some(File::open("/dev/tty")?) };
            Ok(Self { heard, other })
        }

        /// Waits at most `patience` for a key or a signal. crossterm reads a terminal that is gone again and again
        /// without end, so it is called only if there is input.
        pub(in super::super) fn wait(&self, patience: Duration) -> io::Result<WaitEnd> {
            let stdin = io::stdin();
            let terminal = self.other.as_ref().map_or_else(|| stdin.as_fd(), |other| other.as_fd());
            let mut asked = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
            let most = Timespec::try_from(patience).map_err(io::Error::other)?;
            match poll(&mut asked, Some(&most)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
            let is_gone = asked.iter().any(|of| of.revents().intersects(gone));
            Ok(if is_gone { WaitEnd::TerminalGone } else { WaitEnd::MaybeInput })
        }

        /// A request that was not returned before.
        pub(in super::super) fn request(&self) -> Option<SignalRequest> {
            let (signal, _) = self.heard.iter().find(|(_, is_sent)| is_sent.swap(false, Ordering::SeqCst))?;
            Some(if *signal == SIGTSTP { SignalRequest::Stop } else { SignalRequest::End(*signal) })
        }
    }

    /// Stops until the program is continued.
    pub(in super::super) fn stop() -> io::Result<()> {
        emulate_default_handler(SIGTSTP)
    }

    /// Ends as the signal ends a program without a handler, so that the shell sees the signal.
    pub(in super::super) fn end_by(signal: i32) {
        // The default handler ends the program and does not return.
        drop(emulate_default_handler(signal));
    }
}

/// The signals of a system that has none of these.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "as on Unix")]
    pub(super) fn wait(&self, patience: Duration) -> io::Result<WaitEnd> {
        ratatui::crossterm::event::poll(patience).map(|_| WaitEnd::MaybeInput)
    }

    #[expect(clippy::unused_self, reason = "as on Unix")]
    pub(super) fn request(&self) -> Option<SignalRequest> {
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
