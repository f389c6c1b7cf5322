//! Real plugin libraries, loaded as a user's would be, good and bad.

mod calls;
mod conformance;
mod directories;
mod files;
mod golden;
mod support;
mod threads;
mod versions;

use memory_core::{Level, port::TokenCounter, testing::WordCounter, text::FirstWords};
use memory_plugins::{ChooseError, Origin, PluginOptions, Registry, Sha256, StrategyKind};
use pollster::block_on;
use support::{OFFICIAL, TEXT, ask, job, library, score, sources};

#[test]
fn several_plugins_at_once_each_give_their_own_answers() {
    let mut registry = Registry::with_builtins();
    for name in ["memory_plugin_first_words", "memory_plugin_rules", "memory_plugin_fixture_other_allocator"] {
        registry.load(&library(name)).unwrap();
    }
    let answer = |name: &str| ask(&*registry.summarizer(name).unwrap(), TEXT).unwrap();
    let sources = sources(TEXT);
    assert_eq!(answer("official-first-words"), FirstWords::write(&job(&sources)).text);
    let other_allocator = registry.summarizer("other-allocator").unwrap();
    assert_eq!(ask(&*other_allocator, "few words").unwrap(), "few words");
    // A failure is memory of the plugin's too.
    assert!(ask(&*other_allocator, TEXT).unwrap_err().to_string().ends_with("is too long"));
}

#[test]
fn every_official_plugin_answers_as_the_built_in_strategy_of_its_name() {
    let mut registry = Registry::with_builtins();
    let loaded: Vec<_> = OFFICIAL.iter().map(|name| registry.load(&library(name)).unwrap()).collect();
    let said = sources(TEXT);
    for info in &loaded {
        let name = info.name.strip_prefix("official-").unwrap();
        let built_in = registry.get(name).unwrap();
        assert_eq!(info.configuration_schema, built_in.configuration_schema, "{name}");
        assert_eq!(info.capabilities, built_in.capabilities, "{name}");
        if info.kind == StrategyKind::Summarizer {
            let mut job = job(&said);
            job.level = Level::Meta;
            let [ours, theirs] =
                [name, &info.name].map(|name| block_on(registry.summarizer(name).unwrap().summarize(job)).unwrap());
            assert_eq!((&ours.text, &ours.metadata.topics), (&theirs.text, &theirs.metadata.topics), "{name}");
        } else {
            let texts = ["We decided to ship version 2.4.", "Thanks!", "The hall in Ghent costs 1,850 euros."];
            let [ours, theirs] =
                [name, &info.name].map(|name| score(&*registry.scorer(name).unwrap(), &texts).unwrap());
            assert_eq!(ours, theirs, "{name}");
        }
    }
}

#[test]
fn a_plugin_tells_who_it_is() {
    let mut registry = Registry::with_builtins();
    let path = library("memory_plugin_first_words");
    let info = registry.load(&path).unwrap();
    assert_eq!((info.name.as_str(), info.kind), ("official-first-words", StrategyKind::Summarizer));
    assert_eq!(info.version, env!("CARGO_PKG_VERSION"));
    assert!(matches!(&info.origin, Origin::File(path) if path.is_absolute()));
    assert_eq!(info.sha256, Some(Sha256::of(&std::fs::read(path).unwrap())));
    assert!(registry.list().any(|listed| *listed == info));
    let identity = registry.summarizer("official-first-words").unwrap().identity();
    assert_eq!((identity.strategy, identity.version), (info.name, info.version));
    let varies = registry.load(&library("memory_plugin_fixture_misbehaves")).unwrap().capabilities;
    assert!(varies.varies && !varies.cancellable && !varies.embeddings);
    assert_eq!(varies.to_string(), "varies");
}

#[test]
fn a_plugin_of_another_kind_is_not_found_as_this_one() {
    let mut registry = Registry::with_builtins();
    registry.load(&library("memory_plugin_first_words")).unwrap();
    let error = registry.scorer("official-first-words").unwrap_err();
    let ChooseError::Unknown(unknown) = error else { panic!("{error}") };
    assert_eq!(unknown.kind, StrategyKind::Scorer);
    assert!(unknown.nearest.is_empty() && unknown.known == ["rules"], "{unknown}");
}

#[test]
fn a_configuration_is_checked_against_the_schema_before_the_plugin_sees_it() {
    let choose = |configuration: &str| {
        let mut options = PluginOptions::default();
        options.configurations.insert("misbehaves-00".into(), configuration.into());
        options.configurations.insert("official-first-words".into(), r#"{"sentences": 3}"#.into());
        let mut registry = Registry::with_options(options);
        registry.load(&library("memory_plugin_fixture_misbehaves")).unwrap();
        registry.load(&library("memory_plugin_first_words")).unwrap();
        assert!(registry.summarizer("official-first-words").unwrap_err().to_string().contains("it takes none"));
        registry.summarizer("misbehaves-00").map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(choose(r#"{"conduct": "answer"}"#), Ok(()));
    let error = choose(r#"{"conduct": 7}"#).unwrap_err();
    assert!(error.contains("/conduct") && error.contains("string"), "{error}");
    assert!(choose(r#"{"behaviour": ""}"#).unwrap_err().contains("behaviour"));
    assert!(choose("{").unwrap_err().contains("is not JSON"));
}

#[test]
fn the_bound_is_kept_through_the_border() {
    let mut registry = Registry::with_builtins();
    registry.load(&library("memory_plugin_first_words")).unwrap();
    let summarizer = registry.summarizer("official-first-words").unwrap();
    for max_tokens in 1..30 {
        let sources = sources(TEXT);
        let mut job = job(&sources);
        job.max_tokens = max_tokens;
        let written = block_on(summarizer.summarize(job)).unwrap();
        assert!(WordCounter.count(&written.text) <= max_tokens);
        assert!(!written.text.trim().is_empty());
    }
}
