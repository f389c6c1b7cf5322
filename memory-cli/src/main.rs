//! The `memory` binary.
#![deny(clippy::print_stdout, clippy::print_stderr)]

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    #[cfg(unix)]
    fail_beyond_file_limit();
    memory_cli::run(args).into()
}

/// Makes writes beyond the limit of a file (`ulimit -f`) fail, as on a full disk; otherwise a signal ends the program.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a call of the system's library")]
fn fail_beyond_file_limit() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
