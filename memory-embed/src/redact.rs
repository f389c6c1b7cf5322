//! Takes keys out of text: the one place that does.

use std::{
    borrow::Cow,
    env, iter,
    ops::Range,
    sync::{LazyLock, PoisonError, RwLock},
};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use regex::{Captures, Regex};

/// What stands in the place of a key.
const REDACTED: &str = "[redacted]";

/// Bytes of a key that is looked for everywhere. A shorter one, as local servers take, may be a part of any word, and is
/// looked for behind the word `Bearer` alone.
const LEAST: usize = 8;

/// Keys that are kept, the newest.
const MOST: usize = 1024;

/// The environment variables that hold keys of the services asked here.
const VARIABLES: [&str; 8] = [
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SECURITY_TOKEN",
    "AWS_SESSION_TOKEN",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "OPENAI_API_KEY",
];

/// The environment variables that hold addresses, of which the passwords are keys.
const ADDRESSES: [&str; 10] = [
    "ALL_PROXY",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "HF_ENDPOINT",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "OPENAI_BASE_URL",
    "all_proxy",
    "https_proxy",
    "http_proxy",
];

/// The keys that this process has met.
static KNOWN: LazyLock<RwLock<Vec<Secret>>> = LazyLock::new(|| {
    let mut known = Vec::new();
    for value in VARIABLES.iter().filter_map(|name| env::var(name).ok()) {
        add(&mut known, &value);
    }
    for value in ADDRESSES.iter().filter_map(|name| env::var(name).ok()) {
        add_credentials_of(&mut known, &value);
    }
    RwLock::new(known)
});

/// What a key looks like, whoever's it is: where an address has a password or a parameter for one, and where a header
/// for one is repeated.
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

/// A text without keys: without those that [`keep_secret`] was told of, in plain, percent-encoded, escaped as in JSON or
/// HTML, in base64 and in hexadecimal digits, and without what looks like one, as a password in an address does.
///
/// Whatever an embedder here says of a failure has been through this. A program that logs what other libraries say, the
/// AWS SDK for one, has their lines go through it too.
///
/// ```
/// assert_eq!(memory_embed::redacted("see https://me:hunter2@example.org/v1"), "see https://[redacted]@example.org/v1");
/// ```
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
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

/// Has [`redacted`] take out `secret` from now on. Those in environment variables, of options and of the AWS SDK's chain are
/// known without it.
pub fn keep_secret(secret: &str) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    add(&mut known, secret);
}

/// Has [`redacted`] take out user and password of an address, which a client sends as a header.
#[cfg(any(feature = "hub", feature = "remote"))]
pub(crate) fn keep_secret_of_address(address: &str) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    add_credentials_of(&mut known, address);
}

fn add(known: &mut Vec<Secret>, secret: &str) {
    let secret = secret.trim();
    if !secret.is_empty() && known.iter().all(|other| other.plain != secret) {
        // Tokens of sessions come and go as long as a process lives.
        if known.len() >= MOST {
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
        // A short one is known by its place in an address alone.
        if part.len() >= LEAST {
            add(known, part);
            add(known, &decoded(part));
        }
    }
    if !user.is_empty() {
        // As in the header.
        add(known, &format!("{}:{}", decoded(user), decoded(password)));
    }
}

/// Percent-encoding undone.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        match (first, after) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                bytes.push(digit(*high) << 4 | digit(*low));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        _ => (hex | 0x20).saturating_sub(b'a') + 10,
    }
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
    // A word of a sentence, as in "basic authentication".
    if found.name("key").is_some_and(|key| !key.as_str().bytes().any(|byte| byte.is_ascii_digit())) {
        return found.get(0).map_or_else(String::new, |all| all.as_str().to_owned());
    }
    format!("{}{REDACTED}{}", part("before"), part("after"))
}

/// A key, and how it looks in other clothes.
struct Secret {
    plain: String,
    /// What is left of it in base64, whatever stands before and after it.
    base64: Vec<String>,
    /// Its bytes in hexadecimal digits.
    hex: String,
}

impl Secret {
    fn new(plain: &str) -> Self {
        let mut base64 = Vec::new();
        // A byte is spread over two of its digits, so that where the key begins makes three forms of it.
        for before in 0..3 {
            let bytes: Vec<u8> = iter::repeat_n(0, before).chain(plain.bytes()).collect();
            let digits = STANDARD_NO_PAD.encode(&bytes);
            let first = [0, 2, 3].get(before).copied().unwrap_or_default();
            let last = bytes.len() * 8 / 6;
            let inner = digits.get(first..last).unwrap_or_default().to_owned();
            base64.push(inner.replace('+', "-").replace('/', "_"));
            base64.push(inner);
        }
        base64.retain(|form| form.len() >= LEAST);
        base64.dedup();
        let hex = plain.bytes().map(|byte| format!("{byte:02x}")).collect();
        Self { plain: plain.to_owned(), base64, hex }
    }

    /// Where it stands in `text`, in any form.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let is_short = self.plain.len() < LEAST;
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
            // With its neighbours, which hold the rest of its bits.
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

/// Bytes of the beginning of `text` that say `secret`, each of its characters as it is or escaped in one of the ways that
/// addresses, JSON, Rust and HTML have.
fn escaped_prefix(text: &[u8], secret: &[u8]) -> Option<usize> {
    let mut at = 0;
    for (index, wanted) in secret.iter().enumerate() {
        let rest = text.get(at..)?;
        let is_literal = rest.first() == Some(wanted);
        match escape_of(*wanted, rest) {
            Some(length) if is_literal => {
                // As in `&amp;` for `&`: what follows tells which of the two it is.
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

/// Bytes of the beginning of `text` that are an escape for `wanted`.
fn escape_of(wanted: u8, text: &[u8]) -> Option<usize> {
    let hex = |digits: &[u8]| {
        digits.iter().all(u8::is_ascii_hexdigit)
            && digits.iter().fold(0_u32, |number, hex| number << 4 | u32::from(digit(*hex))) == u32::from(wanted)
    };
    match text {
        [b'%', b'2', b'5', high, low, ..] if hex(&[*high, *low]) => Some(5),
        [b'%', high, low, ..] if hex(&[*high, *low]) => Some(3),
        [b'\\', ..] => {
            // What is quoted in a quotation has several of them.
            let slashes = text.iter().take(8).take_while(|byte| **byte == b'\\').count();
            match text.get(slashes..)? {
                [byte, ..] if *byte == wanted => Some(slashes + 1),
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
                    str::from_utf8(digits).is_ok_and(|digits| digits.parse() == Ok(u32::from(wanted)))
                }
                b"amp" => wanted == b'&',
                b"lt" => wanted == b'<',
                b"gt" => wanted == b'>',
                b"quot" => wanted == b'"',
                _ => false,
            };
            says.then_some(name.len() + 2)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
