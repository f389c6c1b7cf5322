//! What must not stand in a configuration file: keys, tokens and passwords.

use serde_json::Value;

/// Whether a name is that of a secret, as `api-key` is and `max-tokens` is not.
pub(crate) fn is_secret(name: &str) -> bool {
    const LAST: [&str; 8] =
        ["token", "secret", "password", "passwd", "passphrase", "apikey", "credential", "credentials"];
    const BEFORE_KEY: [&str; 7] = ["api", "access", "secret", "private", "bearer", "auth", "signing"];
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(['-', '_', '.', ' ']).collect();
    match words.as_slice() {
        [.., before, "key"] => BEFORE_KEY.contains(before),
        [.., last] => LAST.contains(last),
        [] => false,
    }
}

/// Where a secret of this name comes from instead.
pub(super) fn instead(name: &str) -> String {
    let name = name.to_lowercase();
    let from = if name.contains("mcp") || name == "token" {
        "of `memory mcp` is in MEMORY_MCP_TOKEN, or in a file of its own that `[mcp] token-file` names"
    } else if name.contains("aws") || name.contains("secret") || name.contains("access") {
        "of AWS is in AWS_BEARER_TOKEN_BEDROCK, AWS_SECRET_ACCESS_KEY or a profile"
    } else if name.contains("hf") || name.contains("hub") {
        "of the hub is in HF_TOKEN"
    } else {
        "of an OpenAI-style endpoint is in OPENAI_API_KEY"
    };
    format!("a secret does not belong in this file: one {from}, in the environment")
}

/// The name of a secret in a value, if it holds one.
pub(super) fn within(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let is_given = value.as_str().is_some_and(|text| !text.is_empty());
            if is_given && is_secret(name) { Some(name.as_str()) } else { within(value) }
        }),
        Value::Array(items) => items.iter().find_map(within),
        _ => None,
    }
}

/// The value without its secrets.
pub(crate) fn hidden(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let value = if is_secret(name) && value.is_string() { HIDDEN.into() } else { hidden(value) };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(hidden).collect(),
        Value::String(text) => memory_embed::redacted(text).into_owned().into(),
        other => other.clone(),
    }
}

/// Stands for a secret.
const HIDDEN: &str = "[hidden]";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_of_counts() {
        for name in
            ["api-key", "API_KEY", "openai_api_key", "token", "mcp-token", "db.password", "aws-secret-access-key"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["max-tokens", "token-file", "tokens", "key", "cache-key", "keywords", "", "budget"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_value_is_shown_without_its_secrets() {
        let value = json!({"a": [{"api_key": "sk-1"}, {"max_tokens": 5}], "url": "https://u:pw@host/x", "token": ""});
        assert_eq!(within(&value), Some("api_key"));
        let shown = hidden(&value).to_string();
        assert!(!shown.contains("sk-1") && !shown.contains("pw") && shown.contains("\"max_tokens\":5"), "{shown}");
        assert_eq!(within(&json!({"token": "", "max_tokens": 5})), None);
    }
}
