//! Finds the libraries that cargo built as dev-dependencies, and runs what could end the process in a child.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test cannot go on without it")]

use std::{
    env::{self, consts},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use memory_core::{
    Level, NodeId, NodeRange, Role,
    port::{ImportanceScorer, ScoreJob, Summarizer, SummaryJob, SummarySource},
    testing::WordCounter,
};
use memory_plugins::{CallError, PluginOptions, Registry};
use pollster::block_on;

pub(crate) const TEXT: &str =
    "Hello everyone, it is so good to see you all here. After the tests we decided to ship version 2.4.";

/// Crates of the official plugins, one of each kind.
pub(crate) const OFFICIAL: [&str; 2] = ["memory_plugin_first_words", "memory_plugin_rules"];

/// The library of the package whose crate is `name`, next to the test binary or one directory above it.
///
/// # Panics
/// When there is none, naming where it was looked for.
pub(crate) fn library(name: &str) -> PathBuf {
    let file = format!("{}{name}{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
    let deps = deps();
    let places = [deps.join(&file), deps.parent().unwrap_or(&deps).join(&file)];
    let found = places.iter().find(|place| place.is_file());
    found.unwrap_or_else(|| panic!("no {file} at {places:?}; is its package a dev-dependency with a cdylib?")).clone()
}

/// The library of some procedural macro.
pub(crate) fn any_proc_macro() -> Option<PathBuf> {
    let is_macro = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{}thiserror_impl-", consts::DLL_PREFIX)) && name.ends_with(consts::DLL_SUFFIX)
    };
    files().find(is_macro)
}

/// The compiled forms of a crate, the newest first.
pub(crate) fn rlibs(name: &str) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
    };
    let mut found: Vec<_> = files().filter(is_one).collect();
    found.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).and_then(|metadata| metadata.modified()).ok()));
    found
}

fn files() -> impl Iterator<Item = PathBuf> {
    fs::read_dir(deps()).unwrap().filter_map(Result::ok).map(|entry| entry.path())
}

/// Directory of the test binary and its dependencies.
pub(crate) fn deps() -> PathBuf {
    let binary = env::current_exe().expect("a test binary has a path");
    binary.parent().unwrap_or(Path::new(".")).to_owned()
}

/// Runs the test `name` of this binary in a process of its own, where the variable `ROLE` says that it is the child.
pub(crate) fn in_child(name: &str, directory: &Path) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ROLE, directory)
        .output()
        .unwrap()
}

/// The directory that the parent gave, in a child.
pub(crate) fn as_child() -> Option<PathBuf> {
    env::var_os(ROLE).map(PathBuf::from)
}

const ROLE: &str = "PLUGIN_TEST_CHILD";

/// The options under which the plugin `name` behaves so.
pub(crate) fn conducting(name: &str, conduct: &str) -> PluginOptions {
    let mut options = PluginOptions::default();
    options.configurations.insert(name.into(), format!(r#"{{"conduct":"{conduct}"}}"#));
    options
}

/// The bad summarizer, loaded under these options.
pub(crate) fn misbehaving(options: PluginOptions) -> Registry {
    let mut registry = Registry::with_options(options);
    registry.load(&library("memory_plugin_fixture_misbehaves")).unwrap();
    registry
}

/// The name of the bad summarizer.
pub(crate) const MISBEHAVES: &str = "misbehaves-00";

/// Effect of a behaviour of the bad summarizer.
pub(crate) fn conduct(conduct: &str) -> Result<String, CallError> {
    let registry = misbehaving(conducting(MISBEHAVES, conduct));
    ask(&*registry.summarizer(MISBEHAVES).unwrap(), TEXT)
}

pub(crate) fn sources(text: &str) -> Vec<SummarySource> {
    vec![SummarySource::new(NodeRange::single(NodeId::FIRST), text).role(Role::User).speaker("user")]
}

pub(crate) fn job(sources: &[SummarySource]) -> SummaryJob<'_> {
    SummaryJob::new(Level::Summary, sources, 20, &WordCounter)
}

/// Asks for a summary of `text`.
pub(crate) fn ask(summarizer: &dyn Summarizer, text: &str) -> Result<String, CallError> {
    let written = block_on(summarizer.summarize(job(&sources(text))));
    written.map(|written| written.text).map_err(|error| error.source.downcast_ref::<CallError>().unwrap().clone())
}

/// Asks for the scores of `texts`.
pub(crate) fn score(scorer: &dyn ImportanceScorer, texts: &[&str]) -> Result<Vec<f32>, CallError> {
    let jobs: Vec<_> = texts.iter().map(|&text| ScoreJob::new(Role::User, text)).collect();
    scorer.score(&jobs).map_err(|error| error.source.downcast_ref::<CallError>().unwrap().clone())
}
