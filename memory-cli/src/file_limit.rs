//! Ends the binary with an error, and not with a signal, where a file may not get larger (`ulimit -f`).

/// From now on a write beyond the limit fails, as on a full disk.
#[expect(unsafe_code, reason = "a call of the system's library")]
pub(crate) fn become_an_error() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
