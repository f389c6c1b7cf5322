//! Writing: the pending records, the write lock, and the writer thread.

pub(super) mod batch;
pub(super) mod checkpointer;
pub(super) mod lock;
pub(super) mod owned;
pub(super) mod prepared;
pub(super) mod queue;
pub(super) mod request;
pub(super) mod shared;
pub(super) mod tail;
pub(super) mod writer;
