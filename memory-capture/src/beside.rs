//! Transcripts next to the one of a session, which may end with messages of a killed session.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
};

use memory_transcripts::Format;

use crate::is_named_as_transcript;

/// Most transcripts that are looked at, the latest ones.
const MOST: usize = 1000;
/// Most days of Codex's sessions that are looked through.
const DAYS: usize = 31;

/// Transcripts next to one, the last written first.
pub(crate) fn beside(path: &Path, format: Format) -> Vec<PathBuf> {
    let Some(parent) = path.parent() else { return Vec::new() };
    let days = if format == Format::Codex { days(parent) } else { None };
    let directories = days.unwrap_or_else(|| vec![parent.to_owned()]);
    let mut found = Vec::new();
    for entry in directories.into_iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten() {
        let other = entry.path();
        if other == path || !is_named_as_transcript(&other) {
            continue;
        }
        // The metadata are those of a link itself, which is no file.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            found.push((Reverse(metadata.modified().ok()), other));
        }
    }
    found.sort_unstable();
    found.truncate(MOST);
    found.into_iter().map(|(_, path)| path).collect()
}

/// The last days of `sessions/2026/03/02`, the latest first; `None` if a directory is no day of Codex.
fn days(day: &Path) -> Option<Vec<PathBuf>> {
    let is_number = |path: &Path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (month, year) = (day.parent()?, day.parent()?.parent()?);
    if ![day, month, year].into_iter().all(is_number) {
        return None;
    }
    let within = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut numbered: Vec<_> = entries.filter(|path| is_number(path) && path.is_dir()).collect();
        numbered.sort_unstable_by(|a, b| b.cmp(a));
        numbered
    };
    let all = within(year.parent()?).into_iter().flat_map(|year| within(&year)).flat_map(|month| within(&month));
    Some(all.take(DAYS).collect())
}
