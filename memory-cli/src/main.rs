//! The `memory` binary.
#![deny(clippy::print_stdout, clippy::print_stderr)]

fn main() -> ! {
    memory_plugins::exit(memory_cli::run(std::env::args_os().collect()))
}
