//! A plugin that was built when version 1 of the interface was frozen, and must load and answer ever after.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};

use memory_plugins::{PluginOptions, Registry, StrategyKind};

use crate::support::{TEXT, ask, score};

/// The committed summarizer; `golden/README.md` says how it was built.
pub(crate) fn path() -> PathBuf {
    golden("summarizer")
}

fn golden(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v1-{kind}-x86_64-linux.so"))
}

#[test]
fn the_golden_summarizer_loads_and_answers() {
    let mut options = PluginOptions::default();
    options.configurations.insert("golden-summarizer".into(), r#"{"words": 3}"#.into());
    let mut registry = Registry::with_options(options);
    let info = registry.load(&path()).unwrap();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("golden-summarizer", "0.1.0"));
    assert_eq!(info.kind, StrategyKind::Summarizer);
    assert_eq!(ask(&*registry.summarizer("golden-summarizer").unwrap(), TEXT).unwrap(), "Hello everyone, it");
}

#[test]
fn the_golden_scorer_loads_and_answers() {
    let mut registry = Registry::with_builtins();
    let info = registry.load(&golden("scorer")).unwrap();
    assert_eq!((info.name.as_str(), info.kind), ("golden-scorer", StrategyKind::Scorer));
    let scorer = registry.scorer("golden-scorer").unwrap();
    let scores = score(&*scorer, &["See you.", "The deadline is on Friday."]).unwrap();
    assert!(scores[0] < scores[1], "{scores:?}");
}
