//! JSON from outside as raw text, either unchanged or quoted.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Json;

/// Quoted JSON, for JSON that cannot be part of a line unchanged.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quoted<T> {
    json_text: T,
}

/// The quoted text, if this is a quote.
pub(super) fn unquoted(text: &str) -> Option<String> {
    // A list would be read as an object without names.
    let quoted: Option<Quoted<String>> = if text.starts_with('{') { serde_json::from_str(text).ok() } else { None };
    quoted.map(|quoted| quoted.json_text)
}

/// True if JSON contains a line break.
pub(super) fn breaks_line(json: &Json) -> bool {
    json.as_str().contains(['\n', '\r'])
}

pub(super) fn write_quoted<S: Serializer>(json: &Json, serializer: S) -> Result<S::Ok, S::Error> {
    Quoted { json_text: json.as_str() }.serialize(serializer)
}

/// Writes JSON unchanged.
pub(super) fn write_raw<S: Serializer>(json: &Json, serializer: S) -> Result<S::Ok, S::Error> {
    let raw: &RawValue = serde_json::from_str(json.as_str()).map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}
