//! The tables of the last run in `docs/benchmarks.md`.

use std::fs;

use anyhow::{Context, Result};

use super::group::Group;
use super::{JudgedGroup, table};
use crate::workspace::Workspace;

/// Replaces the table of each group between its marks; everything else in the document stays.
pub(super) fn write(workspace: &Workspace, groups: &[JudgedGroup]) -> Result<()> {
    let path = workspace.root().join("docs/benchmarks.md");
    let failed = || format!("putting tables into {}", path.display());
    let mut text = fs::read_to_string(&path).with_context(failed)?;
    for group in groups {
        text = replace(&text, group.group, &section(group)).with_context(failed)?;
    }
    fs::write(&path, text).with_context(failed)
}

fn section(group: &JudgedGroup) -> String {
    format!("Measured on {}.\n\n{}", group.machine, table::markdown(group))
}

fn replace(text: &str, group: Group, section: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- bench {group} -->\n"), format!("<!-- end of bench {group} -->"));
    let (before, rest) = text.split_once(&begin).with_context(|| format!("no line `{}`", begin.trim_end()))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("no line `{end}`"))?;
    Ok(format!("{before}{begin}{section}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_the_one_before_and_nothing_else() {
        let text = "a\n<!-- bench log -->\nold\n<!-- end of bench log -->\nb\n";
        let new = replace(text, Group::Log, "new\n").unwrap();
        assert_eq!(new, "a\n<!-- bench log -->\nnew\n<!-- end of bench log -->\nb\n");
        assert!(replace(text, Group::Views, "new\n").is_err());
        assert!(replace("a\n<!-- bench log -->\nold\n", Group::Log, "new\n").is_err());
    }
}
