//! The `memory` binary.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(unix)]
mod file_limit;

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    #[cfg(unix)]
    file_limit::become_an_error();
    memory_cli::run(args).into()
}
