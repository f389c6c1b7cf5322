//! Several processes and one store: killed or stopped in the middle of writing, and writing at once.

mod appender;
mod appending;
mod child;
mod forker;
mod forking;
mod soak;
mod soak_worker;
