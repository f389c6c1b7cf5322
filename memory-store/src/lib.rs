//! The append-only log and the vector indexes beside it.

mod log;

pub use log::{Damage, LogOptions, LogStore, OpenReport, TornTail};
