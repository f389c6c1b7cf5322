//! Maps errors of SQLite to [`TranscriptError`].

use std::path::Path;

use memory_core::text::one_line;
use rusqlite::{Error, ErrorCode};

use crate::{Limits, TranscriptError};

/// The error for a row that is larger than the limit.
pub(super) fn too_large(path: &Path, limits: Limits) -> TranscriptError {
    TranscriptError::TooLarge {
        place: path.display().to_string(),
        what: "a row",
        most: limits.record,
        unit: "bytes",
        hint: "--max-line raises the limit",
    }
}

/// The error for one of SQLite.
pub(super) fn failed(path: &Path, limits: Limits, error: &Error) -> TranscriptError {
    let place = path.display().to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => TranscriptError::Locked { place },
        Some(ErrorCode::TooBig) => too_large(path, limits),
        Some(ErrorCode::ReadOnly) => TranscriptError::Unfit {
            place,
            why: "its program was stopped within a write: start that once, so that it mends the database",
        },
        _ => TranscriptError::Damaged { place, why: one_line(&format!("SQLite cannot read it: {error}")).into_owned() },
    }
}
