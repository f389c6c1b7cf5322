//! Directories of plugins: order, errors, names, and which files may be opened.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{
    env::consts::DLL_EXTENSION,
    fs,
    path::{Path, PathBuf},
};

use memory_plugins::{LoadError, PluginOptions, Registry, Sha256};

use crate::support::library;

fn place(directory: &Path, from: &str, to: &str) -> PathBuf {
    let to = directory.join(format!("{to}.{DLL_EXTENSION}"));
    fs::copy(library(from), &to).unwrap();
    to
}

fn sha256(path: &Path) -> Sha256 {
    Sha256::of(&fs::read(path).unwrap())
}

#[test]
fn a_directory_gives_its_plugins_and_its_errors_in_order() {
    let directory = tempfile::tempdir().unwrap();
    place(directory.path(), "memory_plugin_first_words", "a");
    fs::write(directory.path().join(format!("b.{DLL_EXTENSION}")), "rubbish").unwrap();
    place(directory.path(), "memory_plugin_rules", "c");
    fs::write(directory.path().join("README.txt"), "ignored").unwrap();
    let mut registry = Registry::with_builtins();
    let builtins = registry.list().count();
    let results = registry.load_dir(directory.path());
    let names: Vec<_> = results.iter().map(|result| result.as_ref().ok().map(|info| info.name.as_str())).collect();
    assert_eq!(names, [Some("official-first-words"), None, Some("official-rules")]);
    assert_eq!(registry.list().count(), builtins + 2);
    let missing = registry.load_dir(&directory.path().join("missing"));
    assert!(matches!(missing.as_slice(), [Err(LoadError::Unreadable { .. })]));
}

#[test]
fn of_two_plugins_of_one_name_the_first_stays() {
    let directory = tempfile::tempdir().unwrap();
    let first = place(directory.path(), "memory_plugin_first_words", "a");
    place(directory.path(), "memory_plugin_first_words", "b");
    let mut registry = Registry::with_builtins();
    let results = registry.load_dir(directory.path());
    let [Ok(loaded), Err(error)] = results.as_slice() else { panic!("{results:?}") };
    assert_eq!(loaded.origin.to_string(), fs::canonicalize(first).unwrap().display().to_string());
    assert!(
        matches!(error, LoadError::NameTaken { name, by, .. } if name == "official-first-words" && by.contains("/a."))
    );
    assert!(registry.summarizer("official-first-words").is_ok());
}

#[test]
fn where_a_manifest_lists_files_no_other_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let listed = place(directory.path(), "memory_plugin_first_words", "a");
    place(directory.path(), "memory_plugin_rules", "b");
    let changed = place(directory.path(), "memory_plugin_fixture_misjudges", "c");
    let lines = format!("{}  a.{DLL_EXTENSION}\n{} *c.{DLL_EXTENSION}\n", sha256(&listed), sha256(&changed));
    fs::write(directory.path().join("SHA256SUMS"), lines).unwrap();
    // One bit in the last byte, which no loader looks at.
    let mut image = fs::read(&changed).unwrap();
    *image.last_mut().unwrap() ^= 1;
    fs::write(&changed, image).unwrap();
    let results = Registry::with_builtins().load_dir(directory.path());
    assert!(
        matches!(results.as_slice(), [Ok(_), Err(LoadError::Unlisted { .. }), Err(LoadError::Changed { .. })]),
        "{results:?}"
    );
}

#[test]
fn only_what_is_allowed_is_opened() {
    let (good, other) = (library("memory_plugin_first_words"), library("memory_plugin_rules"));
    let mut options = PluginOptions::default();
    options.allowed = Some([sha256(&good)].into());
    let mut registry = Registry::with_options(options);
    registry.load(&good).unwrap();
    let error = registry.load(&other).unwrap_err();
    assert!(matches!(&error, LoadError::NotAllowed { sha256: found, .. } if *found == sha256(&other)), "{error}");
}
