//! Reading: the files of a log into its state in memory, and records by their location.

pub(super) mod checkpoint;
pub(super) mod directory;
pub(super) mod reader;
pub(super) mod recovery;
pub(super) mod replay;
pub(super) mod summary_cache;
pub(super) mod survey;
pub(super) mod watermark;
