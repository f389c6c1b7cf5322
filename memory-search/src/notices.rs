//! Notices to callers.

use std::error::Error;

use memory_core::port::Notice;

/// Adds a notice if it is new.
pub(crate) fn push_new(notices: &mut Vec<Notice>, notice: Notice) {
    if !notices.contains(&notice) {
        notices.push(notice);
    }
}

/// An error and its causes, on one line.
pub(crate) fn in_full(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line = format!("{line}: {cause}");
        source = cause.source();
    }
    line
}
