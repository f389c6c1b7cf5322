//! JSON: a value kept as its original text, and the two shapes of a message.

pub(crate) mod message;
mod strands;

use std::{fmt, sync::Arc};

pub use message::{
    InvalidMessage, OtherMembers, message_from_json, message_from_raw_json, message_to_json, message_to_raw_json,
    message_with_members,
};
pub use strands::{message_from_strands, message_to_strands};

use crate::text::without_half_surrogates;

/// Valid JSON, byte for byte as it was given.
///
/// Tool inputs, unknown content blocks and metadata are kept as text, so that key order, number spelling and white
/// space survive, and so that codecs that are not self-describing can carry them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json(Arc<str>);

/// A text that is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("not JSON")]
pub struct InvalidJson(#[source] serde_json::Error);

impl Json {
    /// Checks `text`.
    ///
    /// # Errors
    /// When it is not exactly one JSON value.
    pub fn new(text: &str) -> Result<Self, InvalidJson> {
        serde_json::from_str::<&serde_json::value::RawValue>(text)
            .map(|raw| Self(raw.get().into()))
            .map_err(InvalidJson)
    }

    /// The JSON string with the value `text`.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Self(serde_json::Value::from(text).to_string().into())
    }

    /// JSON of a parsed value, printed compactly.
    #[must_use]
    pub fn from_value(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parsed value; `null` for a number that no Rust number can hold, U+FFFD for half of a surrogate pair.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&without_half_surrogates(&self.0)).unwrap_or_default()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_spelling_and_order() {
        let text = r#"{"b": 1.0, "a":1e400,  "a": null}"#;
        assert_eq!(Json::new(text).unwrap().as_str(), text);
        assert!(Json::new("{").is_err());
        assert!(Json::new("1 2").is_err());
    }

    #[test]
    fn a_value_with_half_a_character_is_not_null() {
        let json = Json::new(r#"{"a": "x\ud83d"}"#).unwrap();
        assert_eq!(json.to_value(), serde_json::json!({"a": "x\u{fffd}"}));
    }
}
