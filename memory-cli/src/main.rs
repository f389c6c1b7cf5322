//! The `memory` binary.

fn main() {}
