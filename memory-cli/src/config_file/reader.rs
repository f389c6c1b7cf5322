//! Reads what stands in a configuration file: settings that hold, and everything that is wrong.

use std::path::{MAIN_SEPARATOR, Path};

use clap::{
    Arg, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use memory_core::text::nearest;
use serde_json::{Number, Value};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use super::{
    Setting,
    fault::{Fault, FaultKind, Position},
    keys::{self, CONFIGURE, Key, Kind, MANAGER_SETTINGS, option, takers},
    secret::{self, shown_text},
};

type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

/// Reads `text`, whose paths are relative to `directory`. Secrets in the settings of strategies are faults if others
/// can read the file.
pub(super) fn read(
    text: &str,
    directory: &Path,
    command: &Command,
    is_read_by_others: bool,
) -> (Vec<Setting>, Vec<Fault>) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let keys = keys::keys(command);
    let (settings, faults) = (Vec::new(), Vec::new());
    let mut reader = Reader { text, directory, command, keys, is_read_by_others, settings, faults };
    for error in errors {
        let place = error.span().map(|span| Position::of(text, &span));
        reader.faults.push(Fault::new(FaultKind::Unreadable, place, format!("not TOML: {}", error.message())));
    }
    root.get_ref().iter().for_each(|entry| reader.top(entry));
    let Reader { mut settings, mut faults, .. } = reader;
    settings.sort_by_key(|setting| setting.place);
    faults.sort_by_key(|fault| fault.place);
    // One slip may be reported by each rule that it breaks.
    faults.dedup_by_key(|fault| (fault.place, fault.why.clone()));
    (settings, faults)
}

struct Reader<'a> {
    text: &'a str,
    directory: &'a Path,
    command: &'a Command,
    keys: Vec<Key>,
    is_read_by_others: bool,
    settings: Vec<Setting>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn place<T>(&self, spanned: &Spanned<T>) -> Position {
        Position::of(self.text, &spanned.span())
    }

    fn refuse(&mut self, kind: FaultKind, place: Position, (table, key): (Option<&str>, &str), why: impl Into<String>) {
        self.faults.push(Fault::new(kind, Some(place), why).at(table, key));
    }

    fn key(&self, table: Option<&str>, name: &str) -> Option<Key> {
        self.keys.iter().find(|key| key.table == table && key.name == name).cloned()
    }

    fn top(&mut self, entry: Entry<'_, '_>) {
        let (name, value) = (entry.0.get_ref().as_ref(), entry.1);
        let table = keys::tables().find(|table| *table == name);
        match (name, value.get_ref()) {
            (CONFIGURE, DeValue::Table(strategies)) => {
                strategies.iter().for_each(|entry| self.table(CONFIGURE, true, entry));
            }
            (MANAGER_SETTINGS, _) => self.table(MANAGER_SETTINGS, false, entry),
            // This build may lack the command.
            (_, DeValue::Table(_)) if table.is_some_and(|table| self.command.find_subcommand(table).is_none()) => {}
            (_, DeValue::Table(members)) if table.is_some() => {
                members.iter().for_each(|entry| self.option(table, entry));
            }
            _ if name == CONFIGURE || table.is_some() => {
                self.refuse(FaultKind::Value, self.place(value), (None, name), "expected a table");
            }
            _ => self.option(None, entry),
        }
    }

    fn option(&mut self, table: Option<&'static str>, (name, value): Entry<'_, '_>) {
        let Some(key) = self.key(table, name.get_ref()) else { return self.unknown(table, name, value) };
        let each: Vec<&Spanned<DeValue<'_>>> = match (key.kind(), value.get_ref()) {
            (Kind::List, DeValue::Array(items)) => items.iter().collect(),
            _ => vec![value],
        };
        let faults = self.faults.len();
        let mut texts = Vec::new();
        for one in each {
            let text = taken(&key, one.get_ref()).map(|text| placed(key.value_name(), text, self.directory));
            match text.and_then(|text| check(&key.argument, &text).map(|()| text)) {
                Ok(text) => texts.push(text),
                Err(why) => self.refuse(FaultKind::Value, self.place(one), (table, key.name), why),
            }
        }
        if self.faults.len() > faults {
            return;
        }
        if texts.iter().any(|text| memory_embed::redacted(text) != *text || secret::looks_like_a_key(text)) {
            let instead = key.variable().map(|name| format!(": set {name} in the environment")).unwrap_or_default();
            let shown = key.shown();
            let why = format!("the value of {shown} holds a secret, which does not belong in this file{instead}");
            return self.refuse(FaultKind::Secret, self.place(value), (table, key.name), why);
        }
        self.settings.push(Setting { key, strategy: None, place: self.place(name), texts });
    }

    /// A table of settings that goes to the manager, or to the strategy of its name, as JSON.
    fn table(&mut self, key: &'static str, is_of_strategy: bool, (name, value): Entry<'_, '_>) {
        let place = self.place(name);
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            return self.refuse(FaultKind::Value, self.place(value), (None, name.get_ref()), "expected a table");
        }
        let json = match json(value) {
            Ok(json) => json,
            Err((at, why)) => return self.refuse(FaultKind::Value, self.place(at), (None, key), why),
        };
        if self.is_read_by_others
            && let Some(secret) = secret::within(&json)
        {
            let why = format!("`{secret}` is a secret, and others can read this file: `chmod 600` it");
            return self.refuse(FaultKind::Secret, place, (None, key), why);
        }
        let strategy = is_of_strategy.then(|| name.get_ref().to_string());
        let setting = |key| Setting { key, strategy, place, texts: vec![json.to_string()] };
        self.settings.extend(self.key(None, key).map(setting));
    }

    fn unknown(&mut self, table: Option<&'static str>, name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        let (place, given) = (self.place(name), name.get_ref().as_ref());
        if secret::is_secret(given) {
            let why = format!("`{given}`: {}", secret::instead(given));
            return self.refuse(FaultKind::Secret, place, (table, given), why);
        }
        let why = match value.get_ref() {
            DeValue::Table(_) if table.is_none() => {
                let tables: Vec<_> = keys::tables().chain([MANAGER_SETTINGS, CONFIGURE]).collect();
                format!("there is no table [{given}]{}", near(given, &tables))
            }
            _ => self.no_key(table, given),
        };
        self.refuse(FaultKind::Unknown, place, (table, given), why);
    }

    /// Error of an unknown key, with the proper place of a similar one.
    fn no_key(&self, table: Option<&'static str>, given: &str) -> String {
        let of = table.map_or_else(String::new, |table| format!(" in [{table}]"));
        let elsewhere: Vec<_> = self.keys.iter().filter(|key| key.name == given).map(|key| key.table).collect();
        if !elsewhere.is_empty() {
            let places = elsewhere.iter().map(|table| match table {
                Some(table) => format!("in [{table}]"),
                None => "at the top of the file, before the first table".to_owned(),
            });
            return format!("there is no key `{given}`{of}: it stands {}", places.collect::<Vec<_>>().join(", "));
        }
        let is_option = match table {
            None => option(self.command, given).is_some(),
            Some(table) => takers(self.command, table).any(|taker| option(taker, given).is_some()),
        };
        if is_option {
            return format!("`{given}`{of} is no key: what one call does is said by its flag --{given}");
        }
        let names: Vec<_> = self.keys.iter().filter(|key| key.table == table).map(|key| key.name).collect();
        format!("there is no key `{given}`{of}{}", near(given, &names))
    }
}

fn near(given: &str, names: &[&'static str]) -> String {
    match nearest(given, names, |name| name).first() {
        Some(near) => format!("; nearest: `{near}`"),
        None => format!("; there are {}", names.join(", ")),
    }
}

/// A value of the right type, as text.
fn taken(key: &Key, value: &DeValue<'_>) -> Result<String, String> {
    match (key.kind(), value) {
        (Kind::Switch, DeValue::Boolean(is_on)) => Ok(is_on.to_string()),
        (Kind::Whole | Kind::Number, DeValue::Integer(number)) => {
            let whole = i128::from_str_radix(number.as_str(), number.radix()).map_err(|_| TOO_LARGE)?;
            Ok(whole.to_string())
        }
        (Kind::Number, DeValue::Float(number)) => Ok(number.as_str().to_owned()),
        (Kind::Text | Kind::List, DeValue::String(text)) => Ok(text.clone().into_owned()),
        _ => Err(format!("expected {}, found {}", key.kind().as_str(), found(value))),
    }
}

const TOO_LARGE: &str = "the number is too large";

/// The kind of a value, with an article.
fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text in quotes",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A table as JSON, or what in it has no place there.
fn json<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Result<Value, (&'a Spanned<DeValue<'i>>, &'static str)> {
    let or_refuse = |number: Option<Number>, why| number.map(Value::Number).ok_or((value, why));
    match value.get_ref() {
        DeValue::String(text) => Ok(text.as_ref().into()),
        DeValue::Integer(number) => {
            let whole = i128::from_str_radix(number.as_str(), number.radix()).ok();
            or_refuse(whole.and_then(Number::from_i128), TOO_LARGE)
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            or_refuse(number, "settings take finite numbers only")
        }
        DeValue::Boolean(is_on) => Ok((*is_on).into()),
        DeValue::Datetime(_) => Err((value, "settings take no dates: write it as a text in quotes")),
        DeValue::Array(items) => items.iter().map(json).collect(),
        DeValue::Table(members) => {
            members.iter().map(|(name, value)| Ok((name.get_ref().to_string(), json(value)?))).collect()
        }
    }
}

/// A path in the file is relative to the file's directory, and `~/` is the user's home.
fn placed(value_name: &str, text: String, directory: &Path) -> String {
    let names: Vec<&str> = value_name.split('|').collect();
    if !names.iter().any(|name| matches!(*name, "DIR" | "FILE")) {
        return text;
    }
    if let Some(home) = text.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest))) {
        return home.to_str().map_or(text, str::to_owned);
    }
    let is_name = names.contains(&"NAME") && !text.starts_with('.');
    if text.is_empty() || is_name || text.contains("://") {
        return text;
    }
    // Without the `.` at its beginning it would look like a name, if the directory is relative.
    let joined = directory.join(text.strip_prefix(&format!(".{MAIN_SEPARATOR}")).unwrap_or(&text));
    joined.to_str().map_or(text, str::to_owned)
}

/// Has the option's own parser look at a text.
fn check(argument: &Arg, text: &str) -> Result<(), String> {
    let alone = Arg::new("value").long("value").require_equals(true).num_args(1);
    let alone = alone.value_parser(argument.get_value_parser().clone());
    let command = Command::new("value").no_binary_name(true).arg(alone);
    let Err(error) = command.try_get_matches_from([format!("--value={text}")]) else { return Ok(()) };
    if let (ErrorKind::InvalidValue, Some(ContextValue::Strings(possible))) =
        (error.kind(), error.get(ContextKind::ValidValue))
    {
        let near = nearest(text, possible, String::as_str);
        let near = near.first().map(|near| format!("; nearest: {near:?}")).unwrap_or_default();
        return Err(format!("{:?} is none of {}{near}", shown_text(text), possible.join(", ")));
    }
    match std::error::Error::source(&error) {
        Some(why) => Err(format!("{:?}: {}", shown_text(text), why.to_string().replace(text, &shown_text(text)))),
        None => Err(format!("{:?} is not taken", shown_text(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_file_and_names_stay() {
        let check = |name: &str, text: &str, expected: &str| {
            assert_eq!(placed(name, text.to_owned(), Path::new("/etc/memory")), expected, "{name}: {text}");
        };
        check("DIR|URL", "trips", "/etc/memory/trips");
        check("DIR|URL", "/srv/trips", "/srv/trips");
        check("DIR|URL", "postgres://host/db", "postgres://host/db");
        check("NAME|DIR", "all-MiniLM-L6-v2", "all-MiniLM-L6-v2");
        check("NAME|DIR", "./model", "/etc/memory/model");
        check("NAME|DIR", "../model/fp32", "/etc/memory/../model/fp32");
        check("NAME", "~/x", "~/x");
        let home = std::env::home_dir().unwrap().join("trips");
        check("DIR", "~/trips", home.to_str().unwrap());
    }
}
