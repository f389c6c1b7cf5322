//! The configuration file: values of options that hold for every call, in TOML.
//!
//! Its keys are options of the command line by their long names, and its values become the defaults of these options
//! before the command line is parsed. So a flag comes before an environment variable, that before the file, and the
//! file before what is built in, and clap checks, converts and describes all of them.

mod fault;
mod keys;
mod reader;
mod secret;
mod template;

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command, parser::ValueSource};
use directories::ProjectDirs;
use memory_core::plan::{ManagerNameError, strategy_named};
use memory_files::Links;
use memory_plugins::{Registry, StrategyKind};
use serde_json::Value;

pub(crate) use self::{
    fault::{Fault, FaultKind, Position},
    keys::{CONFIGURE, Key, Kind, MANAGER_SETTINGS, keys, with_values},
    secret::{hidden, is_secret, shown_text, without_texts},
    template::template,
};
use crate::{Config, bridge::CALLER, failure::Listed};

/// The environment variable that names the file.
pub(crate) const VARIABLE: &str = "MEMORY_CONFIG";
/// The name that stands for no file.
pub(crate) const NONE: &str = "none";
/// Bytes of a file, at most.
const LARGEST: u64 = 64 << 10;

/// File that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A file that must exist.
    Named(PathBuf),
    /// The user's own file, if it exists; `None` where the user has no configuration directory.
    Default(Option<PathBuf>),
    /// No file.
    Off,
}

impl Choice {
    /// Choice that `--config` or its variable makes.
    pub(crate) fn of(given: Option<&OsStr>) -> Self {
        match given.filter(|given| !given.is_empty()) {
            Some(given) if given == NONE => Self::Off,
            Some(given) => Self::Named(std::path::absolute(given).unwrap_or_else(|_| given.into())),
            None => Self::Default(
                ProjectDirs::from("", "", "memory").map(|directories| directories.config_dir().join("config.toml")),
            ),
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Named(path) => Some(path),
            Self::Default(path) => path.as_deref(),
            Self::Off => None,
        }
    }
}

/// A key with its value in the file.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: Key,
    /// The strategy, of a table in [`CONFIGURE`].
    pub(crate) strategy: Option<String>,
    pub(crate) place: Position,
    /// Values in the form that the option takes: one text, the elements of a list, or a table as JSON.
    pub(crate) texts: Vec<String>,
}

impl Setting {
    /// Name of the key in messages, such as `[mcp] port` or `[configure.last-words]`.
    pub(crate) fn shown(&self) -> String {
        match (&self.strategy, self.key.kind()) {
            (Some(strategy), _) => format!("[{}.{strategy}]", self.key.name),
            (None, Kind::Table) => format!("[{}]", self.key.name),
            (None, _) => self.key.shown(),
        }
    }

    /// Its value without secrets.
    pub(crate) fn to_json(&self) -> Value {
        json_of(self.key.kind(), &self.texts)
    }
}

/// Texts that an option takes, as JSON of its kind.
pub(crate) fn json_of(kind: Kind, texts: &[String]) -> Value {
    let one = texts.first().map(String::as_str).unwrap_or_default();
    let parsed = || serde_json::from_str(one).ok();
    let value = match kind {
        Kind::List => return texts.iter().map(|text| Value::from(shown_text(text))).collect(),
        Kind::Text => None,
        Kind::Switch | Kind::Whole => parsed(),
        Kind::Number => one.parse::<f64>().ok().map(Value::from),
        Kind::Table | Kind::Tables => Some(hidden(&parsed().unwrap_or_else(|| one.into()))),
    };
    value.unwrap_or_else(|| shown_text(one).into())
}

/// A configuration file as it was read: the settings that hold, and what is wrong with the rest.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFile {
    pub(crate) choice: Choice,
    /// True if there is a file.
    pub(crate) exists: bool,
    /// In the file's order.
    pub(crate) settings: Vec<Setting>,
    pub(crate) faults: Vec<Fault>,
}

impl ConfigFile {
    /// Reads the file of a choice for the options of `command`.
    pub(crate) fn read(choice: Choice, command: &Command) -> Self {
        let mut file = Self { choice, exists: false, settings: Vec::new(), faults: Vec::new() };
        let Some(path) = file.choice.path() else { return file };
        match memory_files::read_to_string(path, Links::Follow, LARGEST) {
            Ok(text) => {
                let directory = path.parent().unwrap_or(Path::new("."));
                let is_read_by_others = memory_files::is_readable_by_others(path);
                (file.settings, file.faults) = reader::read(&text, directory, command, is_read_by_others);
                file.exists = true;
                file.check_manager();
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if matches!(file.choice, Choice::Named(_)) {
                    let why = "there is no such file: `memory config init` makes one";
                    file.faults.push(Fault::new(FaultKind::Missing, None, why));
                }
            }
            Err(error) => {
                file.exists = true;
                file.faults.push(Fault::new(FaultKind::Unreadable, None, format!("cannot be read: {error}")));
            }
        }
        file
    }

    /// Has the manager that the file names look at its settings.
    fn check_manager(&mut self) {
        let [named, settings] = ["manager", MANAGER_SETTINGS].map(|key| self.find(None, key));
        let [name, text] = [named, settings].map(|setting| setting?.texts.first().map(String::as_str));
        let text = text.unwrap_or_default();
        let Err(error) = strategy_named(name.unwrap_or(Config::DEFAULT_MANAGER), text) else { return };
        let is_name = matches!(error, ManagerNameError::Unknown { .. });
        let (at, key) = if is_name { (named, "manager") } else { (settings, MANAGER_SETTINGS) };
        let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), |why| format!("{error}: {why}"));
        let why = without_texts(why, &serde_json::from_str(text).unwrap_or_default());
        let fault = Fault::new(FaultKind::Value, at.map(|setting| setting.place), why).at(None, key);
        self.faults.push(fault);
        self.faults.sort_by_key(|fault| fault.place);
    }

    /// Adds the plugins that cannot be loaded, and the strategies that neither this build nor a plugin of the file has.
    /// Loading runs the code of plugins, so merely reading the file does not check this.
    pub(crate) fn check_strategies(&mut self) {
        let mut registry = Registry::with_builtins();
        let mut faults = Vec::new();
        let mut refuse = |setting: &Setting, why: String| {
            faults.push(Fault::new(FaultKind::Value, Some(setting.place), why).at(None, setting.key.name));
        };
        if let Some(plugins) = self.find(None, "plugins") {
            let loaded = plugins.texts.iter().flat_map(|directory| registry.load_dir(Path::new(directory)));
            loaded.filter_map(Result::err).for_each(|error| refuse(plugins, error.to_string()));
        }
        for setting in &self.settings {
            let chosen = setting.texts.first().filter(|_| setting.key.table.is_none());
            let (kind, name) = match (setting.key.name, &setting.strategy, chosen) {
                (CONFIGURE, Some(strategy), _) => (None, strategy),
                ("summarizer", _, Some(name)) if name != CALLER => (Some(StrategyKind::Summarizer), name),
                ("scorer", _, Some(name)) => (Some(StrategyKind::Scorer), name),
                _ => continue,
            };
            let of_kind = registry.list().filter(|info| kind.is_none_or(|kind| info.kind == kind));
            let known: Vec<_> = of_kind.map(|info| info.name.as_str()).collect();
            if !known.contains(&name.as_str()) {
                let kind = kind.map_or_else(|| "strategy".to_owned(), |kind| kind.to_string());
                refuse(setting, format!("no {kind} is called `{name}`; there are {}", known.join(", ")));
            }
        }
        self.faults.extend(faults);
        self.faults.sort_by_key(|fault| fault.place);
    }

    /// The settings as defaults of the options of `command`. Settings of the file's manager are left out if `parsed`,
    /// only from the options, chose another one.
    pub(crate) fn apply(&self, command: Command, parsed: &ArgMatches) -> Command {
        let is_of_another_manager = self.is_of_another_manager(parsed);
        // Configurations of strategies are values of their own.
        let is_used = |setting: &&Setting| match setting.key.name {
            CONFIGURE => false,
            MANAGER_SETTINGS => !is_of_another_manager,
            _ => true,
        };
        self.settings.iter().filter(is_used).fold(command, |command, setting| {
            let values = || setting.texts.iter().map(OsString::from);
            keys::mutate(command, &setting.key, &|argument| argument.default_values(values()))
        })
    }

    fn is_of_another_manager(&self, parsed: &ArgMatches) -> bool {
        let of_file = self.find(None, "manager").and_then(|setting| setting.texts.first());
        let chosen = parsed.get_one::<String>("manager").filter(|_| is_given(parsed, "manager"));
        chosen.is_some_and(|chosen| Some(chosen) != of_file)
    }

    /// The setting of a key.
    pub(crate) fn find(&self, table: Option<&str>, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.table == table && setting.key.name == name)
    }

    /// The settings of strategies by their names, as JSON.
    pub(crate) fn strategies(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().filter_map(|setting| Some((setting.strategy.as_deref()?, setting.texts.first()?.as_str())))
    }

    /// The path, for messages.
    pub(crate) fn path(&self) -> &Path {
        self.choice.path().unwrap_or(Path::new(NONE))
    }

    /// One line for each fault.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.faults.iter().map(|fault| fault.line(self.path()))
    }

    /// All faults as one error, if there are any.
    pub(crate) fn check(&self) -> Result<(), Listed> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let is_missing = self.faults.iter().all(|fault| fault.kind == FaultKind::Missing);
        let mut lines: Vec<_> = self.lines().collect();
        if !is_missing {
            lines.push("`memory config check` looks again; --config none goes on without the file".to_owned());
        }
        Err(Listed { text: lines.join("\n  "), is_missing })
    }
}

/// True if an option was given by a flag or by its environment variable.
pub(crate) fn is_given(parsed: &ArgMatches, id: &str) -> bool {
    matches!(parsed.value_source(id), Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// The value of an environment variable that sets something.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
