//! Removes keys from text.

use std::{
    borrow::Cow,
    env, iter,
    ops::Range,
    sync::{LazyLock, PoisonError, RwLock},
};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;
use regex::{Captures, Regex};

/// The replacement of a key.
const REDACTED: &str = "[redacted]";

/// Minimum bytes of a key that is searched for everywhere. A shorter key, as local servers accept, may be part of any
/// word, and is only searched for after the word `Bearer`.
const MIN_LENGTH: usize = 8;

/// Maximum remembered keys; the oldest is dropped first.
const MAX_SECRETS: usize = 1024;

/// Environment variables with keys of the services that this crate calls.
#[rustfmt::skip]
const VARIABLES: [&str; 9] = [
    "ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN",
    "AWS_SESSION_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY",
];

/// Environment variables with addresses, whose passwords are keys.
#[rustfmt::skip]
const ADDRESSES: [&str; 11] = [
    "ALL_PROXY", "ANTHROPIC_BASE_URL", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "HF_ENDPOINT", "HTTPS_PROXY", "HTTP_PROXY",
    "OPENAI_BASE_URL", "all_proxy", "https_proxy", "http_proxy",
];

/// The keys that this process knows.
static SECRETS: LazyLock<RwLock<Vec<Secret>>> = LazyLock::new(|| {
    let mut known = Vec::new();
    for value in VARIABLES.iter().filter_map(|name| env::var(name).ok()) {
        add(&mut known, &value);
    }
    for value in ADDRESSES.iter().filter_map(|name| env::var(name).ok()) {
        add_credentials_of(&mut known, &value);
    }
    RwLock::new(known)
});

/// Patterns of unknown keys: passwords and key parameters of addresses, and quoted authorization headers.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"(?P<before>[A-Za-z][A-Za-z0-9+.-]*:\\?/\\?/)[^\s/?\#"'<>]*(?P<after>@)"#,
        r#"(?xi)(?P<before>[?&;](?:key|api[-_]?key|access[-_]?key|(?:access|auth|session|security|x-amz-security)[-_]?token
            |token|sig|signature|x-amz-signature|pass|password|passwd|pwd|secret|client[-_]?secret)=)
            [^\s&;\#"'<>)\]]+"#,
        r"(?i)(?P<before>\bsignature=)[0-9a-f]{32,}",
        r#"(?i)(?P<before>\b(?:bearer|basic|token)(?:\s|%20|\+)+)(?P<key>[A-Za-z0-9._~+/=:%-]{16,})"#,
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// Removes keys from a text: those registered with [`keep_secret`], in plain, percent-encoded, escaped as in JSON or
/// HTML, in base64 and in hexadecimal, and text that looks like a key, such as a password in an address.
///
/// The errors of this workspace's embedders and chat models are redacted. A program that logs the output of other libraries, such as the
/// AWS SDK, should redact their lines too.
///
/// ```
/// assert_eq!(memory_remote::redacted("see https://me:hunter2@example.org/v1"), "see https://[redacted]@example.org/v1");
/// ```
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    let known = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    let mut places: Vec<Range<usize>> = known.iter().flat_map(|secret| secret.places(text)).collect();
    drop(known);
    places.sort_by_key(|place| place.start);
    let mut shown = Cow::Borrowed(text);
    if !places.is_empty() {
        shown = Cow::Owned(without(text, &places));
    }
    for pattern in PATTERNS.iter() {
        if let Cow::Owned(replaced) = pattern.replace_all(&shown, replacement) {
            shown = Cow::Owned(replaced);
        }
    }
    shown
}

/// Registers a key to be removed by [`redacted`]. Keys in known environment variables, in options and of the AWS SDK's
/// chain are registered automatically.
pub fn keep_secret(secret: &str) {
    let mut known = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    add(&mut known, secret);
}

/// Registers user and password of an address, which clients send as a header.
pub fn keep_secret_of_address(address: &str) {
    let mut known = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    add_credentials_of(&mut known, address);
}

fn add(known: &mut Vec<Secret>, secret: &str) {
    let secret = secret.trim();
    if !secret.is_empty() && known.iter().all(|other| other.plain != secret) {
        // Limited, because session tokens are renewed as long as a process lives.
        if known.len() >= MAX_SECRETS {
            known.remove(0);
        }
        known.push(Secret::new(secret));
    }
}

fn add_credentials_of(known: &mut Vec<Secret>, address: &str) {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let Some((credentials, _)) = rest.rsplit_once('@') else { return };
    let (user, password) = credentials.split_once(':').unwrap_or(("", credentials));
    for part in [credentials, password] {
        // A short key is recognized only by its position in an address.
        if part.len() >= MIN_LENGTH {
            add(known, part);
            add(known, &decoded(part));
        }
    }
    if !user.is_empty() {
        // Form in the header of basic authentication.
        add(known, &format!("{}:{}", decoded(user), decoded(password)));
    }
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

fn without(text: &str, places: &[Range<usize>]) -> String {
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for place in places {
        if place.start >= end {
            shown.push_str(text.get(end..place.start).unwrap_or_default());
            shown.push_str(REDACTED);
        }
        end = end.max(place.end);
    }
    shown.push_str(text.get(end..).unwrap_or_default());
    shown
}

fn replacement(found: &Captures<'_>) -> String {
    let part = |name| found.name(name).map_or("", |part| part.as_str());
    // A word without digits is not a key, as in "basic authentication".
    if found.name("key").is_some_and(|key| !key.as_str().bytes().any(|byte| byte.is_ascii_digit())) {
        return found.get(0).map_or_else(String::new, |all| all.as_str().to_owned());
    }
    format!("{}{REDACTED}{}", part("before"), part("after"))
}

/// A key and its encodings.
struct Secret {
    plain: String,
    /// Base64 digits that do not depend on the bytes before and after the key.
    base64: Vec<String>,
    /// Its bytes in hexadecimal digits.
    hex: String,
}

impl Secret {
    fn new(plain: &str) -> Self {
        let mut base64 = Vec::new();
        // Base64 encodes three bytes at a time, so the offset of the key gives three forms.
        for before in 0..3 {
            let bytes: Vec<u8> = iter::repeat_n(0, before).chain(plain.bytes()).collect();
            let digits = STANDARD_NO_PAD.encode(&bytes);
            let first = [0, 2, 3].get(before).copied().unwrap_or_default();
            let last = bytes.len() * 8 / 6;
            let inner = digits.get(first..last).unwrap_or_default().to_owned();
            base64.push(inner.replace('+', "-").replace('/', "_"));
            base64.push(inner);
        }
        base64.retain(|form| form.len() >= MIN_LENGTH);
        base64.dedup();
        let hex = plain.bytes().map(|byte| format!("{byte:02x}")).collect();
        Self { plain: plain.to_owned(), base64, hex }
    }

    /// Occurrences in `text`, in any form.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let is_short = self.plain.len() < MIN_LENGTH;
        let mut places = Vec::new();
        for (at, _) in text.char_indices() {
            let (before, rest) = text.split_at(at);
            if is_short && !is_after_bearer(before) {
                continue;
            }
            if let Some(length) = escaped_prefix(rest.as_bytes(), self.plain.as_bytes())
                && text.is_char_boundary(at + length)
            {
                places.push(at..at + length);
            }
        }
        if is_short {
            return places;
        }
        let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
        for form in &self.base64 {
            // The neighbouring digits hold the rest of its bits.
            places.extend(text.match_indices(form).map(|(at, _)| {
                let (before, rest) = text.split_at(at);
                let start = before.trim_end_matches(is_digit).len();
                start..text.len() - rest.trim_start_matches(is_digit).len()
            }));
        }
        let lower = text.to_ascii_lowercase();
        places.extend(lower.match_indices(&self.hex).map(|(at, hex)| at..at + hex.len()));
        places
    }
}

fn is_after_bearer(before: &str) -> bool {
    let word = before.trim_end_matches([' ', '+']);
    let word = word.strip_suffix("%20").unwrap_or(word);
    word.len() < before.len()
        && word
            .len()
            .checked_sub(6)
            .and_then(|at| word.get(at..))
            .is_some_and(|word| word.eq_ignore_ascii_case("bearer"))
}

/// Length of the prefix of `text` that is `secret`, each of its bytes plain or escaped as in addresses, JSON, Rust or
/// HTML.
fn escaped_prefix(text: &[u8], secret: &[u8]) -> Option<usize> {
    let mut at = 0;
    for (index, plain) in secret.iter().enumerate() {
        let rest = text.get(at..)?;
        let is_literal = rest.first() == Some(plain);
        match escape_of(*plain, rest) {
            Some(length) if is_literal => {
                // An `&` may begin `&amp;` or stand for itself; the rest of the text decides.
                let after = |length| Some(at + length + escaped_prefix(rest.get(length..)?, secret.get(index + 1..)?)?);
                return after(length).or_else(|| after(1));
            }
            Some(length) => at += length,
            None if is_literal => at += 1,
            None => return None,
        }
    }
    Some(at)
}

/// Length of the prefix of `text` that is an escape of the byte `plain`.
fn escape_of(plain: u8, text: &[u8]) -> Option<usize> {
    let hex = |digits: &[u8]| {
        let digits = str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        digits.is_some_and(|digits| u32::from_str_radix(digits, 16) == Ok(u32::from(plain)))
    };
    match text {
        [b'%', b'2', b'5', high, low, ..] if hex(&[*high, *low]) => Some(5),
        [b'%', high, low, ..] if hex(&[*high, *low]) => Some(3),
        [b'\\', ..] => {
            // Nested quoting repeats the backslashes.
            let slashes = text.iter().take(8).take_while(|byte| **byte == b'\\').count();
            match text.get(slashes..)? {
                [byte, ..] if *byte == plain => Some(slashes + 1),
                [b'u', digits @ ..] if digits.get(..4).is_some_and(hex) => Some(slashes + 5),
                [b'x', digits @ ..] if digits.get(..2).is_some_and(hex) => Some(slashes + 3),
                _ => None,
            }
        }
        [b'&', rest @ ..] => {
            let name = rest.get(..rest.iter().take(8).position(|byte| *byte == b';')?)?;
            let says = match name {
                [b'#', b'x' | b'X', digits @ ..] => hex(digits),
                [b'#', digits @ ..] => {
                    str::from_utf8(digits).is_ok_and(|digits| digits.parse() == Ok(u32::from(plain)))
                }
                b"amp" => plain == b'&',
                b"lt" => plain == b'<',
                b"gt" => plain == b'>',
                b"quot" => plain == b'"',
                _ => false,
            };
            says.then_some(name.len() + 2)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
