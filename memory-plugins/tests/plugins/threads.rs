//! Many callers and many plugins at once.

use std::{env::consts::DLL_EXTENSION, fs, thread};

use memory_plugins::Registry;

use crate::support::{MISBEHAVES, ask, library};

#[test]
fn thirty_two_threads_share_a_plugin() {
    let mut registry = Registry::with_builtins();
    registry.load(&library("memory_plugin_first_words")).unwrap();
    let summarizer = registry.summarizer("official-first-words").unwrap();
    thread::scope(|scope| {
        for n in 0..32 {
            let summarizer = &summarizer;
            scope.spawn(move || {
                let text = format!("We decided on port {n}000.");
                for _ in 0..20 {
                    assert_eq!(ask(&**summarizer, &text).unwrap(), text);
                }
            });
        }
    });
    assert_eq!(registry.status("official-first-words").unwrap().calls, 640);
}

/// Fifty libraries that differ in their names alone are fifty plugins: none is taken for another.
#[test]
fn fifty_plugins_at_once_each_keep_their_own_state() {
    let directory = tempfile::tempdir().unwrap();
    let image = fs::read(library("memory_plugin_fixture_misbehaves")).unwrap();
    for number in 0..50 {
        let mut copy = image.clone();
        let name = format!("misbehaves-{number:02}");
        for at in 0..copy.len() - name.len() {
            if copy[at..].starts_with(MISBEHAVES.as_bytes()) {
                copy[at..at + name.len()].copy_from_slice(name.as_bytes());
            }
        }
        fs::write(directory.path().join(format!("{name}.{DLL_EXTENSION}")), copy).unwrap();
    }
    let mut options = memory_plugins::PluginOptions::default();
    for number in 0..50 {
        options.configurations.insert(format!("misbehaves-{number:02}"), r#"{"conduct":"count calls"}"#.into());
    }
    let mut registry = Registry::with_options(options);
    assert!(registry.load_dir(directory.path()).iter().all(Result::is_ok));
    let summarizers: Vec<_> =
        (0..50).map(|number| registry.summarizer(&format!("misbehaves-{number:02}")).unwrap()).collect();
    for (number, summarizer) in summarizers.iter().enumerate() {
        for call in 0..=number % 3 {
            assert_eq!(ask(&**summarizer, "text").unwrap(), call.to_string());
        }
    }
}
