//! Configurations of strategies that take one.

use serde::de::DeserializeOwned;

/// Why a strategy cannot be made from a configuration.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidConfiguration(pub(crate) String);

/// Reads a configuration; an empty text is an empty object.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, InvalidConfiguration> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    serde_json::from_str(json).map_err(|error| InvalidConfiguration(error.to_string()))
}
