//! The end of the process: a host's own, also where a library has exit handlers that never return, and a plugin's, which
//! is a failure.

use std::{
    cell::Cell,
    io::{self, Write},
    process,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// Whether any library was opened, also one that turned out not to be a plugin.
static OPENED: AtomicBool = AtomicBool::new(false);
/// What a host does when somebody else ends its process.
static ON_EXIT: OnceLock<fn() -> u8> = OnceLock::new();

thread_local! {
    /// Whether this thread runs a plugin's code.
    static IN_PLUGIN: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn opened() {
    if OPENED.swap(true, Ordering::Relaxed) {
        return;
    }
    #[cfg(unix)]
    #[expect(unsafe_code, reason = "a call of the system's library")]
    // SAFETY: the function is one, takes nothing, and stays.
    unsafe {
        libc::atexit(at_exit);
    }
}

/// Runs code of a plugin. If it ends the process, the process fails.
pub(crate) fn in_plugin<T>(work: impl FnOnce() -> T) -> T {
    /// Restores the mark, after a panic too.
    struct Mark(bool);

    impl Drop for Mark {
        fn drop(&mut self) {
            IN_PLUGIN.set(self.0);
        }
    }

    let _mark = Mark(IN_PLUGIN.replace(true));
    work()
}

/// States that this host ends its process by [`exit`] alone. If a plugin ends it (by `exit`, in any thread), `report` is
/// called and gives the code with which the process ends.
///
/// Without it, only a plugin that does so within a call is found; the process then ends with code 1. A plugin that asks
/// the system directly (`_exit`) is not found: code in the process is trusted.
pub fn end_by_exit_alone(report: fn() -> u8) {
    let _already = ON_EXIT.set(report);
}

/// Runs when the process ends by anything but [`exit`].
#[cfg(unix)]
extern "C" fn at_exit() {
    let code = match ON_EXIT.get() {
        Some(report) => report(),
        None if IN_PLUGIN.try_with(Cell::get).unwrap_or(false) => {
            tracing::error!("a plugin ended the process in the middle of a call");
            1
        }
        None => return,
    };
    #[expect(unsafe_code, reason = "a call of the system's library")]
    // SAFETY: the function takes a number and never returns.
    unsafe {
        libc::_exit(code.into())
    }
}

/// Ends the process with `code`, as [`std::process::exit`] does.
///
/// If a library was opened, on Unix, the process ends at once: destructors of static values and other exit handlers of
/// libraries are not run, because one that never returns would keep the process alive. A host that loads plugins calls
/// this function instead of returning from `main`, after it has dropped what it has open.
pub fn exit(code: u8) -> ! {
    // The standard library writes buffered output at exit, and `_exit` does not. A closed pipe is not a failure.
    drop(io::stdout().flush());
    #[cfg(unix)]
    if OPENED.load(Ordering::Relaxed) {
        #[expect(unsafe_code, reason = "a call of the system's library")]
        // SAFETY: the function takes a number and never returns.
        unsafe {
            libc::_exit(code.into())
        }
    }
    process::exit(code.into())
}
