//! Checks that each Rust file opens with one `//!` sentence, and that a module's file bears the module's name.

use super::fault::Fault;
use super::tree::TreeFile;

pub(super) fn check(files: &[TreeFile]) -> Vec<Fault> {
    files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .flat_map(|file| [unopened(file), unnamed(file)])
        .flatten()
        .collect()
}

fn unopened(file: &TreeFile) -> Option<Fault> {
    let mut lines = file.text.lines();
    let mut first = lines.next().unwrap_or_default();
    if first.starts_with("#!") && !first.starts_with("#![") {
        first = lines.next().unwrap_or_default();
    }
    let sentence = first.strip_prefix("//!").unwrap_or_default();
    sentence.trim().is_empty().then(|| Fault::new(&file.path, "does not open with a `//!` sentence"))
}

fn unnamed(file: &TreeFile) -> Option<Fault> {
    let name = file.path.rsplit('/').next();
    (name == Some("mod.rs")).then(|| Fault::new(&file.path, "name the file for its module, foo.rs beside foo/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(path: &str, text: &str) -> usize {
        let file = TreeFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).len()
    }

    #[test]
    fn a_rust_file_must_open_with_a_sentence() {
        assert_eq!(faults("a/src/b.rs", "use std::fs;\n//! Late."), 1);
        assert_eq!(faults("a/src/b.rs", ""), 1);
        assert_eq!(faults("a/src/b.rs", "//!\n//! Late."), 1);
        assert_eq!(faults("a/src/b.rs", "/// Not an inner one."), 1);
        assert_eq!(faults("a/src/b.rs", "#![no_std]\n//! Late."), 1);
    }

    #[test]
    fn an_opened_file_passes_with_or_without_a_shebang() {
        assert_eq!(faults("a/src/b.rs", "//! What it is.\n"), 0);
        let script = "#!/usr/bin/env -S cargo -Zscript\n//! What it is.\n";
        assert_eq!(faults("a/src/b.rs", script), 0);
        assert_eq!(faults("a/notes.md", "no sentence"), 0);
    }

    #[test]
    fn a_mod_file_is_found_in_any_directory() {
        assert_eq!(faults("a/src/b/mod.rs", "//! What it is."), 1);
        assert_eq!(faults("mod.rs", "//! What it is."), 1);
        assert_eq!(faults("a/src/b/remod.rs", "//! What it is."), 0);
    }
}
