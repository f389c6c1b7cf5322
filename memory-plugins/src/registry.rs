//! Registry of all strategies by name.

pub(crate) mod configuration;
mod info;

use std::{
    collections::BTreeMap,
    env::consts::DLL_EXTENSION,
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use abi_stable::std_types::{RResult, RStr};
use memory_core::{
    WrittenBy,
    port::{ImportanceScorer, Summarizer},
    text::{FirstWords, nearest},
};
use memory_plugin_abi::v1::{self, PluginModule_Ref};
use memory_strategies::{Rules, Spans};

use crate::{
    convert::failure,
    error::{CallError, ChooseError, LoadError, UnknownStrategy},
    health::{Health, PluginStatus},
    library::{self, Library},
    options::PluginOptions,
    plugin::Plugin,
    scorer::PluginScorer,
    workers::Workers,
};

pub use info::{Origin, PluginCapabilities, PluginInfo, StrategyKind};

/// All built-in and loaded strategies, in one name space.
///
/// Loading a plugin registers its strategy; choosing a strategy creates it.
#[derive(Debug)]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
    workers: Arc<Workers>,
    options: PluginOptions,
}

#[derive(Debug)]
struct Entry {
    info: PluginInfo,
    source: StrategySource,
}

enum StrategySource {
    Summarizer(Arc<dyn Summarizer>),
    Scorer(Arc<dyn ImportanceScorer>),
    Plugin { module: PluginModule_Ref, health: Arc<Health>, path: PathBuf },
}

impl fmt::Debug for StrategySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Summarizer(summarizer) => summarizer.fmt(f),
            Self::Scorer(scorer) => scorer.fmt(f),
            Self::Plugin { health, path, .. } => f.debug_tuple("Plugin").field(path).field(health).finish(),
        }
    }
}

impl Registry {
    /// Summarizer that is used if none is named.
    pub const DEFAULT_SUMMARIZER: &'static str = "spans";

    /// Scorer that is used if none is named.
    pub const DEFAULT_SCORER: &'static str = "rules";

    /// Creates a registry of the built-in strategies.
    #[must_use]
    pub fn with_builtins() -> Self {
        Self::with_options(PluginOptions::default())
    }

    /// Creates a registry of the built-in strategies, with options for plugins.
    #[must_use]
    pub fn with_options(options: PluginOptions) -> Self {
        let entries = builtins().map(|entry| (entry.info.name.clone(), entry)).into();
        Self { entries, workers: Arc::new(Workers::new(&options)), options }
    }

    /// Loads the plugin at `path` and registers its strategy.
    ///
    /// # Errors
    /// If the file is not a complete plugin of this interface, is not allowed, or has a name that is taken.
    pub fn load(&mut self, path: &Path) -> Result<PluginInfo, LoadError> {
        let Library { module, info } = library::open(path, &self.options)?;
        if let Some(entry) = self.entries.get(&info.name) {
            let by = match &entry.info.origin {
                Origin::BuiltIn => "built in".to_owned(),
                Origin::File(other) => format!("loaded from {}", other.display()),
            };
            return Err(LoadError::NameTaken { path: path.to_owned(), name: info.name, by });
        }
        tracing::info!(name = info.name, version = info.version, origin = %info.origin, "plugin loaded");
        let health = Arc::new(Health::new(&info.name, &self.options));
        let source = StrategySource::Plugin { module, health, path: path.to_owned() };
        self.entries.insert(info.name.clone(), Entry { info: info.clone(), source });
        Ok(info)
    }

    /// Loads every library in directory `path`, sorted by name. A library that cannot be loaded is reported, and the
    /// others are loaded. An unreadable directory is a single error.
    ///
    /// A library with the name of an earlier strategy is refused.
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

    /// Creates the summarizer of that name from its configuration.
    ///
    /// # Errors
    /// If there is none, with similar names; if its schema does not allow the configuration; if the plugin refuses to
    /// start, or exceeds the deadline of a call.
    pub fn summarizer(&self, name: &str) -> Result<Arc<dyn Summarizer>, ChooseError> {
        let (entry, configuration) = self.choose(name, StrategyKind::Summarizer)?;
        match &entry.source {
            StrategySource::Summarizer(summarizer) => Ok(Arc::clone(summarizer)),
            StrategySource::Scorer(_) => Err(self.unknown(name, StrategyKind::Summarizer).into()),
            StrategySource::Plugin { module, health, path } => {
                Ok(Arc::new(self.plugin(entry, path, health, module.new_summarizer(), configuration)?))
            }
        }
    }

    /// Creates the importance scorer of that name from its configuration.
    ///
    /// # Errors
    /// As for [`Self::summarizer`].
    pub fn scorer(&self, name: &str) -> Result<Arc<dyn ImportanceScorer>, ChooseError> {
        let (entry, configuration) = self.choose(name, StrategyKind::Scorer)?;
        match &entry.source {
            StrategySource::Scorer(scorer) => Ok(Arc::clone(scorer)),
            StrategySource::Summarizer(_) => Err(self.unknown(name, StrategyKind::Scorer).into()),
            StrategySource::Plugin { module, health, path } => {
                let plugin = self.plugin(entry, path, health, module.new_scorer(), configuration)?;
                Ok(Arc::new(PluginScorer { plugin, embedder: self.options.embedder.clone() }))
            }
        }
    }

    /// The entry of that name and kind, with its validated configuration.
    fn choose(&self, name: &str, kind: StrategyKind) -> Result<(&Entry, String), ChooseError> {
        let entry = self.entries.get(name).filter(|entry| entry.info.kind == kind);
        let entry = entry.ok_or_else(|| self.unknown(name, kind))?;
        let given = self.options.configurations.get(name).map(String::as_str);
        Ok((entry, configuration::checked(&entry.info, given)?))
    }

    /// Creates a plugin's strategy, under the deadline of a call.
    fn plugin<T: Send + Sync + 'static>(
        &self,
        entry: &Entry,
        path: &Path,
        health: &Arc<Health>,
        constructor: extern "C" fn(RStr<'_>) -> RResult<T, v1::Failure>,
        configuration: String,
    ) -> Result<Plugin<T>, ChooseError> {
        let identity = configuration::identity(&entry.info, &configuration);
        let made = self.workers.call(None, move |_| match constructor(RStr::from_str(&configuration)) {
            RResult::ROk(object) => Ok(object),
            RResult::RErr(reason) => Err(failure(&reason)),
        });
        let object = pollster::block_on(made).map_err(|source: CallError| ChooseError::Refused {
            name: entry.info.name.clone(),
            path: path.to_owned(),
            source,
        })?;
        Ok(Plugin::new(identity, object, Arc::clone(&self.workers), Arc::clone(health)))
    }

    fn unknown(&self, name: &str, kind: StrategyKind) -> UnknownStrategy {
        let known: Vec<String> = self.list().filter(|info| info.kind == kind).map(|info| info.name.clone()).collect();
        UnknownStrategy { name: name.to_owned(), kind, nearest: nearest(name, &known, String::as_str), known }
    }

    /// All strategies, by name.
    pub fn list(&self) -> impl Iterator<Item = &PluginInfo> {
        self.entries.values().map(|entry| &entry.info)
    }

    /// The strategy of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&PluginInfo> {
        self.entries.get(name).map(|entry| &entry.info)
    }

    /// Statistics of a plugin; `None` if no plugin has that name.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<PluginStatus> {
        match &self.entries.get(name)?.source {
            StrategySource::Summarizer(_) | StrategySource::Scorer(_) => None,
            StrategySource::Plugin { health, .. } => Some(health.status()),
        }
    }

    /// Calls of any plugin that were given up but have not returned. Each occupies a thread.
    #[must_use]
    pub fn stuck_calls(&self) -> usize {
        self.workers.stuck()
    }
}

/// The built-in strategies, which take no configuration.
fn builtins() -> [Entry; 3] {
    let entry = |identity: WrittenBy, kind, description: &str, source| {
        let info = PluginInfo {
            name: identity.strategy,
            version: identity.version,
            kind,
            description: description.to_owned(),
            configuration_schema: None,
            capabilities: PluginCapabilities::default(),
            origin: Origin::BuiltIn,
            sha256: None,
        };
        Entry { info, source }
    };
    let summarizer = |summarizer: Arc<dyn Summarizer>, description| {
        entry(summarizer.identity(), StrategyKind::Summarizer, description, StrategySource::Summarizer(summarizer))
    };
    let rules = "Words that announce decisions, promises, preferences, errors; figures; code.";
    [
        summarizer(Arc::new(FirstWords), "The first eight words of each message."),
        summarizer(Arc::new(Spans), "Whole sentences with the speaker; a sentence that is changed later is left out."),
        entry(Rules.identity(), StrategyKind::Scorer, rules, StrategySource::Scorer(Arc::new(Rules))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builtins_are_listed_and_found_by_name() {
        let registry = Registry::with_builtins();
        let names: Vec<_> = registry.list().map(|info| info.name.as_str()).collect();
        assert_eq!(names, ["first-words", "rules", "spans"]);
        assert_eq!(registry.summarizer(Registry::DEFAULT_SUMMARIZER).unwrap().identity().strategy, "spans");
        assert_eq!(registry.scorer(Registry::DEFAULT_SCORER).unwrap().identity().strategy, "rules");
        assert_eq!(registry.status("rules"), None);
    }

    #[test]
    fn an_unknown_name_is_told_its_like_of_the_same_kind() {
        let registry = Registry::with_builtins();
        let error = registry.summarizer("first-word").unwrap_err();
        assert_eq!(error.to_string(), "no summarizer is called \"first-word\"; did you mean first-words?");
        let error = registry.scorer("first-words").unwrap_err();
        assert_eq!(error.to_string(), "no scorer is called \"first-words\"; there are rules");
    }

    #[test]
    fn a_builtin_takes_no_configuration_that_nobody_reads() {
        let mut options = PluginOptions::default();
        options.configurations.insert("rules".into(), r#"{"words": 3}"#.into());
        let error = Registry::with_options(options).scorer("rules").unwrap_err();
        assert_eq!(error.to_string(), "the configuration of rules must go: it takes none");
    }
}
