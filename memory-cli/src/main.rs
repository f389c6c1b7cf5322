//! The `memory` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    memory_cli::run(std::env::args_os())
}
