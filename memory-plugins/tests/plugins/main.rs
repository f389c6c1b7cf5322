//! Real plugin libraries, loaded as a user's would be, good and bad.

mod support;

use std::{env, fs, path::Path, process::Command, thread};

use memory_core::{
    Level, NodeId, NodeRange, Role, SummarizeError, Summarizer, SummaryJob, SummaryMetadata, SummarySource,
    TokenCounter, testing::WordCounter,
};
use memory_plugins::{LoadError, Origin, PluginOptions, Registry, StrategyKind};
use memory_strategies::{Extractive, FirstWords};
use pollster::block_on;
use support::library;

const TEXT: &str = "Hello everyone, it is so good to see you all here. After the tests we decided to ship version 2.4.";

fn sources(text: &str) -> Vec<SummarySource> {
    vec![SummarySource {
        nodes: NodeRange::single(NodeId::FIRST),
        role: Some(Role::User),
        speaker: "user".into(),
        text: text.into(),
        metadata: SummaryMetadata::default(),
    }]
}

fn job(sources: &[SummarySource]) -> SummaryJob<'_> {
    SummaryJob { level: Level::Summary, sources, previous: None, max_tokens: 20, counter: &WordCounter }
}

fn summarize(summarizer: &dyn Summarizer, text: &str) -> Result<String, SummarizeError> {
    block_on(summarizer.summarize(job(&sources(text)))).map(|written| written.text)
}

#[test]
fn several_plugins_at_once_each_give_their_own_answers() {
    let mut registry = Registry::with_builtins();
    for name in ["memory_plugin_extractive", "memory_plugin_first_words", "memory_plugin_fixture_panics"] {
        registry.load(&library(name)).unwrap();
    }
    let answer = |name: &str| summarize(&*registry.summarizer(name).unwrap(), TEXT);
    let sources = sources(TEXT);
    assert_eq!(answer("official-extractive").unwrap(), Extractive.write(&job(&sources)).text);
    assert_eq!(answer("official-first-words").unwrap(), FirstWords::write(&job(&sources)).text);
    assert_ne!(answer("official-extractive").unwrap(), answer("official-first-words").unwrap());
    assert!(answer("panics").is_err());
}

#[test]
fn a_plugin_tells_who_it_is() {
    let mut registry = Registry::with_builtins();
    let info = registry.load(&library("memory_plugin_extractive")).unwrap();
    assert_eq!((info.name.as_str(), info.kind), ("official-extractive", StrategyKind::Summarizer));
    assert_eq!(info.version, env!("CARGO_PKG_VERSION"));
    assert!(matches!(&info.origin, Origin::File(path) if path.is_absolute()));
    assert!(registry.list().any(|listed| *listed == info));
    let identity = registry.summarizer("official-extractive").unwrap().identity();
    assert_eq!((identity.strategy, identity.version), (info.name, info.version));
}

#[test]
fn a_panicking_plugin_returns_errors_until_it_is_quarantined_and_the_host_lives() {
    let mut registry = Registry::with_builtins();
    registry.load(&library("memory_plugin_fixture_panics")).unwrap();
    let summarizer = registry.summarizer("panics").unwrap();
    for _ in 0..3 {
        let error = summarize(&*summarizer, TEXT).unwrap_err();
        assert_eq!(error.source.to_string(), "the plugin panicked: cannot bear 1 sources");
        assert_eq!(error.strategy.strategy, "panics");
    }
    assert_eq!(summarize(&*summarizer, TEXT).unwrap(), Extractive.write(&job(&sources(TEXT))).text);
    assert_eq!(summarizer.identity().strategy, "extractive");
}

#[test]
fn many_threads_share_a_plugin() {
    let mut registry = Registry::with_builtins();
    registry.load(&library("memory_plugin_extractive")).unwrap();
    let summarizer = registry.summarizer("official-extractive").unwrap();
    thread::scope(|scope| {
        for n in 0..8 {
            let summarizer = &summarizer;
            scope.spawn(move || {
                let text = format!("We decided on port {n}000.");
                for _ in 0..20 {
                    assert_eq!(summarize(&**summarizer, &text).unwrap(), text);
                }
            });
        }
    });
}

#[test]
fn a_plugin_of_another_kind_is_not_found_as_this_one() {
    let mut registry = Registry::with_builtins();
    registry.load(&library("memory_plugin_first_words")).unwrap();
    let error = registry.scorer("official-first-words").unwrap_err();
    assert_eq!(error.kind, StrategyKind::Scorer);
    assert!(error.nearest.is_empty(), "{error}");
}

#[test]
fn a_plugin_that_refuses_its_configuration_is_not_registered() {
    let mut options = PluginOptions::default();
    options.configurations.insert("official-extractive".into(), r#"{"sentences": 3}"#.into());
    let mut registry = Registry::with_options(options);
    let error = registry.load(&library("memory_plugin_extractive")).unwrap_err();
    assert!(matches!(&error, LoadError::Refused { source, .. } if source.to_string().contains("no configuration")));
    assert!(registry.summarizer("official-extractive").is_err());
    registry.load(&library("memory_plugin_first_words")).unwrap();
}

#[test]
fn a_name_is_given_once() {
    let mut registry = Registry::with_builtins();
    let path = library("memory_plugin_extractive");
    registry.load(&path).unwrap();
    let error = registry.load(&path).unwrap_err();
    assert!(matches!(&error, LoadError::NameTaken { name, .. } if name == "official-extractive"), "{error}");
}

#[test]
fn what_is_no_plugin_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let plugin = fs::read(library("memory_plugin_extractive")).unwrap();
    let mut other_machine = plugin.clone();
    other_machine[18] ^= 0x55;
    let refused = |path: &Path| {
        let error = Registry::with_builtins().load(path).unwrap_err();
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains(path.file_name().unwrap().to_str().unwrap()), "{line}");
        error
    };
    assert!(matches!(refused(&directory.path().join("missing.so")), LoadError::Unreadable { .. }));
    assert!(matches!(refused(&write("empty.so", b"")), LoadError::NotALibrary { .. }));
    assert!(matches!(refused(&write("text.so", &b"not a library at all ".repeat(99))), LoadError::NotALibrary { .. }));
    assert!(matches!(refused(directory.path()), LoadError::NotALibrary { .. }));
    if cfg!(target_os = "linux") {
        assert!(matches!(refused(&write("machine.so", &other_machine)), LoadError::NotALibrary { .. }));
    }
}

/// Opening a truncated library would kill the process, so a child of this very test opens them.
#[test]
fn truncated_copies_are_refused_and_the_host_lives() {
    const DIRECTORY: &str = "TRUNCATED_PLUGINS";
    if let Some(directory) = env::var_os(DIRECTORY) {
        let results = Registry::with_builtins().load_dir(Path::new(&directory));
        let good = results.iter().filter(|result| result.is_ok()).count();
        println!("{} refused, {good} loaded", results.len() - good);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let plugin = fs::read(library("memory_plugin_extractive")).unwrap();
    let parts = 64;
    for part in 0..=parts {
        let length = plugin.len() * part / parts - usize::from(part == parts);
        fs::write(directory.path().join(format!("{part}.{}", env::consts::DLL_EXTENSION)), &plugin[..length]).unwrap();
    }
    fs::copy(
        library("memory_plugin_extractive"),
        directory.path().join(format!("whole.{}", env::consts::DLL_EXTENSION)),
    )
    .unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "truncated_copies_are_refused_and_the_host_lives", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{}: {said}", child.status);
    assert!(said.contains("65 refused, 1 loaded"), "{said}");
}

#[test]
fn a_directory_gives_its_plugins_and_its_errors_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let place = |from: &str, to: &str| {
        let to = directory.path().join(format!("{to}.{}", env::consts::DLL_EXTENSION));
        fs::copy(library(from), to).unwrap();
    };
    place("memory_plugin_extractive", "a");
    fs::write(directory.path().join(format!("b.{}", env::consts::DLL_EXTENSION)), "rubbish").unwrap();
    place("memory_plugin_first_words", "c");
    fs::write(directory.path().join("README.txt"), "ignored").unwrap();
    let mut registry = Registry::with_builtins();
    let results = registry.load_dir(directory.path());
    let names: Vec<_> = results.iter().map(|result| result.as_ref().ok().map(|info| info.name.as_str())).collect();
    assert_eq!(names, [Some("official-extractive"), None, Some("official-first-words")]);
    assert_eq!(registry.list().count(), 5);
    let missing = registry.load_dir(&directory.path().join("missing"));
    assert!(matches!(missing.as_slice(), [Err(LoadError::Unreadable { .. })]));
}

#[test]
fn a_library_that_is_no_plugin_is_told_from_one() {
    // A procedural macro is a shared library that every build has.
    let Some(path) = support::any_proc_macro() else { panic!("no procedural macro beside the test binary") };
    let error = Registry::with_builtins().load(&path).unwrap_err();
    assert!(matches!(error, LoadError::NotAPlugin { .. } | LoadError::NotOpened { .. }), "{error}");
}

#[test]
fn the_bound_is_kept_through_the_border() {
    let mut registry = Registry::with_builtins();
    registry.load(&library("memory_plugin_extractive")).unwrap();
    let summarizer = registry.summarizer("official-extractive").unwrap();
    for max_tokens in 1..30 {
        let sources = sources(TEXT);
        let written = block_on(summarizer.summarize(SummaryJob { max_tokens, ..job(&sources) })).unwrap();
        assert!(WordCounter.count(&written.text) <= max_tokens);
        assert!(!written.text.trim().is_empty());
    }
}
