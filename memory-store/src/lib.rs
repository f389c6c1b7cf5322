//! The append-only log and the vector indexes beside it.

mod log;
mod vector;

pub use log::{Damage, LogOptions, LogStore, OpenReport, TornTail};
pub use vector::ExactIndex;
