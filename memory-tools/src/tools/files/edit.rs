//! Edits of memory files: the text after an edit, and the answer to it.

use super::{path::Path, view::numbered};
use crate::failure::Failure;

/// Lines shown before and after a change.
const AROUND: usize = 2;

/// Replaces the only occurrence of `old`.
pub(super) fn replace(path: &Path, text: &str, old: &str, new: &str) -> Result<(String, String), Failure> {
    if old.is_empty() {
        return Err(Failure("old_str is empty".to_owned()));
    }
    let line_of = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count();
    let found: Vec<_> = text.match_indices(old).map(|(at, _)| at).collect();
    let at = match found.as_slice() {
        [] => {
            return Err(Failure(format!(
                "No replacement was performed, old_str `{}` did not appear verbatim in {path}.",
                short(old)
            )));
        }
        [only] => *only,
        several => {
            let lines: Vec<_> = several.iter().take(20).map(|at| (line_of(*at) + 1).to_string()).collect();
            return Err(Failure(format!(
                "No replacement was performed. Multiple occurrences of old_str `{}` in lines: {}. Please ensure it is \
                 unique",
                short(old),
                lines.join(", ")
            )));
        }
    };
    let changed = text.replacen(old, new, 1);
    let lines: Vec<_> = changed.split('\n').collect();
    let first = line_of(at).saturating_sub(AROUND);
    let last = (line_of(at) + AROUND + 1).min(lines.len());
    let snippet = numbered(lines.get(first..last).unwrap_or_default(), first + 1);
    let said = format!(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
    );
    Ok((changed, said))
}

/// The beginning of a text, for an error.
fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(200).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Inserts lines after a line.
pub(super) fn insert(path: &Path, text: &str, line: i64, inserted: &str) -> Result<(String, String), Failure> {
    let mut lines: Vec<_> = text.split('\n').collect();
    // The text after the last line end is no line.
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let Some(at) = usize::try_from(line).ok().filter(|at| *at <= lines.len()) else {
        return Err(Failure(format!(
            "Invalid `insert_line` parameter: {line}. It should be within the range [0, {}].",
            lines.len()
        )));
    };
    lines.insert(at, inserted.trim_end_matches('\n'));
    let mut changed = lines.join("\n");
    if !changed.ends_with('\n') {
        changed.push('\n');
    }
    Ok((changed, format!("The file {path} has been edited.")))
}
