//! Ends the process although libraries left something to do at exit that may never end.

use std::{
    io::{self, Write},
    process,
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether a library was ever opened, as a plugin or to see that it is none.
static OPENED: AtomicBool = AtomicBool::new(false);

pub(crate) fn opened() {
    OPENED.store(true, Ordering::Relaxed);
}

/// Ends the process with `code`, as [`std::process::exit`] does.
///
/// Where a plugin was opened, on Unix, it ends at once: the destructors of static values and whatever else a library
/// wanted to be called for at exit are not run, for one that never returns would keep the process. A host that loads
/// plugins ends by this function instead of returning from `main`, after it has dropped what it has open.
pub fn exit(code: u8) -> ! {
    // What the standard library has not written yet it writes at exit. A closed pipe is no reason to fail.
    drop(io::stdout().flush());
    #[cfg(unix)]
    if OPENED.load(Ordering::Relaxed) {
        #[expect(unsafe_code, reason = "a call of the system's library")]
        // SAFETY: it takes a number and never returns.
        unsafe {
            libc::_exit(code.into())
        }
    }
    process::exit(code.into())
}
