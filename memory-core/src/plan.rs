//! Pure decisions over the summary tree: what to compact, and what a view shows.

mod check;

pub use check::check_summary;
