//! log.
fn main() {}
