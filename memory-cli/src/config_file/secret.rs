//! Secrets, which must not stand in a configuration file: keys, tokens and passwords.

use serde_json::Value;

/// True if a name is that of a secret, as `api-key` is and `max-tokens` is not.
pub(crate) fn is_secret(name: &str) -> bool {
    const LAST: &str = "token secret password passwd passphrase apikey credential credentials";
    const BEFORE_KEY: &str = "api access secret private bearer auth signing";
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(['-', '_', '.', ' ']).collect();
    match words.as_slice() {
        [.., before, "key"] => BEFORE_KEY.split(' ').any(|word| word == *before),
        [.., last] => LAST.split(' ').any(|word| word == *last),
        [] => false,
    }
}

/// Sentence that names the proper place of a secret.
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

/// The harmless part of a table that anybody's plugin may read: the names of its members, switches, and numbers that no
/// name calls a secret. A text may be anything.
pub(crate) fn hidden(value: &Value) -> Value {
    hidden_member("", value)
}

fn hidden_member(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), hidden_member(name, value))).collect()
        }
        Value::Array(items) => items.iter().map(|item| hidden_member(name, item)).collect(),
        Value::String(text) if !text.is_empty() => HIDDEN.into(),
        Value::Number(_) if may_name_a_secret(name) => HIDDEN.into(),
        other => other.clone(),
    }
}

/// A message about a table without the texts that stand in it.
pub(crate) fn without_texts(message: String, value: &Value) -> String {
    match value {
        Value::Object(members) => members.values().fold(message, without_texts),
        Value::Array(items) => items.iter().fold(message, without_texts),
        Value::String(text) if !text.is_empty() => {
            message.replace(&format!("{text:?}"), HIDDEN).replace(&format!("`{text}`"), HIDDEN)
        }
        _ => message,
    }
}

/// True if a word of the name is one that secrets are called, as in `pinCode`; wider than [`is_secret`], which refuses.
fn may_name_a_secret(name: &str) -> bool {
    const WORDS: &str = "key apikey auth authorization bearer pass password passwd passphrase passcode pw pwd pat pin \
                         cookie session signature secret token credential";
    let mut words = String::new();
    let mut before = None::<char>;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_some_and(char::is_lowercase)) {
            words.push(' ');
        }
        words.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
        before = Some(c);
    }
    words.split(' ').any(|word| WORDS.split(' ').any(|of_secrets| of_secrets == word))
}

/// The text of an option of our own without any likely secret: credentials and parameters of addresses, and keys by the
/// beginnings that services give them.
pub(crate) fn shown_text(text: &str) -> String {
    let text = memory_embed::redacted(text);
    if looks_like_a_key(&text) {
        return HIDDEN.to_owned();
    }
    let Some((address, parameters)) = text.split_once('?') else { return text.into_owned() };
    let parameters = parameters.split('&').map(|parameter| match parameter.split_once('=') {
        Some((_, value)) if value.bytes().all(|byte| byte.is_ascii_digit()) => parameter.to_owned(),
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    });
    format!("{address}?{}", parameters.collect::<Vec<_>>().join("&"))
}

/// True if a word of the text begins as keys of services do, or the text as a header with one.
pub(super) fn looks_like_a_key(text: &str) -> bool {
    const BEGINNINGS: &str = "sk- sk_ pk_ rk_ pat_ ghp_ gho_ ghs_ ghu_ github_pat_ glpat- xoxb- xoxp- hf_ AKIA";
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
    let lower = text.trim_start().to_ascii_lowercase();
    ["bearer ", "basic "].iter().any(|scheme| lower.starts_with(scheme))
        || words.any(|word| word.len() >= 8 && BEGINNINGS.split(' ').any(|beginning| word.starts_with(beginning)))
        || text.split('.').count() == 3 && text.starts_with("eyJ")
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
    fn of_a_table_only_what_is_harmless_is_shown() {
        let value = json!({"a": [{"api_key": "sk-1"}, {"max_tokens": 5}], "url": "https://u:pw@host/x", "token": ""});
        assert_eq!(within(&value), Some("api_key"));
        for name in [
            "key",
            "auth",
            "Authorization",
            "pass",
            "pw",
            "pwd",
            "pat",
            "cookie",
            "dsn",
            "url",
            "session",
            "signature",
            "my_key",
            "accessToken",
            "headers",
            "x",
            "note",
        ] {
            for nested in [json!({name: "SECRET"}), json!({name: ["SECRET"]}), json!([{"a": {name: {"b": "SECRET"}}}])]
            {
                let shown = hidden(&nested).to_string();
                assert!(!shown.contains("SECRET") && shown.contains(name), "{shown}");
            }
        }
        let numbers =
            json!({"pin": 4711, "pinCode": 4711, "PASS": [4711], "max_tokens": 5, "ratio": 0.5, "keywords": 3});
        let shown = hidden(&numbers).to_string();
        assert!(!shown.contains("4711"), "{shown}");
        assert_eq!(
            hidden(&json!({"max_tokens": 5, "ratio": 0.5, "keywords": 3, "on": true, "none": null, "": ""})),
            json!({"max_tokens": 5, "ratio": 0.5, "keywords": 3, "on": true, "none": null, "": ""})
        );
        assert_eq!(within(&json!({"token": "", "max_tokens": 5})), None);
    }

    #[test]
    fn texts_of_options_are_shown_unless_they_look_like_keys() {
        for text in [
            "Bearer abc",
            "basic dTpw",
            "sk-abcdefgh",
            "x sk-proj-abcdefgh",
            "ghp_0123456789abc",
            "hf_abcdefghij",
            "AKIA0123456789ABCD",
            "eyJhbGci.eyJzdWIi.c2ln",
            "https://sk-abcdefgh@host",
        ] {
            assert!(
                !shown_text(text).contains("abc") && !shown_text(text).contains("c2ln"),
                "{text}: {}",
                shown_text(text)
            );
        }
        assert_eq!(
            shown_text("openai:x@https://u:pw@host/v1?auth=SECRET&dimensions=2&raw"),
            "openai:x@https://[redacted]@host/v1?auth=[hidden]&dimensions=2&[hidden]"
        );
        for text in [
            "~/store",
            "all-MiniLM-L6-v2/int8",
            "openai:stub?dimensions=2",
            "eu-west-1",
            "127.0.0.1",
            "task-manager-notes",
        ] {
            assert_eq!(shown_text(text), text);
        }
    }
}
