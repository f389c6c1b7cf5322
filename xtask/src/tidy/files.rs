//! Checks each file: its first line, its name, its length, the files that a library needs, and the copy of the bars.

use std::fs;

use crate::workspace::Workspace;

use super::{Fault, TreeFile};

/// Lines of the longest file that is read in one go; tests may be longer.
const MOST_LINES: usize = 600;
const BARS: &str = "benches/figures.toml";

pub(super) fn check(files: &[TreeFile], workspace: &Workspace) -> Vec<Fault> {
    let mut faults: Vec<_> = files.iter().filter(|file| file.path.ends_with(".rs")).flat_map(source).collect();
    for library in workspace.libraries() {
        let place = library.manifest_path.strip_prefix(workspace.root()).unwrap_or(&library.manifest_path);
        let stated = [
            ("description", library.description.is_some()),
            ("license", library.license.is_some()),
            ("readme", library.readme.is_some()),
            ("keywords", !library.keywords.is_empty()),
            ("categories", !library.categories.is_empty()),
            ("rust-version", library.rust_version.is_some()),
        ];
        let missing = stated.iter().filter(|(_, is_stated)| !is_stated);
        faults.extend(missing.map(|(field, _)| Fault::new(place.as_str(), format!("a library states `{field}`"))));
        let beside = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];
        let missing = beside.iter().filter(|name| !library.manifest_path.with_file_name(name).is_file());
        faults.extend(missing.map(|name| Fault::new(place.as_str(), format!("a library has its {name}"))));
    }
    let copy = files.iter().find(|file| file.path == BARS).map(|file| file.text.as_bytes());
    faults.extend(bars(fs::read(workspace.shared("figures.toml")).ok().as_deref(), copy));
    faults
}

/// The faults of a Rust file.
fn source(file: &TreeFile) -> Vec<Fault> {
    let mut lines = file.text.lines();
    let mut first = lines.next().unwrap_or_default();
    if first.starts_with("#!") && !first.starts_with("#![") {
        first = lines.next().unwrap_or_default();
    }
    let sentence = first.strip_prefix("//!").unwrap_or_default();
    let is_test = file.path.split('/').any(|part| part == "tests" || part == "tests.rs");
    let rules = [
        (sentence.trim().is_empty(), "does not open with a `//!` sentence"),
        (file.path.rsplit('/').next() == Some("mod.rs"), "name the file for its module, foo.rs beside foo/"),
        (!is_test && file.text.lines().count() > MOST_LINES, "is longer than 600 lines: move a part of it"),
    ];
    rules.iter().filter(|(is_broken, _)| *is_broken).map(|(_, what)| Fault::new(&file.path, *what)).collect()
}

/// The fault of the tree's copy of the bars, which must exist and equal the shared one byte for byte if that is
/// available.
fn bars(shared: Option<&[u8]>, copy: Option<&[u8]>) -> Option<Fault> {
    match (shared, copy) {
        (_, None) => Some(Fault::new(BARS, "is missing")),
        (Some(shared), Some(copy)) if shared != copy => {
            Some(Fault::new(BARS, "differs from ../shared/figures.toml; copy that file over it"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> usize {
        source(&TreeFile { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn a_rust_file_must_open_with_a_sentence() {
        for text in ["use std::fs;\n//! Late.", "", "//!\n//! Late.", "/// Not an inner one.", "#![no_std]\n//! Late."]
        {
            assert_eq!(faults("a/src/b.rs", text), 1, "{text}");
        }
        assert_eq!(faults("a/src/b.rs", "//! What it is.\n"), 0);
        assert_eq!(faults("a/src/b.rs", "#!/usr/bin/env -S cargo -Zscript\n//! What it is.\n"), 0);
    }

    #[test]
    fn a_mod_file_is_found_in_any_directory() {
        assert_eq!(faults("a/src/b/mod.rs", "//! What it is."), 1);
        assert_eq!(faults("mod.rs", "//! What it is."), 1);
        assert_eq!(faults("a/src/b/remod.rs", "//! What it is."), 0);
    }

    #[test]
    fn a_long_file_is_found_unless_it_is_of_tests() {
        let text = format!("//! What it is.{}", "\n".repeat(700));
        assert_eq!(faults("a/src/b.rs", &text), 1);
        assert_eq!(faults("a/tests/b.rs", &text) + faults("a/src/b/tests.rs", &text), 0);
    }

    #[test]
    fn a_copy_of_the_bars_must_be_there_and_be_the_same() {
        assert!(bars(Some(b"a"), None).is_some() && bars(None, None).is_some());
        assert!(bars(Some(b"a"), Some(b"b")).is_some() && bars(Some(b"a"), Some(b"a ")).is_some());
        assert!(bars(Some(b"a"), Some(b"a")).is_none() && bars(None, Some(b"a")).is_none());
    }
}
