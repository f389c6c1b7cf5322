//! search.
fn main() {}
