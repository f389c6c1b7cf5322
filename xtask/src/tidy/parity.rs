//! Checks that whatever docs/parity.md names is there: a row is done only with a test that shows it, or a figure with a bar.

use std::collections::BTreeSet;

use anyhow::Result;
use regex::Regex;

use super::fault::Fault;
use super::tree::TreeFile;

const PARITY: &str = "docs/parity.md";
const BARS: [&str; 2] = ["benches/figures.toml", "benches/more-figures.toml"];
/// Where the conformance suites are: functions that tests call.
const SUITES: &str = "memory-core/src/testing/";

pub(super) fn check(files: &[TreeFile]) -> Result<Vec<Fault>> {
    let Some(parity) = files.iter().find(|file| file.path == PARITY) else { return Ok(Vec::new()) };
    let shown = Shown::of(files)?;
    let name = Regex::new(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")?;
    let mut faults = BTreeSet::new();
    for [feature, status, shown_by] in parity.text.lines().filter_map(row) {
        let names: BTreeSet<&str> = name.find_iter(&shown_by).map(|found| found.as_str()).collect();
        if status == "done" && names.is_empty() {
            faults.insert(format!("a row is done and names no test: {feature}"));
        }
        let missing = names.into_iter().filter(|name| !shown.has(name));
        faults.extend(missing.map(|name| format!("names `{name}`, which is no test and no figure with a bar")));
    }
    Ok(faults.into_iter().map(|fault| Fault::new(PARITY, fault)).collect())
}

/// The cells of a row of three. A bar in a cell is escaped, and left out here.
fn row(line: &str) -> Option<[String; 3]> {
    let line = line.replace(r"\|", "");
    let cells = line.strip_prefix('|')?.trim_end().strip_suffix('|')?.split('|');
    cells.map(|cell| cell.trim().to_owned()).collect::<Vec<_>>().try_into().ok()
}

/// What a row may name.
struct Shown<'a> {
    tests: BTreeSet<&'a str>,
    figures: BTreeSet<&'a str>,
    /// Functions of the conformance suites that something calls.
    suites: BTreeSet<&'a str>,
    /// Examples, which `cargo test` builds.
    examples: BTreeSet<&'a str>,
}

impl<'a> Shown<'a> {
    fn of(files: &'a [TreeFile]) -> Result<Self> {
        // Attributes and comments may stand between.
        let test =
            Regex::new(r"#\[(?:tokio::)?test\b[^\n]*\]\s*(?:(?:#\[[^\n]*\]|//[^\n]*)\s*)*(?:async )?fn ([a-z0-9_]+)")?;
        let function = Regex::new(r"\bfn ([a-z0-9_]+)")?;
        let call = Regex::new(r"(fn )?\b([a-z0-9_]+)(?:::<[^>]*>)?\(")?;
        let bar = Regex::new(r"(?m)^([a-z0-9_]+)\s*=")?;
        let of = |is_meant: fn(&str) -> bool| files.iter().filter(move |file| is_meant(&file.path));
        let sources = || of(|path| path.ends_with(".rs"));
        let called: BTreeSet<&str> = sources()
            .flat_map(|file| call.captures_iter(&file.text))
            .filter(|found| found.get(1).is_none())
            .filter_map(|found| found.get(2))
            .map(|name| name.as_str())
            .collect();
        let suites = of(|path| path.starts_with(SUITES)).flat_map(|file| first_groups(&function, &file.text));
        Ok(Self {
            tests: sources().flat_map(|file| first_groups(&test, &file.text)).collect(),
            figures: of(|path| BARS.contains(&path)).flat_map(|file| first_groups(&bar, &file.text)).collect(),
            suites: suites.filter(|name| called.contains(name)).collect(),
            examples: sources().filter_map(|file| example(&file.path)).collect(),
        })
    }

    fn has(&self, name: &str) -> bool {
        [&self.tests, &self.figures, &self.suites, &self.examples].iter().any(|names| names.contains(name))
    }
}

fn example(path: &str) -> Option<&str> {
    path.split_once("/examples/")?.1.strip_suffix(".rs")
}

/// The first group of each match.
fn first_groups<'a>(pattern: &Regex, text: &'a str) -> impl Iterator<Item = &'a str> {
    pattern.captures_iter(text).filter_map(|found| found.get(1)).map(|group| group.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(row: &str) -> Vec<String> {
        let file = |path: &str, text: &str| TreeFile { path: path.to_owned(), text: text.to_owned() };
        let source = "#[test]\n#[ignore]\nfn what_is_said_is_kept() {}\n\n\
                      proptest! {\n    /// An invariant.\n    #[test]\n    // Slow.\n    fn whatever_is_said_is_kept(x in 0..9) {}\n}\n\n\
                      fn what_helps_the_tests_here() {}\n#[test]\nfn suites() { store_conformance(&store); }\n";
        let suite =
            "pub fn store_conformance() { keys_count_once(); }\nfn keys_count_once() {}\nfn nobody_calls_this() {}\n";
        let files = [
            file("memory-a/src/b.rs", source),
            file("memory-core/src/testing/conformance.rs", suite),
            file("memory-a/examples/search_only.rs", "fn main() {}"),
            file("benches/figures.toml", "[log]\nreopen_ms = { at_most = 5.0 }\n"),
            file(PARITY, row),
        ];
        check(&files).unwrap().iter().map(Fault::to_string).collect()
    }

    #[test]
    fn tests_properties_suites_figures_and_examples_are_there() {
        for name in [
            "what_is_said_is_kept",
            "whatever_is_said_is_kept",
            "store_conformance",
            "keys_count_once",
            "reopen_ms",
            "search_only",
        ] {
            assert_eq!(faults(&format!("| keeps `max_kept_messages` | done | `{name}` |")), [""; 0], "{name}");
        }
    }

    #[test]
    fn what_is_no_test_and_no_figure_is_found() {
        for name in ["what_is_said_is_found", "what_helps_the_tests_here", "nobody_calls_this", "no_figure"] {
            let expected = format!("docs/parity.md: names `{name}`, which is no test and no figure with a bar");
            assert_eq!(faults(&format!("| finds | part (2) | `{name}` |")), [expected]);
        }
    }

    #[test]
    fn a_row_is_done_only_with_a_test() {
        assert_eq!(faults("| finds | owed | issue 27 |"), [""; 0]);
        assert_eq!(faults("| finds | done | by looking |"), ["docs/parity.md: a row is done and names no test: finds"]);
    }
}
