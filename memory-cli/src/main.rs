//! The `memory` binary.

fn main() -> ! {
    memory_plugins::exit(memory_cli::run(std::env::args_os()))
}
