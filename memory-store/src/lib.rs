//! The append-only log and the vector indexes beside it.
