//! The `memory` binary.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(unix)]
mod file_limit;
#[cfg(unix)]
mod out_of_memory;

fn main() -> std::process::ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    #[cfg(unix)]
    {
        out_of_memory::become_an_error(args.iter().any(|arg| arg == "--json"));
        file_limit::become_an_error();
    }
    memory_cli::run(args).into()
}
