//! Shapes that are found, and shapes that only look like them.

use proptest::prelude::*;

use super::*;

fn found(text: &str) -> Vec<(Sensitive, &str)> {
    Rules::default().find(text).into_iter().map(|finding| (finding.class, &text[finding.range])).collect()
}

/// End of the first and the last line of a private key.
const KEY: &str = "PRIVATE KEY-----";

/// Made up, in parts, so that no scanner of repositories takes them for real.
fn made(prefix: &str, length: usize) -> String {
    const LETTERS: &str = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xYz";
    prefix.to_owned() + &LETTERS.chars().cycle().take(length).collect::<String>()
}

#[test]
fn every_rule_compiles() {
    assert_eq!(COMPILED.rules.len(), RULES.len() + NUMBERS.len());
    assert!(COMPILED.words.is_some());
}

#[test]
fn keys_of_services_are_found_within_sentences() {
    let keys = [
        made("AKIA", 0) + "IOSFODNN7EXAMPLE",
        made("sk-ant-api03-", 93),
        made("sk-proj-", 48),
        made("sk-", 48),
        made("ghp_", 36),
        made("github_pat_", 82),
        made("glpat-", 20),
        made("xoxb-", 40),
        made("AIza", 35),
        made("sk_live_", 24),
        made("npm_", 36),
        made("hf_", 34),
        made("gsk_", 52),
        made("ATATT3", 60),
        made("hvs.", 30),
        format!("S{}", "K3f1a9c4b7e2d8065f3a1c9b4e7d2f806"),
        format!("{}.{}", made("SG.", 22), made("", 43)),
        format!("{}.{}.{}", made("eyJ", 20), made("eyJ", 40), made("", 43)),
    ];
    for key in &keys {
        for text in [
            format!("the key is {key}, keep it"),
            format!("KEY=\"{key}\""),
            format!("{{\"k\":\"{key}\"}}"),
            key.clone(),
        ] {
            assert_eq!(found(&text), [(Sensitive::ServiceKey, key.as_str())], "{text}");
        }
    }
    let secret = made("", 44);
    let token = format!("123456789:AA{}", made("", 33));
    for (text, value) in [
        (format!("https://api.telegram.org/bot{token}/getMe"), &token),
        (format!("https://x.blob.core.windows.net/a?sp=r&sig={secret}"), &secret),
        (format!("curl -s -u admin:{secret} https://example.com"), &secret),
    ] {
        assert_eq!(found(&text), [(Sensitive::ServiceKey, value.as_str())], "{text}");
    }
    let named =
        ["api_key = q8Zr4tLm2Xw9Vb7N", "DB_PASSWORD=hunter2Hunter9x!", "\"authToken\": \"9f8e7d6c5b4a39281706\""];
    for text in named {
        let found = found(text);
        assert!(
            matches!(found[..], [(Sensitive::ServiceKey, value)] if text.contains(value) && !value.contains('=')),
            "{text}: {found:?}"
        );
    }
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    assert_eq!(found(&format!("aws_secret_access_key = {secret}")), [(Sensitive::ServiceKey, secret)]);
}

#[test]
fn private_keys_are_found_whole_and_cut() {
    let body = made("", 64);
    let whole = format!("-----BEGIN OPENSSH {KEY}\n{body}\n{body}\n-----END OPENSSH {KEY}");
    assert_eq!(found(&format!("see:\n{whole}\nthanks")), [(Sensitive::PrivateKey, whole.as_str())]);
    let cut = format!("-----BEGIN RSA {KEY}\n{body}\n{body}");
    assert_eq!(found(&cut), [(Sensitive::PrivateKey, cut.as_str())]);
    let escaped = format!("-----BEGIN {KEY}\\n{body}\\n-----END {KEY}");
    assert_eq!(found(&escaped), [(Sensitive::PrivateKey, escaped.as_str())]);
    assert!(found("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----").is_empty());
}

#[test]
fn personal_data_is_found() {
    let check = |text: &str, expected: &[(Sensitive, &str)]| assert_eq!(found(text), expected, "{text}");
    check("Mail anna.lind@example.co.uk today.", &[(Sensitive::Email, "anna.lind@example.co.uk")]);
    check("Schreib an jörg@büro.example!", &[(Sensitive::Email, "jörg@büro.example")]);
    check("Card 4111 1111 1111 1111, exp 12/29", &[(Sensitive::Card, "4111 1111 1111 1111")]);
    check("IBAN DE89 3704 0044 0532 0130 00.", &[(Sensitive::Iban, "DE89 3704 0044 0532 0130 00")]);
    check(
        "Call +49 30 901820 or +1 (212) 555-0123",
        &[(Sensitive::Phone, "+49 30 901820"), (Sensitive::Phone, "+1 (212) 555-0123")],
    );
    check("Call (212) 555-0123.", &[(Sensitive::Phone, "(212) 555-0123")]);
    check("Tel. 030 / 90182000", &[(Sensitive::Phone, "030 / 90182000")]);
    check("psql postgres://app:s3cretPw@db/x", &[(Sensitive::UrlCredentials, "s3cretPw")]);
    check("postgres://app:s3cretPw@db.example.com:5432/x", &[(Sensitive::UrlCredentials, "s3cretPw")]);
}

#[test]
fn nothing_is_found_in_what_only_looks_like_it() {
    for text in [
        "The token is expired, please log in again.",
        "password: ${DB_PASSWORD}",
        "api_key = os.environ[\"API_KEY\"]",
        "let token = parser.next_token();",
        "secret: <your secret here>",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-learn and sk-something-with-words",
        "Order 1234567890123456 arrived.",
        "On 2026-11-29 10:30:00 we measured 1,234,567,890 rows.",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "uuid 550e8400-e29b-41d4-a716-446655440000",
        "10.0.0.1:8080 and 192.168.100.200",
        "@anna said hi, see foo@bar",
        "https://example.org/a:b@c",
        "postgres://app:$PASSWORD@db/x",
        "AKIA is a prefix",
        "version 00.12.2024 and 0 12 34",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}

#[test]
fn overlapping_findings_are_one_of_the_graver_class() {
    let key = made("sk_live_", 24);
    assert_eq!(found(&format!("api_key={key}")), [(Sensitive::ServiceKey, key.as_str())]);
}

#[test]
fn equal_values_have_equal_placeholders_under_one_key() {
    let text = "Mail anna@example.org, then bob@example.org, then anna@example.org.";
    let masked = |rules: Rules| (&rules as &dyn Detector).masked(text, &|_| true).unwrap();
    assert_eq!(masked(Rules::default()), "Mail [email], then [email], then [email].");
    let with_key = masked(Rules::with_key([7; 32]));
    let numbers: Vec<&str> = with_key.split("[email ").skip(1).map(|rest| &rest[..8]).collect();
    assert!(numbers.len() == 3 && numbers[0] == numbers[2] && numbers[0] != numbers[1], "{with_key}");
    assert_ne!(with_key, masked(Rules::with_key([8; 32])));
    assert_eq!((&Rules::default() as &dyn Detector).masked(text, &|class| class == Sensitive::Card), None);
}

proptest! {
    #[test]
    fn findings_are_in_order_and_on_boundaries(text in "(.|\n|sk-|@|\\+49 30 |AKIA|4111 1111 |://a:b@|-----BEGIN ){0,40}") {
        let mut end = 0;
        for finding in Rules::default().find(&text) {
            prop_assert!(finding.range.start >= end && text.get(finding.range.clone()).is_some_and(|value| !value.is_empty()));
            end = finding.range.end;
        }
    }
}
