//! A service's key, redacted everywhere.

use std::{env, fmt};

use crate::redact::keep_secret;

/// Key of a service; never shown in logs, errors or ids of models.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key without surrounding blanks; `None` if it is empty.
    #[must_use]
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        if key.is_empty() {
            return None;
        }
        // Redacted from here on, even if a server repeats the key.
        keep_secret(key);
        Some(Self(key.to_owned()))
    }

    /// The key in environment variable `name`, if any.
    #[must_use]
    pub fn from_env(name: &str) -> Option<Self> {
        env::var(name).ok().and_then(|key| Self::new(&key))
    }

    /// The plain key, for requests.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_shown() {
        let key = ApiKey::new(" sk-very-secret\n").unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey(..)");
        assert_eq!(key.expose(), "sk-very-secret");
        assert_eq!(crate::redacted("is sk-very-secret right?"), "is [redacted] right?");
    }

    #[test]
    fn blanks_are_not_a_key() {
        assert_eq!(ApiKey::new(" \n"), None);
    }
}
