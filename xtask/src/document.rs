//! Tables in documents that a command writes, each between two marks.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The results of all groups and of a running agent.
pub(crate) const RESULTS: &str = "benches/RESULTS.md";

/// Replaces the table of each mark in the document at `path`; everything else stays.
pub(crate) fn write(path: &Path, tables: &[(String, String)]) -> Result<()> {
    let failed = || format!("putting tables into {}", path.display());
    let mut text = fs::read_to_string(path).with_context(failed)?;
    for (mark, table) in tables {
        text = replace(&text, mark, table).with_context(failed)?;
    }
    fs::write(path, text).with_context(failed)
}

/// Replaces the lines between `<!-- mark -->` and `<!-- end of mark -->`, both of which must be there.
fn replace(text: &str, mark: &str, table: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (before, rest) = text.split_once(&begin).with_context(|| format!("no line `{}`", begin.trim_end()))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("no line `{end}`"))?;
    Ok(format!("{before}{begin}{table}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_the_one_before_and_nothing_else() {
        let text = "a\n<!-- bench log -->\nold\n<!-- end of bench log -->\nb\n";
        let new = replace(text, "bench log", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- bench log -->\nnew\n<!-- end of bench log -->\nb\n");
        assert!(replace(text, "bench views", "new\n").is_err());
        assert!(replace("a\n<!-- bench log -->\nold\n", "bench log", "new\n").is_err());
    }
}
