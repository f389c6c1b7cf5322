//! Parsing of strategy configurations.

use serde::de::DeserializeOwned;

/// A configuration that a strategy rejects.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidConfiguration(pub(crate) String);

/// Parses a configuration; an empty text is an empty object.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, InvalidConfiguration> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    serde_json::from_str(json).map_err(|error| InvalidConfiguration(error.to_string()))
}
