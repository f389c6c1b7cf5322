//! Files that are no plugin of this interface: each is refused in one line, and the host lives.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::{
    env::{self, consts::DLL_EXTENSION},
    fs,
    path::Path,
    process::Command,
};

use memory_plugins::{LoadError, Registry};

use crate::support::{any_proc_macro, as_child, deps, in_child, library, rlibs};

fn refused(path: &Path) -> LoadError {
    let error = Registry::with_builtins().load(path).unwrap_err();
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 400, "{line}");
    assert!(line.contains(path.file_name().unwrap().to_str().unwrap()), "{line}");
    error
}

#[test]
fn what_is_no_library_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut other_machine = fs::read(library("memory_plugin_first_words")).unwrap();
    other_machine[18] ^= 0x55;
    assert!(matches!(refused(&directory.path().join("missing.so")), LoadError::Unreadable { .. }));
    assert!(matches!(refused(&write("empty.so", b"")), LoadError::NotALibrary { .. }));
    assert!(matches!(refused(&write("text.so", &b"not a library at all ".repeat(99))), LoadError::NotALibrary { .. }));
    assert!(matches!(refused(directory.path()), LoadError::NotALibrary { .. }));
    if cfg!(target_os = "linux") {
        assert!(matches!(refused(&write("machine.so", &other_machine)), LoadError::NotALibrary { .. }));
    }
}

#[test]
fn a_library_that_is_no_plugin_is_told_from_one() {
    // A procedural macro is a shared library that every build has.
    let Some(path) = any_proc_macro() else { panic!("no procedural macro beside the test binary") };
    let error = refused(&path);
    assert!(matches!(error, LoadError::NotAPlugin { .. } | LoadError::NotOpened { .. }), "{error}");
}

#[test]
fn other_interfaces_are_refused() {
    for name in ["memory_plugin_fixture_other_version", "memory_plugin_fixture_changed_layout"] {
        let error = refused(&library(name));
        assert!(matches!(error, LoadError::OtherInterface { .. }), "{name}: {error}");
    }
}

/// A panic in such a plugin cannot be caught, so it is refused before it is asked anything.
#[test]
fn a_plugin_that_aborts_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("aborts.rs");
    fs::write(&source, include_str!("aborts.rs")).unwrap();
    let library = directory.path().join(format!("aborts.{DLL_EXTENSION}"));
    let compile = |abi: &Path| {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "aborts", "-C", "panic=abort"]);
        command.env("CARGO_PKG_VERSION", "1.2.3").arg("-L").arg(format!("dependency={}", deps().display()));
        command
            .arg("--extern")
            .arg(format!("memory_plugin_abi={}", abi.display()))
            .arg("-o")
            .arg(&library)
            .arg(&source);
        command.output().unwrap()
    };
    // Libraries of other builds may lie next to the tests; their own dependencies are gone.
    let said: Vec<_> = rlibs("memory_plugin_abi")
        .iter()
        .map(|abi| compile(abi))
        .take_while(|output| !output.status.success())
        .collect();
    assert!(library.exists(), "no plugin came of it: {said:?}");
    assert!(matches!(refused(&library), LoadError::Aborts { .. }));
}

/// Opening a truncated library would end the process, so a child opens them.
#[test]
fn truncated_copies_are_refused_and_the_host_lives() {
    if let Some(directory) = as_child() {
        let results = Registry::with_builtins().load_dir(&directory);
        let good = results.iter().filter(|result| result.is_ok()).count();
        println!("{} refused, {good} loaded", results.len() - good);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let plugin = fs::read(library("memory_plugin_first_words")).unwrap();
    let parts = 64;
    for part in 0..=parts {
        let length = plugin.len() * part / parts - usize::from(part == parts);
        fs::write(directory.path().join(format!("{part}.{DLL_EXTENSION}")), &plugin[..length]).unwrap();
    }
    fs::copy(library("memory_plugin_first_words"), directory.path().join(format!("whole.{DLL_EXTENSION}"))).unwrap();
    let child = in_child("files::truncated_copies_are_refused_and_the_host_lives", directory.path());
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{}: {said}", child.status);
    assert!(said.contains("65 refused, 1 loaded"), "{said}");
}
