//! A damaged place of the log.

use std::path::PathBuf;

use memory_core::NodeId;

/// A damaged place of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawFinding {
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
    /// 0 when it is not known.
    pub(crate) bytes: u64,
    pub(crate) why: String,
    /// The number of the conversation, where that is known.
    pub(crate) conversation: Option<u64>,
    /// The node that is lost with it, if it is exactly one.
    pub(crate) node: Option<NodeId>,
    /// True if frames or records that nothing else records may have stood here.
    pub(crate) hides: bool,
}
