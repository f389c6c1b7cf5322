//! Tests of redaction with keys in all their forms.

use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::*;

const KEY: &str = "sk-Zq/7+w=x\"y&z~A19";

#[track_caller]
fn check(text: &str, shown: &str) {
    assert_eq!(redacted(text), shown);
}

#[test]
fn each_pattern_is_one() {
    assert_eq!(PATTERNS.len(), 4);
}

#[test]
fn a_key_is_taken_out_in_every_form() {
    keep_secret(KEY);
    let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let twice = percent.replace('%', "%25");
    let json = serde_json::to_string(KEY).unwrap();
    let slashed = json.replace('/', "\\/");
    let unicode: String = KEY.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let html = KEY.replace('&', "&amp;").replace('"', "&quot;").replace('/', "&#x2F;").replace('=', "&#61;");
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
    let debug = format!("{KEY:?} {:?}", format!("{KEY:?}"));
    for form in [KEY.to_owned(), percent.clone(), twice, json, slashed, unicode, html, hex, debug] {
        let shown = redacted(&form);
        assert!(shown.contains(REDACTED) && !shown.contains("Zq") && !shown.contains("A19"), "{form}: {shown}");
    }
    // Half of it escaped.
    check(&format!("a {}b", KEY.replace('+', "%2b")), "a [redacted]b");
    for before in ["", "a", "ab", "abc", "Bearer ", "user:"] {
        for after in ["", "1", "12"] {
            let whole = format!("{before}{KEY}{after}");
            for digits in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                check(&format!("got <{digits}>"), "got <[redacted]>");
            }
        }
    }
}

#[test]
fn a_key_that_looks_escaped_is_taken_out() {
    keep_secret("100%25&amp;more");
    check("100%25&amp;more", "[redacted]");
}

#[test]
fn every_place_is_found_and_nothing_else() {
    keep_secret("first-key-1");
    keep_secret("first-key-1-and-more");
    check("first-key-1 ünd first-key-1-and-more!", "[redacted] ünd [redacted]!");
    check("no key", "no key");
}

#[test]
fn a_short_key_is_no_word_of_a_sentence() {
    keep_secret("x");
    keep_secret("ollama");
    check("x asks ollama, and is no bearer of ollama", "x asks ollama, and is no bearer of ollama");
    check("got `Bearer ollama`", "got `Bearer [redacted]`");
}

#[test]
fn passwords_of_addresses_are_taken_out() {
    check("http://me:pass@host/v1 and https://t0ken@host", "http://[redacted]@host/v1 and https://[redacted]@host");
    check("at https://host/v1?a=1&api_key=abc&b=2", "at https://host/v1?a=1&api_key=[redacted]&b=2");
    check("https://host/?X-Amz-Security-Token=abc#top", "https://host/?X-Amz-Security-Token=[redacted]#top");
    check("write to me@host, or see http://host/@me", "write to me@host, or see http://host/@me");
}

#[test]
fn passwords_of_addresses_that_are_asked_are_taken_out_everywhere() {
    keep_secret_of_address("http://me:p%40ssword@host:8080");
    check(&STANDARD.encode("me:p@ssword"), "[redacted]");
    check("p@ssword and p%40ssword", "[redacted] and [redacted]");
}

#[test]
fn the_headers_of_others_are_taken_out() {
    check("authorization: Bearer abcdefgh12345678", "authorization: Bearer [redacted]");
    check("Basic QWxhZGRpbjpvcGVuIHNlc2FtZTE=", "Basic [redacted]");
    let signature = "Credential=AKID/2026/bedrock/aws4_request, Signature=0123456789abcdef0123456789abcdef";
    check(signature, "Credential=AKID/2026/bedrock/aws4_request, Signature=[redacted]");
    check("the bearer authentication failed", "the bearer authentication failed");
}
