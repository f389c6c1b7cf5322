//! Values of the configuration file: as clap takes them, and as JSON.

use std::path::{MAIN_SEPARATOR, Path};

use clap::{
    Arg, Command,
    builder::ValueParser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use memory_core::nearest;
use serde_json::{Map, Value};
use toml::{Spanned, de::DeValue};

use super::{
    fault::{Fault, FaultKind, Place},
    keys::{Key, Kind},
    secret::shown_text,
};

/// The text of a file, for the places of what stands in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl Text<'_> {
    pub(super) fn place<T>(self, spanned: &Spanned<T>) -> Place {
        Place::of(self.0, &spanned.span())
    }

    fn fault(self, value: &Spanned<DeValue<'_>>, why: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Value, Some(self.place(value)), why)
    }
}

/// The texts that the option of a key takes for a value, one for each element of a list.
pub(super) fn texts(
    key: &Key,
    value: &Spanned<DeValue<'_>>,
    text: Text<'_>,
    directory: &Path,
) -> Result<Vec<String>, Vec<Fault>> {
    let kind = key.kind();
    let each: Vec<&Spanned<DeValue<'_>>> = match (kind, value.get_ref()) {
        (Kind::List, DeValue::Array(items)) => items.iter().collect(),
        _ => vec![value],
    };
    let (mut texts, mut faults) = (Vec::new(), Vec::new());
    for one in each {
        match taken(key, one.get_ref()) {
            Ok(taken) => {
                let taken = placed(key.value_name(), taken, directory);
                match check(&key.argument, &taken) {
                    Ok(()) => texts.push(taken),
                    Err(why) => faults.push(text.fault(one, why)),
                }
            }
            Err(why) => faults.push(text.fault(one, why)),
        }
    }
    if faults.is_empty() { Ok(texts) } else { Err(faults) }
}

/// A value of the right type, as text.
fn taken(key: &Key, value: &DeValue<'_>) -> Result<String, String> {
    let expected = || format!("expected {}, found {}", key.kind().as_str(), found(value));
    match (key.kind(), value) {
        (Kind::Switch, DeValue::Boolean(is_on)) => Ok(is_on.to_string()),
        (Kind::Whole | Kind::Number, DeValue::Integer(number)) => {
            let whole = i128::from_str_radix(number.as_str(), number.radix()).map_err(|_| "the number is too large")?;
            Ok(whole.to_string())
        }
        (Kind::Number, DeValue::Float(number)) => Ok(number.as_str().to_owned()),
        (Kind::Text | Kind::List, DeValue::String(text)) => Ok(text.clone().into_owned()),
        _ => Err(expected()),
    }
}

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
    let parser: ValueParser = argument.get_value_parser().clone();
    let alone = Arg::new("value").long("value").require_equals(true).num_args(1).value_parser(parser);
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

/// A table as JSON.
pub(super) fn json(value: &Spanned<DeValue<'_>>, text: Text<'_>) -> Result<Value, Vec<Fault>> {
    let one = |why: &str| vec![text.fault(value, why)];
    match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned().into()),
        DeValue::Integer(number) => {
            let (digits, radix) = (number.as_str(), number.radix());
            let signed = i64::from_str_radix(digits, radix).map(Value::from);
            signed
                .or_else(|_| u64::from_str_radix(digits, radix).map(Value::from))
                .map_err(|_| one("the number is too large"))
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map(Value::Number).ok_or_else(|| one("settings take finite numbers only"))
        }
        DeValue::Boolean(is_on) => Ok((*is_on).into()),
        DeValue::Datetime(_) => Err(one("settings take no dates: write it as a text in quotes")),
        DeValue::Array(items) => all(items.iter().map(|item| json(item, text))).map(Value::Array),
        DeValue::Table(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.get_ref().to_string(), json(value, text)?)));
            Ok(Value::Object(all(members)?.into_iter().collect::<Map<_, _>>()))
        }
    }
}

/// All of them, or the faults of all of them.
fn all<T>(each: impl Iterator<Item = Result<T, Vec<Fault>>>) -> Result<Vec<T>, Vec<Fault>> {
    let (mut good, mut faults) = (Vec::new(), Vec::new());
    for one in each {
        match one {
            Ok(one) => good.push(one),
            Err(more) => faults.extend(more),
        }
    }
    if faults.is_empty() { Ok(good) } else { Err(faults) }
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
