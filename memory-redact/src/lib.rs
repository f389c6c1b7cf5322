//! Finds keys, credentials and personal data in text, and masks them by stable placeholders.
//!
#![doc = include_str!("../README.md")]

mod check;
mod names;
mod rules;

pub use rules::Rules;
