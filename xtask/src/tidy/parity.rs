//! Checks that every test that docs/parity.md names exists: a row is done only with a test that shows it.

use std::collections::BTreeSet;

use anyhow::Result;
use regex::Regex;

use super::fault::Fault;
use super::tree::TreeFile;

const PARITY: &str = "docs/parity.md";

pub(super) fn check(files: &[TreeFile]) -> Result<Vec<Fault>> {
    let Some(parity) = files.iter().find(|file| file.path == PARITY) else { return Ok(Vec::new()) };
    let function = Regex::new(r"\bfn ([a-z0-9_]+)")?;
    // Names of five words and more: options and figures have fewer.
    let named = Regex::new(r"`([a-z0-9]+(?:_[a-z0-9]+){4,})`")?;
    let sources = files.iter().filter(|file| file.path.ends_with(".rs"));
    let functions: BTreeSet<&str> = sources.flat_map(|file| first_groups(&function, &file.text)).collect();
    let names: BTreeSet<&str> = first_groups(&named, &parity.text).collect();
    let missing = names.difference(&functions);
    Ok(missing.map(|name| Fault::new(PARITY, format!("names `{name}`, and there is no such test"))).collect())
}

/// The first group of each match.
fn first_groups<'a>(pattern: &Regex, text: &'a str) -> impl Iterator<Item = &'a str> {
    pattern.captures_iter(text).filter_map(|found| found.get(1)).map(|group| group.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        let file = |path: &str, text: &str| TreeFile { path: path.to_owned(), text: text.to_owned() };
        let faults = |row: &str| -> Vec<String> {
            let source = file("memory-a/src/b.rs", "#[test]\nfn what_is_said_is_kept() {}\n");
            check(&[source, file(PARITY, row)]).unwrap().iter().map(Fault::to_string).collect()
        };
        assert_eq!(faults("| keeps | done | `what_is_said_is_kept`, `max_kept_messages` |"), [""; 0]);
        assert_eq!(
            faults("| finds | done | `what_is_said_is_found` |"),
            ["docs/parity.md: names `what_is_said_is_found`, and there is no such test"]
        );
    }
}
