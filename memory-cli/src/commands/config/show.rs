//! `memory config show`: shows every setting, its value and where that comes from.

use std::{collections::BTreeMap, ffi::OsStr};

use clap::parser::ValueSource;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::FileLocation;
use crate::{
    config_file::{CONFIGURE, ConfigFile, Key, Setting, is_secret, json_of, keys, shown_text, variable},
    globals::Globals,
    output::shorten,
};

/// Variables of the environment that are no options, as README and docs/ describe them.
const VARIABLES: [&str; 10] = [
    "MEMORY_LOG",
    "MEMORY_MCP_TOKEN",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "AWS_REGION",
    "AWS_PROFILE",
    "AWS_BEARER_TOKEN_BEDROCK",
    "HF_TOKEN",
];

/// Source of a value.
enum Origin {
    BuiltIn,
    File { line: usize },
    Variable(String),
    Flag,
}

impl Origin {
    fn of(setting: Option<&Setting>) -> Self {
        setting.map_or(Self::BuiltIn, |setting| Self::File { line: setting.place.line })
    }

    fn shown(&self, file: &ConfigFile) -> String {
        match self {
            Self::BuiltIn => "built in".to_owned(),
            Self::File { line } => {
                format!("{}:{line}", file.path().file_name().unwrap_or_default().to_string_lossy())
            }
            Self::Variable(name) => name.clone(),
            Self::Flag => "flag".to_owned(),
        }
    }
}

/// Settings in effect.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    #[serde(flatten)]
    at: FileLocation,
    settings: Vec<Effective<'a>>,
    /// Environment variables that are no options.
    variables: Vec<Variable<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Effective<'a> {
    /// The table of the key; null at the top of the file.
    table: Option<&'static str>,
    /// The key.
    key: &'a str,
    /// The value in effect, without secrets; null where there is none.
    value: &'a Value,
    /// `default`, `file`, `environment` or `flag`.
    from: &'static str,
    /// The file that sets it.
    file: Option<String>,
    /// The line in it.
    line: Option<usize>,
    /// The environment variable that sets it.
    variable: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Variable<'a> {
    /// Its name.
    name: &'a str,
    /// True if it is set.
    set: bool,
    /// Its value; null for a secret.
    value: Option<String>,
}

struct Row {
    table: Option<&'static str>,
    key: String,
    /// `Null` where nothing is set.
    value: Value,
    origin: Origin,
}

pub(super) fn run(changed: bool, globals: &Globals) -> anyhow::Result<()> {
    globals.file.check()?;
    let mut rows: Vec<Row> = keys(&(globals.definition)()).iter().flat_map(|key| rows(key, globals)).collect();
    if changed {
        rows.retain(|row| !matches!(row.origin, Origin::BuiltIn));
    }
    let variables = VARIABLES.map(|name| (name, variable(name)));
    let (output, file) = (globals.output, &globals.file);
    if output.json {
        let variables = variables.iter().map(|(name, value)| Variable {
            name,
            set: value.is_some(),
            value: value.as_ref().and_then(|value| shown(name, value)),
        });
        return Ok(output.value(&Answer {
            at: FileLocation::of(file),
            settings: rows.iter().map(|row| row.effective(file)).collect(),
            variables: variables.collect(),
        })?);
    }
    let table = rows.iter().map(|row| {
        let key = row.table.map_or_else(|| row.key.clone(), |table| format!("[{table}] {}", row.key));
        [key, row.text(), row.origin.shown(file)]
    });
    output.table(["setting", "value", "from"], table)?;
    for (name, value) in variables {
        if let Some(value) = value {
            let value = shown(name, &value).unwrap_or_else(|| "is set, and not shown".to_owned());
            output.line(&format!("{name}: {value}"))?;
        }
    }
    let exists = if file.exists { "" } else { " (there is none)" };
    match file.choice.path() {
        Some(path) => Ok(output.line(&format!("file: {}{exists}", path.display()))?),
        None => Ok(output.line("file: none is read")?),
    }
}

/// The value of a variable, unless it is a secret.
fn shown(name: &str, value: &str) -> Option<String> {
    let is_hidden = is_secret(name) || name.contains("TOKEN") || name.contains("KEY");
    (!is_hidden).then(|| shown_text(value))
}

/// The rows of a key: one, or one for each strategy that is configured.
fn rows(key: &Key, globals: &Globals) -> Vec<Row> {
    let file = &globals.file;
    if key.name == CONFIGURE {
        let of_file = file.settings.iter().filter_map(|setting| {
            Some((setting.strategy.as_deref()?, (setting.texts.first()?.as_str(), Origin::of(Some(setting)))))
        });
        let mut strategies: BTreeMap<_, _> = of_file.collect();
        for (strategy, json) in globals.configurations() {
            // A flag replaces the settings of its strategy as a whole.
            if strategies.get(strategy).is_none_or(|(of_file, _)| *of_file != json) {
                strategies.insert(strategy, (json, Origin::Flag));
            }
        }
        let row = |(strategy, (json, origin)): (&str, (&str, Origin))| Row {
            table: Some(CONFIGURE),
            key: strategy.to_owned(),
            value: json_of(key.kind(), &[json.to_owned()]),
            origin,
        };
        return strategies.into_iter().map(row).collect();
    }
    let (texts, origin) = if key.table.is_none() { global_option(key, globals) } else { command_option(key, file) };
    let is_unset = texts.iter().all(String::is_empty) && matches!(origin, Origin::BuiltIn);
    let value = if is_unset { default_path(key, globals) } else { json_of(key.kind(), &texts) };
    vec![Row { table: key.table, key: key.name.to_owned(), value, origin }]
}

/// Path that the program uses for an unset key; null if it uses none.
fn default_path(key: &Key, globals: &Globals) -> Value {
    let path = match key.name {
        "store" => memory::Config::default_store(),
        "models" => globals.models().ok().map(|models| models.root().to_owned()),
        _ => None,
    };
    path.map_or(Value::Null, |path| path.display().to_string().into())
}

/// Value and origin of a global option in this call.
fn global_option(key: &Key, globals: &Globals) -> (Vec<String>, Origin) {
    let (id, parsed) = (key.argument.get_id().as_str(), &globals.matches);
    let origin = match parsed.value_source(id) {
        Some(ValueSource::CommandLine) => Origin::Flag,
        Some(ValueSource::EnvVariable) => Origin::Variable(key.variable().unwrap_or_default().to_owned()),
        _ => Origin::of(globals.file.find(key.table, key.name)),
    };
    (lossy(parsed.get_raw(id).into_iter().flatten()), origin)
}

/// Value and origin of a command's option when its flag is absent.
fn command_option(key: &Key, file: &ConfigFile) -> (Vec<String>, Origin) {
    if let Some((name, value)) = key.variable().and_then(|name| Some((name, variable(name)?))) {
        return (vec![value], Origin::Variable(name.to_owned()));
    }
    let of_file = file.find(key.table, key.name);
    let defaults = || lossy(key.argument.get_default_values().iter().map(|text| &**text));
    (of_file.map_or_else(defaults, |setting| setting.texts.clone()), Origin::of(of_file))
}

fn lossy<'a>(texts: impl Iterator<Item = &'a OsStr>) -> Vec<String> {
    texts.map(|text| text.to_string_lossy().into_owned()).collect()
}

impl Row {
    fn text(&self) -> String {
        /// Characters of a value.
        const SHOWN: usize = 60;
        match &self.value {
            Value::Null => "–".to_owned(),
            Value::Array(items) if items.is_empty() => "–".to_owned(),
            Value::String(text) => shorten(text, SHOWN),
            value => shorten(&value.to_string(), SHOWN),
        }
    }

    fn effective(&self, file: &ConfigFile) -> Effective<'_> {
        let (from, line, variable) = match &self.origin {
            Origin::BuiltIn => ("default", None, None),
            Origin::File { line } => ("file", Some(*line), None),
            Origin::Variable(name) => ("environment", None, Some(name.as_str())),
            Origin::Flag => ("flag", None, None),
        };
        let file = line.map(|_| file.path().display().to_string());
        Effective { table: self.table, key: &self.key, value: &self.value, from, file, line, variable }
    }
}
