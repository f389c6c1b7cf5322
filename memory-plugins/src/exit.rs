//! Ends the process even if a library has exit handlers that never return.

use std::{
    io::{self, Write},
    process,
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether any library was opened, also one that turned out not to be a plugin.
static OPENED: AtomicBool = AtomicBool::new(false);

pub(crate) fn opened() {
    OPENED.store(true, Ordering::Relaxed);
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
