//! embed.
fn main() {}
