//! Makes the binary end with an error, not by a signal, when a file may not grow (`ulimit -f`).

/// Makes further writes beyond the limit fail, as on a full disk.
#[expect(unsafe_code, reason = "a call of the system's library")]
pub(crate) fn become_an_error() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
