//! Views of memory files and directories.

use std::{collections::BTreeMap, fmt::Write as _};

use memory::DocumentsNow;

use super::path::Path;
use crate::failure::Failure;

/// Most levels of a directory that are shown.
const LEVELS: usize = 2;
/// Most lines of a file that are shown, and the width of their numbers.
const MOST_LINES: usize = 999_999;
pub(super) const WIDTH: usize = 6;

/// A directory, or the lines of a file.
pub(super) fn view(now: DocumentsNow<'_>, path: &Path, range: Option<&[i64]>) -> Result<String, Failure> {
    match now.get(path.name()) {
        Some(document) => file(path, &document.text, range),
        None if path.is_root() || now.is_directory(path.name()) => Ok(directory(now, path)),
        None => Err(missing(path)),
    }
}

pub(super) fn missing(path: &Path) -> Failure {
    Failure(format!("The path {path} does not exist. Please provide a valid path."))
}

fn directory(now: DocumentsNow<'_>, path: &Path) -> String {
    // Sizes by path; directories end with a slash.
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    let mut total = 0;
    for (name, document) in now.below(path.name()) {
        let bytes = document.text.len();
        total += bytes;
        let rest = name.get(path.name().len() + 1..).unwrap_or_default();
        let parts: Vec<_> = rest.split('/').collect();
        if parts.iter().any(|part| part.starts_with('.') || *part == "node_modules") {
            continue;
        }
        for depth in 1..=parts.len().min(LEVELS) {
            let slash = if depth < parts.len() { "/" } else { "" };
            let shown = parts.get(..depth).unwrap_or_default().join("/") + slash;
            *sizes.entry(shown).or_default() += bytes;
        }
    }
    let mut out = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:\n{}\t{path}",
        size(total)
    );
    for (name, bytes) in sizes {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{}\t{path}/{name}", size(bytes));
    }
    out
}

fn file(path: &Path, text: &str, range: Option<&[i64]>) -> Result<String, Failure> {
    let lines: Vec<_> = text.split('\n').collect();
    if lines.len() > MOST_LINES {
        return Err(Failure(format!("File {path} exceeds maximum line limit of 999,999 lines.")));
    }
    let (first, last) = match range {
        None => (1, lines.len()),
        Some(&[first, last]) => {
            let line = |number: i64| usize::try_from(number).unwrap_or_default();
            (line(first).max(1), if last == -1 { lines.len() } else { line(last).min(lines.len()) })
        }
        Some(_) => return Err(Failure("view_range has two numbers: the first and the last line".to_owned())),
    };
    let shown = lines.get(first - 1..last).unwrap_or_default();
    Ok(format!("Here's the content of {path} with line numbers:\n{}", numbered(shown, first)))
}

/// Lines with their numbers, from `first` on.
pub(super) fn numbered(lines: &[&str], first: usize) -> String {
    let line = |(place, line): (usize, &&str)| format!("{:>WIDTH$}\t{line}", first + place);
    lines.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// `0B`, `512B`, `1.5K`.
fn size(bytes: usize) -> String {
    let (mut unit, mut whole) = (0, bytes);
    while whole >= 1024 && unit < 3 {
        whole /= 1024;
        unit += 1;
    }
    let name = ["B", "K", "M", "G"].get(unit).copied().unwrap_or_default();
    let of = 1_usize << (10 * unit);
    if bytes.is_multiple_of(of) {
        return format!("{}{name}", bytes / of);
    }
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let shown = bytes as f64 / of as f64;
    format!("{shown:.1}{name}")
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_shown_as_they_are_elsewhere() {
        let shown = [0, 1, 1023, 1024, 1536, 2048, 1 << 20, 5 << 19].map(size);
        assert_eq!(shown, ["0B", "1B", "1023B", "1K", "1.5K", "2K", "1M", "2.5M"]);
    }
}
