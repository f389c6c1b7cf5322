//! views.
fn main() {}
