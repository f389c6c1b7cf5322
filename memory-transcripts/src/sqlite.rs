//! Conversations in the SQLite databases of other programs.

mod cells;
mod database;
mod lossless;
mod open;
mod openclaw;
mod opencode;

use std::path::Path;

use crate::{Format, Limits, Reader, TranscriptError, out::ItemQueue, reader::FormatReader, records::Records};
use database::Database;
use lossless::Lossless;
use openclaw::OpenClaw;
use opencode::OpenCode;

/// Recognizes the format of a database by its tables.
pub(crate) fn recognize(path: &Path, limits: Limits) -> Result<Format, TranscriptError> {
    let mut database = Database::open(path, limits)?;
    let tables = database.tables()?;
    if openclaw::is_one(&tables) {
        Ok(Format::OpenClaw)
    } else if lossless::is_one(&tables) {
        Ok(Format::LosslessClaw)
    } else if opencode::is_one(&tables) {
        Ok(Format::OpenCode)
    } else {
        Err(database.unknown(&tables))
    }
}

/// A reader of the conversations of a database.
pub(crate) fn reader(path: &Path, format: Format, limits: Limits, out: ItemQueue) -> Result<Reader, TranscriptError> {
    let database = Database::open(path, limits)?;
    let rows: Box<dyn FormatReader> = match format {
        Format::LosslessClaw => Box::new(Lossless::new(database)?),
        Format::OpenCode => Box::new(OpenCode::new(database)?),
        _ => Box::new(OpenClaw::new(database)?),
    };
    Ok(Reader::new(format, Records::Rows, rows, out))
}
