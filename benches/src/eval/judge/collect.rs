//! Collects one value for each name: a missing, doubled or unknown one is an error.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Result, bail};

/// The most names that an error lists, for each kind of fault.
const NAMED: usize = 20;

/// A value found under a name; `None` for an empty one.
pub(super) struct Found<T> {
    pub(super) name: String,
    pub(super) value: Option<T>,
    /// The file that holds it.
    pub(super) of: PathBuf,
}

/// Returns exactly one value for each of the wanted names.
///
/// # Errors
/// When that is not possible, with the names.
pub(super) fn collect<'a, T>(
    what: &str,
    wanted: impl Iterator<Item = &'a str>,
    found: Vec<Found<T>>,
) -> Result<BTreeMap<String, T>> {
    let wanted: BTreeSet<&str> = wanted.collect();
    let mut values = BTreeMap::new();
    let (mut doubled, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for Found { name, value, of } in found {
        if !wanted.contains(name.as_str()) {
            unknown.insert(format!("{name} in {}", of.display()));
        } else if values.contains_key(&name) {
            doubled.insert(name);
        } else {
            values.extend(value.map(|value| (name, value)));
        }
    }
    let missing = wanted.iter().filter(|name| !values.contains_key(**name)).map(|name| (*name).to_owned()).collect();
    let faults = [("no", "for", missing), ("more than one", "for", doubled), ("one", "for unknown names:", unknown)];
    let faults: Vec<String> = faults
        .into_iter()
        .filter(|(_, _, names)| !names.is_empty())
        .map(|(how, link, names)| format!("{how} {what} {link} {}", listed(&names)))
        .collect();
    if !faults.is_empty() {
        bail!("{}", faults.join("; "));
    }
    Ok(values)
}

fn listed(names: &BTreeSet<String>) -> String {
    let named: Vec<_> = names.iter().take(NAMED).map(String::as_str).collect();
    match names.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, value: Option<u8>) -> Found<u8> {
        Found { name: name.to_owned(), value, of: PathBuf::from("grades-01.jsonl") }
    }

    #[test]
    fn each_name_gets_one_value() {
        let values = collect("grade", ["a", "b"].into_iter(), vec![found("b", Some(2)), found("a", Some(1))]).unwrap();
        assert_eq!(values.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
    }

    #[test]
    fn missing_doubled_and_unknown_names_are_named() {
        let given = vec![found("a", Some(1)), found("a", Some(1)), found("x", Some(3)), found("b", None)];
        let error = collect("grade", ["a", "b", "c"].into_iter(), given).unwrap_err().to_string();
        assert_eq!(
            error,
            "no grade for b, c; more than one grade for a; one grade for unknown names: x in grades-01.jsonl"
        );
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (0..25).map(|n| format!("n{n:02}")).collect();
        let error = collect::<u8>("answer", names.iter().map(String::as_str), Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("no answer for n00, n01") && error.ends_with("n19 and 5 more"), "{error}");
    }
}
