//! Names of values that are secret.

/// Words whose values are secret whatever they look like.
const SECRETS: [&str; 12] = [
    "password",
    "passwd",
    "passwort",
    "kennwort",
    "passphrase",
    "passcode",
    "pwd",
    "pw",
    "secret",
    "credential",
    "credentials",
    "authorization",
];
/// Words whose values are secret if they look drawn at random: a token may also be one of a text.
const RANDOM: [&str; 5] = ["token", "apikey", "auth", "cookie", "jwt"];
/// Words before "key" that make it a secret.
const OF_KEYS: [&str; 8] = ["api", "access", "secret", "private", "signing", "encryption", "shared", "account"];
/// Words whose numbers are secret.
const NUMBERS: [&str; 8] = ["pin", "otp", "cvv", "cvc", "cvv2", "tan", "password", "passcode"];

/// Least length of a secret, so that flags and counts are none.
const LEAST: usize = 4;

/// True if a member of this name has a secret text as its value.
pub(crate) fn is_of_secret(name: &str, value: &str) -> bool {
    let value = value.trim();
    let is_text = value.len() >= LEAST && !matches!(value, "true" | "false" | "null" | "none" | "None");
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let looks_random = || {
        let has = |test: fn(&char) -> bool| value.chars().any(|c| test(&c));
        value.len() >= 16 && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic) && !has(|c| c.is_whitespace())
    };
    // "password_hint" and "secret_name" name something else.
    let is_about = words.last().is_some_and(|last| ABOUT.contains(&last.as_str()));
    let is_key = || words.iter().any(|word| word == "key") && has(&OF_KEYS);
    is_text && !is_about && (has(&SECRETS) || (has(&RANDOM) || is_key()) && looks_random())
}

/// Last words of names whose values are about a secret.
const ABOUT: [&str; 12] =
    ["hint", "name", "id", "type", "length", "policy", "url", "uri", "file", "path", "expires", "count"];

/// True if a member of this name has a secret number as its value.
pub(crate) fn is_of_number(name: &str, value: &str) -> bool {
    let is_number = (3..=12).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number && words(name).last().is_some_and(|last| NUMBERS.contains(&last.as_str()))
}

/// Words of a name in lower case: `dbPassword`, `db_password` and `DB-PASSWORD` have the same.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut was_lower) = (vec![String::new()], false);
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_secret() {
        for (name, value) in [
            ("password", "hunter"),
            ("dbPassword", "correct horse"),
            ("DB_PASSWORD", "swordfish"),
            ("client-secret", "abcd"),
            ("authToken", "9f8e7d6c5b4a3928"),
            ("x-api-key", "q8Zr4tLm2Xw9Vb7N"),
        ] {
            assert!(is_of_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("password_hint", "the name of the dog"),
            ("max_tokens", "500"),
            ("next_token", "page two"),
            ("key", "arrow-left"),
            ("cache_key", "550e8400e29b41d4a716446655440000"),
            ("session", "550e8400e29b41d4a716446655440000"),
            ("author", "q8Zr4tLm2Xw9Vb7N"),
            ("monkey", "q8Zr4tLm2Xw9Vb7N"),
            ("is_secret", "true"),
        ] {
            assert!(!is_of_secret(name, value), "{name}");
        }
        assert!(is_of_number("pin", "4711") && is_of_number("cardCvc", "123") && is_of_number("otp", "123456"));
        assert!(!is_of_number("pinned", "4711") && !is_of_number("pin_length", "4711") && !is_of_number("pin", "ab"));
    }
}
