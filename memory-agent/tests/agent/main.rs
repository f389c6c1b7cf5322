//! The loop over a real log: tools, interruption, overflow, crashes at any place.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

mod crash;
mod examples;
mod support;
mod turns;
