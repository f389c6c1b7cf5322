//! The group `log`: the cost of appending and reading records, compared with other stores.

mod append;
mod appender;
mod bare;
mod compressed;
mod contender;
mod copied;
mod disk;
mod filled;
mod group_commit;
mod growth;
mod ours;
mod peers;
mod reads;
mod reopen;
mod sizes;
mod sqlite;

use std::path::Path;

use anyhow::Result;

pub use appender::{Appender, serve_appends};
pub(crate) use disk::record_bytes;

use crate::figure::Figure;

/// Measures the group, with its files under `directory`.
///
/// # Errors
/// When a store fails.
pub(crate) fn measure(directory: &Path) -> Result<Vec<Figure>> {
    let mut figures = append::measure(directory)?;
    figures.push(group_commit::measure(directory)?);
    figures.extend(reads::measure(directory)?);
    figures.push(reopen::measure(directory)?);
    figures.extend(disk::measure(directory)?);
    figures.extend(compressed::measure(directory)?);
    figures.extend(growth::measure(directory)?);
    Ok(figures)
}
