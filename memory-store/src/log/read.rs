//! From the files of a log to its state in memory, and from a place in it to the record.

pub(super) mod checkpoint;
pub(super) mod directory;
pub(super) mod reader;
pub(super) mod recovery;
pub(super) mod replay;
pub(super) mod summary_cache;
pub(super) mod survey;
pub(super) mod watermark;
