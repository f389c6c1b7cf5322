//! Reads what stands in a configuration file: settings that hold, and everything that is wrong.

use std::path::Path;

use clap::Command;
use memory_core::nearest;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use super::{
    Setting,
    fault::{Fault, FaultKind, Place},
    keys::{self, CONFIGURE, Key, MANAGER_SETTINGS, option, takers},
    secret,
    value::{self, Text},
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
    let mut reader = Reader {
        text: Text(text),
        directory,
        command,
        keys: keys::keys(command),
        is_read_by_others,
        settings: Vec::new(),
        faults: Vec::new(),
    };
    for error in errors {
        let place = error.span().map(|span| Place::of(text, &span));
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
    text: Text<'a>,
    directory: &'a Path,
    command: &'a Command,
    keys: Vec<Key>,
    is_read_by_others: bool,
    settings: Vec<Setting>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn top(&mut self, entry: Entry<'_, '_>) {
        let (name, value) = (entry.0.get_ref().as_ref(), entry.1);
        if name == CONFIGURE {
            match value.get_ref() {
                DeValue::Table(strategies) => {
                    strategies.iter().for_each(|entry| self.table(CONFIGURE, true, entry));
                }
                _ => self.no_table(CONFIGURE, value),
            }
        } else if name == MANAGER_SETTINGS {
            self.table(MANAGER_SETTINGS, false, entry);
        } else if let Some(table) = keys::tables().find(|table| *table == name) {
            match value.get_ref() {
                // This build may lack the command.
                DeValue::Table(_) if self.command.find_subcommand(table).is_none() => {}
                DeValue::Table(members) => members.iter().for_each(|entry| self.option(Some(table), entry)),
                _ => self.no_table(table, value),
            }
        } else {
            self.option(None, entry);
        }
    }

    fn no_table(&mut self, name: &str, value: &Spanned<DeValue<'_>>) {
        let why = "expected a table";
        self.faults.push(Fault::new(FaultKind::Value, Some(self.text.place(value)), why).at(None, name));
    }

    fn option(&mut self, table: Option<&'static str>, (name, value): Entry<'_, '_>) {
        let found = self.keys.iter().find(|key| key.table == table && key.name == name.get_ref()).cloned();
        let Some(key) = found else { return self.unknown(table, name, value) };
        let texts = match value::texts(&key, value, self.text, self.directory) {
            Ok(texts) => texts,
            Err(faults) => return self.faults.extend(faults.into_iter().map(|fault| fault.at(table, key.name))),
        };
        if texts.iter().any(|text| memory_embed::redacted(text) != *text || secret::looks_like_a_key(text)) {
            let why = format!("the value of {} holds a secret, which does not belong in this file", key.shown());
            let why = match key.variable() {
                Some(variable) => format!("{why}: set {variable} in the environment"),
                None => why,
            };
            let place = Some(self.text.place(value));
            return self.faults.push(Fault::new(FaultKind::Secret, place, why).at(table, key.name));
        }
        let place = self.text.place(name);
        self.settings.push(Setting { table, name: key.name, strategy: None, place, texts, value: None });
    }

    /// A table of settings that goes to the manager, or to the strategy of its name, as JSON.
    fn table(&mut self, key: &'static str, is_of_strategy: bool, (name, value): Entry<'_, '_>) {
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            return self.no_table(name.get_ref(), value);
        }
        let place = self.text.place(name);
        let json = match value::json(value, self.text) {
            Ok(json) => json,
            Err(faults) => return self.faults.extend(faults.into_iter().map(|fault| fault.at(None, key))),
        };
        if self.is_read_by_others
            && let Some(secret) = secret::within(&json)
        {
            let why = format!("`{secret}` is a secret, and others can read this file: `chmod 600` it");
            return self.faults.push(Fault::new(FaultKind::Secret, Some(place), why).at(None, key));
        }
        let strategy = is_of_strategy.then(|| name.get_ref().to_string());
        let texts = vec![json.to_string()];
        self.settings.push(Setting { table: None, name: key, strategy, place, texts, value: Some(json) });
    }

    fn unknown(&mut self, table: Option<&'static str>, name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        let (place, given) = (Some(self.text.place(name)), name.get_ref().as_ref());
        if secret::is_secret(given) {
            let why = format!("`{given}`: {}", secret::instead(given));
            return self.faults.push(Fault::new(FaultKind::Secret, place, why).at(table, given));
        }
        let why = match value.get_ref() {
            DeValue::Table(_) if table.is_none() => {
                let tables: Vec<_> = keys::tables().chain([MANAGER_SETTINGS, CONFIGURE]).collect();
                format!("there is no table [{given}]{}", near(given, &tables))
            }
            _ => self.no_key(table, given),
        };
        self.faults.push(Fault::new(FaultKind::Unknown, place, why).at(table, given));
    }

    /// Why there is no such key, and where to look.
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
