//! Every format, from files in the shapes that its program writes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

mod agents;
mod chat_exports;
mod claude_code;
mod codex;
#[cfg(feature = "sqlite")]
mod databases;
mod datasets;
mod digits;
mod folders;
mod hostile;
mod lists;
mod nothing_lost;
mod support;
mod texts;
