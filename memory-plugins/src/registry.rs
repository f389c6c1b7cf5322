//! All strategies by name.

use std::{
    collections::BTreeMap,
    env::consts::DLL_EXTENSION,
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use abi_stable::std_types::{RResult, RStr};
use memory_core::{ImportanceScorer, Summarizer, WrittenBy, nearest};
use memory_plugin_abi::v1;
use memory_strategies::{Extractive, FirstWords, Rules};

use crate::{
    convert::failure,
    error::{CallError, LoadError, UnknownStrategy},
    library::{self, Library},
    options::PluginOptions,
    scorer::PluginScorer,
    summarizer::PluginSummarizer,
    workers::Workers,
};

/// What a strategy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StrategyKind {
    /// Writes summaries.
    Summarizer,
    /// Scores messages.
    Scorer,
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Summarizer => "summarizer",
            Self::Scorer => "scorer",
        })
    }
}

/// Where a strategy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This program.
    BuiltIn,
    /// A plugin's library.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.pad("built in"),
            Self::File(path) => f.pad(&path.display().to_string()),
        }
    }
}

/// A strategy as it presents itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// The name by which it is chosen; unique in a registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub kind: StrategyKind,
    /// What it does, in a sentence.
    pub description: String,
    /// The JSON Schema of its configuration, where it takes one.
    pub configuration_schema: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
}

/// All strategies, built in and loaded, in one name space.
#[derive(Debug)]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
    workers: Arc<Workers>,
    options: PluginOptions,
}

#[derive(Debug)]
struct Entry {
    info: PluginInfo,
    strategy: Strategy,
}

#[derive(Clone, Debug)]
enum Strategy {
    Summarizer(Arc<dyn Summarizer>),
    Scorer(Arc<dyn ImportanceScorer>),
}

impl Registry {
    /// The summarizer to use where none is named.
    pub const DEFAULT_SUMMARIZER: &'static str = "extractive";

    /// The scorer to use where none is named.
    pub const DEFAULT_SCORER: &'static str = "rules";

    /// The built-in strategies: summarizers `extractive` and `first-words`, scorer `rules`.
    #[must_use]
    pub fn with_builtins() -> Self {
        Self::with_options(PluginOptions::default())
    }

    /// The built-in strategies, and how plugins loaded later are run.
    #[must_use]
    pub fn with_options(options: PluginOptions) -> Self {
        let mut registry = Self { entries: BTreeMap::new(), workers: Arc::new(Workers::new(&options)), options };
        registry.add_summarizer("The sentences that say most: decisions, figures, names.", Arc::new(Extractive));
        registry.add_summarizer("The first eight words of each message.", Arc::new(FirstWords));
        let rules: Arc<dyn ImportanceScorer> = Arc::new(Rules);
        let description = "Words that announce decisions, promises, preferences, errors; figures; code.";
        registry.add(builtin(rules.identity(), StrategyKind::Scorer, description), Strategy::Scorer(rules));
        registry
    }

    fn add_summarizer(&mut self, description: &str, summarizer: Arc<dyn Summarizer>) {
        let info = builtin(summarizer.identity(), StrategyKind::Summarizer, description);
        self.add(info, Strategy::Summarizer(summarizer));
    }

    fn add(&mut self, info: PluginInfo, strategy: Strategy) {
        self.entries.insert(info.name.clone(), Entry { info, strategy });
    }

    /// Loads the plugin at `path`, makes its strategy from its configuration, and registers it.
    ///
    /// # Errors
    /// When the file is no whole plugin of this interface, its name is taken, or it refuses its configuration.
    pub fn load(&mut self, path: &Path) -> Result<PluginInfo, LoadError> {
        let Library { module, info } = library::open(path, self.options.largest_file)?;
        if let Some(entry) = self.entries.get(&info.name) {
            let by = match &entry.info.origin {
                Origin::BuiltIn => "built in".to_owned(),
                Origin::File(other) => format!("loaded from {}", other.display()),
            };
            return Err(LoadError::NameTaken { path: path.to_owned(), name: info.name, by });
        }
        let identity = WrittenBy { strategy: info.name.clone(), version: info.version.clone() };
        let (failures, workers) = (self.options.failures, Arc::clone(&self.workers));
        let refused = |source| LoadError::Refused { path: path.to_owned(), name: info.name.clone(), source };
        let strategy = match info.kind {
            StrategyKind::Summarizer => {
                let object = self.make(&info.name, module.new_summarizer()).map_err(refused)?;
                let fallback = Arc::clone(&self.options.fallback_summarizer);
                Strategy::Summarizer(Arc::new(PluginSummarizer::new(identity, object, workers, failures, fallback)))
            }
            StrategyKind::Scorer => {
                let object = self.make(&info.name, module.new_scorer()).map_err(refused)?;
                let fallback = Arc::clone(&self.options.fallback_scorer);
                Strategy::Scorer(Arc::new(PluginScorer::new(identity, object, workers, failures, fallback)))
            }
        };
        tracing::info!(name = info.name, version = info.version, origin = %info.origin, "plugin loaded");
        self.add(info.clone(), strategy);
        Ok(info)
    }

    /// Has a plugin make its strategy, under the deadline of a call.
    fn make<T: Send + 'static>(
        &self,
        name: &str,
        constructor: extern "C" fn(RStr<'_>) -> RResult<T, v1::Failure>,
    ) -> Result<T, CallError> {
        let configuration = self.options.configurations.get(name).cloned().unwrap_or_default();
        let made = self.workers.call(None, move |_| match constructor(RStr::from_str(&configuration)) {
            RResult::ROk(object) => Ok(object),
            RResult::RErr(reason) => Err(failure(&reason)),
        });
        pollster::block_on(made)
    }

    /// Loads every library in the directory `path`, in the order of their names. What cannot be loaded is reported and
    /// stops nothing else; a directory that cannot be read is one error.
    pub fn load_dir(&mut self, path: &Path) -> Vec<Result<PluginInfo, LoadError>> {
        let listed = fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>());
        match listed {
            Err(source) => vec![Err(LoadError::Unreadable { path: path.to_owned(), source })],
            Ok(mut files) => {
                files.retain(|file| file.extension().is_some_and(|extension| extension == DLL_EXTENSION));
                files.sort();
                files.iter().map(|file| self.load(file)).collect()
            }
        }
    }

    /// The summarizer of that name.
    ///
    /// # Errors
    /// When there is none; with the names most like it.
    pub fn summarizer(&self, name: &str) -> Result<Arc<dyn Summarizer>, UnknownStrategy> {
        match self.entries.get(name).map(|entry| &entry.strategy) {
            Some(Strategy::Summarizer(summarizer)) => Ok(Arc::clone(summarizer)),
            Some(Strategy::Scorer(_)) | None => Err(self.unknown(name, StrategyKind::Summarizer)),
        }
    }

    /// The importance scorer of that name.
    ///
    /// # Errors
    /// When there is none; with the names most like it.
    pub fn scorer(&self, name: &str) -> Result<Arc<dyn ImportanceScorer>, UnknownStrategy> {
        match self.entries.get(name).map(|entry| &entry.strategy) {
            Some(Strategy::Scorer(scorer)) => Ok(Arc::clone(scorer)),
            Some(Strategy::Summarizer(_)) | None => Err(self.unknown(name, StrategyKind::Scorer)),
        }
    }

    fn unknown(&self, name: &str, kind: StrategyKind) -> UnknownStrategy {
        let known: Vec<String> = self.list().filter(|info| info.kind == kind).map(|info| info.name.clone()).collect();
        UnknownStrategy { name: name.to_owned(), kind, nearest: nearest(name, &known, String::as_str) }
    }

    /// All strategies, by name.
    pub fn list(&self) -> impl Iterator<Item = &PluginInfo> {
        self.entries.values().map(|entry| &entry.info)
    }
}

fn builtin(identity: WrittenBy, kind: StrategyKind, description: &str) -> PluginInfo {
    PluginInfo {
        name: identity.strategy,
        version: identity.version,
        kind,
        description: description.to_owned(),
        configuration_schema: None,
        origin: Origin::BuiltIn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtins_are_listed_and_found_by_name() {
        let registry = Registry::with_builtins();
        let names: Vec<_> = registry.list().map(|info| info.name.as_str()).collect();
        assert_eq!(names, ["extractive", "first-words", "rules"]);
        assert_eq!(registry.summarizer(Registry::DEFAULT_SUMMARIZER).unwrap().identity().strategy, "extractive");
        assert_eq!(registry.scorer(Registry::DEFAULT_SCORER).unwrap().identity().strategy, "rules");
    }

    #[test]
    fn an_unknown_name_is_told_its_like_of_the_same_kind() {
        let registry = Registry::with_builtins();
        let error = registry.summarizer("first-word").unwrap_err();
        assert_eq!(error.to_string(), "no summarizer is called \"first-word\"; did you mean first-words?");
        let error = registry.scorer("extractive").unwrap_err();
        assert_eq!(error.to_string(), "no scorer is called \"extractive\"");
    }
}
