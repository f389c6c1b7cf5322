//! Rules for the shapes of keys and personal data.

use std::{fmt, ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;
use memory_core::port::{Detector, Finding, Sensitive};
use regex::Regex;

use crate::{
    check::{entropy, is_card, length_of_iban},
    names::{is_of_number, is_of_secret},
};

/// Least entropy of a key without a prefix of its own, in bits a character.
const LEAST_ENTROPY: f64 = 3.0;

/// Bytes of a placeholder's number: few enough to read, and enough that two values of one store hardly ever share one.
const NUMBER: usize = 4;

/// Built-in rules.
///
/// With a key, equal values have equal placeholders (`[email 5f2c01aa]`), so that a reader can follow who is meant;
/// without the key a placeholder cannot be compared with guesses.
#[derive(Clone, Default)]
pub struct Rules {
    key: Option<[u8; 32]>,
}

impl Rules {
    /// Rules with placeholders under a secret key of 32 bytes.
    #[must_use]
    pub const fn with_key(key: [u8; 32]) -> Self {
        Self { key: Some(key) }
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rules { .. }")
    }
}

/// The shape of one kind of value. The first group of the pattern is the value, or else the whole match.
struct Rule {
    class: Sensitive,
    /// Words, in any case, one of which must be in the text before the pattern is tried; none to try it always.
    words: &'static [&'static str],
    pattern: &'static str,
    /// Digits that a text must have in a row, separators aside, before the pattern is tried.
    digits: usize,
    /// Number of first bytes of a value that are the finding; `None` if it is none.
    accept: fn(&Value<'_>) -> Option<usize>,
}

/// A value that a pattern matches, and what is around it.
struct Value<'a> {
    before: &'a str,
    text: &'a str,
    after: &'a str,
}

impl Value<'_> {
    /// All of it, if it passes a test.
    fn when(&self, is_found: bool) -> Option<usize> {
        is_found.then_some(self.text.len())
    }
}

const fn key(words: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule { class: Sensitive::ServiceKey, words, pattern, digits: 0, accept: any }
}

#[expect(clippy::unnecessary_wraps, reason = "one of the tests of values")]
fn any(value: &Value<'_>) -> Option<usize> {
    Some(value.text.len())
}

/// Shapes as their issuers document them. Placeholders such as `sk-xxxxxxxx` have too little entropy.
const RULES: [Rule; 42] = [
    Rule {
        class: Sensitive::PrivateKey,
        words: &["private key"],
        pattern: r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        digits: 0,
        accept: any,
    },
    // A block whose end was cut off.
    Rule {
        class: Sensitive::PrivateKey,
        words: &["private key"],
        pattern: r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n|[A-Za-z0-9+/=:,.-]){40,}",
        digits: 0,
        accept: |value| value.when(!value.text.contains("-----END")),
    },
    Rule {
        class: Sensitive::PrivateKey,
        words: &["age-secret-key-1"],
        pattern: r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        digits: 0,
        accept: any,
    },
    key(&["akia", "asia", "abia", "acca", "a3t"], r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    Rule {
        class: Sensitive::ServiceKey,
        words: &["aws"],
        pattern: r#"(?i)aws[^\n]{0,20}?(?:secret|key)[^\n]{0,20}?["'\s:=]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        digits: 0,
        accept: random,
    },
    key(&["sk-ant-"], r"\bsk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{32,}"),
    Rule {
        class: Sensitive::ServiceKey,
        words: &["sk-"],
        pattern: r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}",
        digits: 0,
        accept: random,
    },
    key(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    key(&["github_pat_"], r"\bgithub_pat_[A-Za-z0-9_]{40,255}"),
    key(&["glpat-", "gldt-", "glrt-"], r"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}"),
    key(&["xox"], r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    key(&["xapp-"], r"\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{32,}"),
    key(&["hooks.slack.com"], r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9+/]{40,})"),
    key(&["aiza"], r"\bAIza[A-Za-z0-9_-]{35}"),
    key(&["ya29."], r"\bya29\.[A-Za-z0-9_-]{20,}"),
    key(&["gocspx-"], r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    key(&["k_live_", "k_test_"], r"\b[prs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    key(&["whsec_"], r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    key(&["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b"),
    key(&["pypi-"], r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    key(&["hf_"], r"\bhf_[A-Za-z0-9]{30,}\b"),
    key(&["gsk_"], r"\bgsk_[A-Za-z0-9]{40,}\b"),
    key(&["xai-"], r"\bxai-[A-Za-z0-9]{60,}\b"),
    key(&["sg."], r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}\b"),
    key(&["dop_v1_", "doo_v1_"], r"\bdo[op]_v1_[a-f0-9]{64}\b"),
    key(&["shpat_", "shpca_", "shppa_", "shpss_"], r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    key(&["dapi"], r"\bdapi[a-f0-9]{32}\b"),
    key(&["accountkey="], r"(?i)AccountKey=([A-Za-z0-9+/]{86}==)"),
    key(&["eyj"], r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    key(&["atatt3"], r"\bATATT3[A-Za-z0-9_=-]{50,}"),
    key(&["hvs."], r"\bhvs\.[A-Za-z0-9_-]{24,}"),
    // A key of Twilio, a signature of Azure in an address, and a password of a command line.
    Rule { class: Sensitive::ServiceKey, words: &["sk"], pattern: r"\bSK[0-9a-f]{32}\b", digits: 0, accept: random },
    key(&["sig="], r"[?&]sig=([A-Za-z0-9%+/_-]{40,})"),
    Rule {
        class: Sensitive::ServiceKey,
        words: &["curl"],
        pattern: r#"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]["']?[^\s:"']{1,64}:([^\s"']{4,128})"#,
        digits: 0,
        accept: |value| value.when(is_no_variable(value.text)),
    },
    // A bot of Telegram.
    Rule {
        class: Sensitive::ServiceKey,
        words: &[":aa"],
        pattern: r"(?:\b|\bbot)(\d{8,10}:AA[A-Za-z0-9_-]{33})\b",
        digits: 0,
        accept: random,
    },
    // Headers of requests, however they are quoted.
    Rule {
        class: Sensitive::ServiceKey,
        words: &["authorization"],
        pattern: r#"(?i)authorization["']?\s{0,3}[:=,]\s{0,3}["']?(?:bearer|basic|token|apikey|digest)\s{1,3}["']?([A-Za-z0-9._~+/=|-]{8,})"#,
        digits: 0,
        accept: header,
    },
    Rule {
        class: Sensitive::ServiceKey,
        words: &["bearer"],
        pattern: r"(?i)\bbearer\s{1,3}([A-Za-z0-9._~+/=|-]{20,})",
        digits: 0,
        accept: random,
    },
    // A password in a sentence: quoted, then without quotation marks.
    Rule {
        class: Sensitive::ServiceKey,
        words: PASSWORDS,
        pattern: r#"(?i)\b(?:pass(?:word|wd|phrase|code|wort)|kennwort|pwd?)["']?(?:\s{1,2}(?:for|of|to|on|at|für|von|zu|zum)\s[^\n.;:"'`]{1,40}?)?\s{0,3}(?:=|:|\bis(?:\snow)?\b|\bwas\b|\bset\sto\b|\blautet\b|\bist\b|\bto\b)\s{0,3}(?:now |set to |changed to )?[:=]?\s{0,2}["'`“„«]([^"'`”“»\n]{4,64})["'`”“»]"#,
        digits: 0,
        accept: quoted_password,
    },
    Rule {
        class: Sensitive::ServiceKey,
        words: PASSWORDS,
        pattern: r#"(?i)\b(?:pass(?:word|wd|phrase|code|wort)|kennwort|pwd?)["']?(?:\s{1,2}(?:for|of|to|on|at|für|von|zu|zum)\s[^\n.;:"'`]{1,40}?)?\s{0,3}(?:=|:|\bis(?:\snow)?\b|\bwas\b|\bset\sto\b|\blautet\b|\bist\b)\s{0,3}(?:now |set to |changed to )?[:=]?\s{0,2}([^\s"'`“„«,;<>(){}\[\]]{4,64})"#,
        digits: 0,
        accept: bare_password,
    },
    // A value under a name that says what it is.
    Rule {
        class: Sensitive::ServiceKey,
        words: &["key", "secret", "token", "passw", "pwd", "auth"],
        pattern: r#"(?i)\b[a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|secret(?:[_-]?key)?|auth[_-]?token|access[_-]?token|token|passw(?:or)?d|pwd|auth)["']?\s{0,3}(?:=|:|=>|:=)\s{0,3}["'`]?([^\s"'`,;<>{}()\[\]$*]{8,})"#,
        digits: 0,
        accept: named,
    },
    Rule {
        class: Sensitive::UrlCredentials,
        words: &["://"],
        pattern: r#"\b[A-Za-z][A-Za-z0-9+.-]+://[^\s/:@"'<>]*:([^\s/@"'<>]+)@"#,
        digits: 0,
        accept: |value| value.when(is_no_variable(value.text)),
    },
    Rule {
        class: Sensitive::Email,
        words: &["@"],
        pattern: r"[\p{L}0-9._%+-]+@(?:[\p{L}0-9][\p{L}0-9-]*\.)+\p{L}{2,}\b",
        digits: 0,
        accept: email,
    },
];

/// Words that announce a password.
const PASSWORDS: &[&str] = &["passw", "passphrase", "passcode", "kennwort", "pw", "pwd"];

/// Numbers. Separators are spaces, also those that keep a line together, dots and dashes.
const NUMBERS: [Rule; 7] = [
    Rule {
        class: Sensitive::Iban,
        words: &[],
        pattern: r"(?i)\b[a-z]{2}[ \u{a0}\u{202f}]?\d{2}(?:[ .\u{a0}\u{202f}–-]?[a-z0-9]){11,40}",
        digits: 0,
        accept: iban,
    },
    Rule {
        class: Sensitive::Card,
        words: &[],
        pattern: r"\b\d(?:[ .\u{a0}\u{202f}–-]?\d){12,18}\b",
        digits: 13,
        accept: card,
    },
    // With a country's prefix, then national: North America, and numbers with a trunk prefix 0.
    Rule {
        class: Sensitive::Phone,
        words: &["+"],
        pattern: r"(?:^|[^\w+])(\+[1-9]\d{0,3}(?:[ ./\u{a0}\u{202f}–-]{0,2}\(\d{1,5}\))?(?:[ ./\u{a0}\u{202f}–-]?\d{1,12}){1,7})\b",
        digits: 8,
        accept: phone,
    },
    Rule {
        class: Sensitive::Phone,
        words: &["00"],
        pattern: r"(?:^|[^\w+.,/-])(00[1-9]\d{0,2}[ ./\u{a0}\u{202f}–-](?:\(0\)[ ]?)?\d{1,5}(?:[ ./\u{a0}\u{202f}–-]?\d{2,8}){1,5})\b",
        digits: 9,
        accept: phone,
    },
    Rule {
        class: Sensitive::Phone,
        words: &[],
        pattern: r"(?:^|[^\w.,+/-])((?:1[ .\u{a0}-])?(?:\([2-9]\d{2}\)[ \u{a0}]?|[2-9]\d{2}[ .\u{a0}–-])[2-9]\d{2}[ .\u{a0}–-]\d{4})\b",
        digits: 10,
        accept: phone,
    },
    Rule {
        class: Sensitive::Phone,
        words: &[],
        pattern: r"(?:^|[^\w.,+/:-])(\(0[1-9]\d{1,4}\)(?:[ /–-]{0,3}\d{2,8}){1,4}|0[1-9]\d{0,4}(?:(?: ?[/–-] ?|[ .\u{a0}\u{202f}])\d{2,8}){1,5})\b",
        digits: 9,
        accept: national_phone,
    },
    // Digits that a word or a link announces, however they are written.
    Rule {
        class: Sensitive::Phone,
        words: &["tel", "phone", "mobile", "mobil", "handy", "fax", "call", "whatsapp", "wa.me", "sms", "ruf"],
        pattern: r"(?i)(?:\b(?:tele(?:phone|fon)|tel|phone|mobile?|mobiltelefon|handy|fax|call|ring|whatsapp|sms|rufnummer|ruf)\b(?: ?(?:number|no|nr|nummer|is|me|us|him|her|at|on|under|unter|an|[.:#=])){0,4}[ \u{a0}]{0,2}|wa\.me/|whatsapp\.com/send/?\?phone=)((?:\+|\(0)?\d(?:[ ./()\u{a0}\u{202f}–-]{0,2}\d){6,14})\b",
        digits: 7,
        accept: announced_phone,
    },
];

/// An address of e-mail, and not a place of a repository, a picture of twice the size or an attribute.
fn email(value: &Value<'_>) -> Option<usize> {
    let (local, domain) = value.text.rsplit_once('@')?;
    let is_of_program = ["git", "hg", "svn", "self", "this", "cls"].contains(&local);
    let is_path = value.after.strip_prefix(':').is_some_and(|path| {
        let path = path.split(char::is_whitespace).next().unwrap_or_default();
        path.contains('/') || path.ends_with(".git")
    });
    let top = domain.rsplit('.').next().unwrap_or_default().to_lowercase();
    value.when(!is_of_program && !is_path && !FILES.contains(&&*top))
}

/// Ends of names of files that an @ is part of, such as `image@2x.png`.
const FILES: [&str; 17] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "avif", "css", "js", "mjs", "json", "html", "txt", "tgz", "gz",
    "zip",
];

/// As much as an IBAN of the country has, if a word ends there.
fn iban(value: &Value<'_>) -> Option<usize> {
    let length = length_of_iban(value.text)?;
    let rest = value.text.get(length..)?.chars().next().or_else(|| value.after.chars().next());
    (!rest.is_some_and(char::is_alphanumeric)).then_some(length)
}

fn card(value: &Value<'_>) -> Option<usize> {
    // A part of an address, of a decimal or of a longer number.
    let is_part =
        value.before.ends_with(['/', '=', '.', ',', '-', '+', '#', '&']) || value.after.starts_with(['/', '-']);
    let is_decimal =
        value.after.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    value.when(!is_part && !is_decimal && is_card(value.text))
}

/// The most digits that follow one another, with nothing but separators between them.
fn digits_in_a_row(text: &str) -> usize {
    let (mut most, mut here) = (0, 0);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => here += 1,
            // A character beyond ASCII may be a space or a dash.
            b' ' | b'.' | b'/' | b'(' | b')' | b'-' | b'+' | 0x80.. => {}
            _ => here = 0,
        }
        most = most.max(here);
    }
    most
}

/// Digits of a number, without a `(0)` that is not dialled from abroad.
fn digits(text: &str) -> String {
    text.replace("(0)", "").chars().filter(char::is_ascii_digit).collect()
}

fn phone(value: &Value<'_>) -> Option<usize> {
    let digits = digits(value.text);
    value.when((8..=15).contains(&digits.len()) && !digits.contains("00000") && !is_of_decimal(value))
}

/// A number with a trunk prefix: ten digits or so in few groups, which are no date.
fn national_phone(value: &Value<'_>) -> Option<usize> {
    let digits = digits(value.text);
    let groups: Vec<&str> = value.text.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
    let is_of_pairs = groups.len() == 5 && groups.iter().all(|group| group.len() == 2);
    let has_area = groups.first().is_some_and(|area| area.len() >= 3);
    let has_dots = value.text.contains('.');
    let is_known = is_of_pairs || has_area && groups.len() <= 4 && (!has_dots || groups.len() > 2);
    value.when(is_known && (9..=12).contains(&digits.len()) && !digits.contains("00000") && !is_of_decimal(value))
}

fn announced_phone(value: &Value<'_>) -> Option<usize> {
    let digits = digits(value.text);
    let is_date = value.text.starts_with("19") || value.text.starts_with("20");
    let is_known = (7..=15).contains(&digits.len()) && !digits.contains("00000");
    value.when(is_known && !(is_date && digits.len() <= 8) && !is_of_decimal(value))
}

/// True if the number goes on behind a point or a colon.
fn is_of_decimal(value: &Value<'_>) -> bool {
    value
        .after
        .strip_prefix(['.', ',', ':', '-', '/'])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The value of a setting; one of a password need not look drawn at random.
fn named(value: &Value<'_>) -> Option<usize> {
    let name = value.before.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_of_password = ["password", "passwd", "pwd"].iter().any(|end| name.ends_with(end));
    let text = value.text.trim_end_matches(['.', ':', '!', '?']);
    value.when(is_secret_value(text) || is_of_password && is_no_variable(text) && is_password(text))
}

fn random(value: &Value<'_>) -> Option<usize> {
    value.when(is_random(value.text))
}

/// Header that authorizes a request.
fn header(value: &Value<'_>) -> Option<usize> {
    value.when(is_no_variable(value.text) && !is_named_only(value.text))
}

/// A password between quotation marks: no word of code or of a form.
fn quoted_password(value: &Value<'_>) -> Option<usize> {
    value.when(is_no_variable(value.text) && (is_password(value.text) || is_phrase(value)))
}

/// Several words that are said to be the password.
fn is_phrase(value: &Value<'_>) -> bool {
    let is_said =
        value.before.trim_end_matches(['"', '\'', '`', '“', '„', '«', ' ']).ends_with(|c: char| c.is_alphabetic());
    is_said && !NO_PASSWORDS.contains(&&*value.text.to_lowercase())
}

fn bare_password(value: &Value<'_>) -> Option<usize> {
    let text = value.text.trim_end_matches(['.', '!', '?', ':']);
    let is_path = text.starts_with(['/', '.', '~', '%', '-', '&']) || text.contains("://") || text.contains("::");
    let has_call = value.after.starts_with(['(', '[']);
    // A sentence may end behind it, and "!" may belong to it.
    let end = || value.text.trim_end_matches(['.', '?', ':']).len();
    (!is_path && !has_call && is_no_variable(text) && is_password(text)).then(end)
}

/// True if a word has what passwords have and words have not: a digit and a letter, a sign, or a capital within.
fn is_password(text: &str) -> bool {
    let has = |test: fn(char) -> bool| text.chars().any(test);
    let letters = has(char::is_alphabetic);
    let digits = has(|c| c.is_ascii_digit());
    let signs = text.trim_end_matches('!').contains(['!', '@', '#', '$', '%', '^', '&', '*', '+', '?', '=']);
    let no_code = !text.contains(['(', ')', '{', '}', '<', '>']);
    let is_within = |pair: &[char]| matches!(pair, [a, b] if a.is_lowercase() && b.is_uppercase());
    let chars: Vec<char> = text.chars().collect();
    let capitals = chars.windows(2).filter(|pair| is_within(pair)).count() > 1;
    let is_unit = text.trim_start_matches(|c: char| c.is_ascii_digit()).len() <= 2 && text.len() < 6;
    no_code && letters && !is_unit && !is_named_only(text) && (digits || signs || capitals)
}

/// Words that stand where a password would.
const NO_PASSWORDS: [&str; 22] = [
    "string",
    "required",
    "password",
    "passwd",
    "secret",
    "null",
    "none",
    "true",
    "false",
    "hidden",
    "text",
    "optional",
    "wrong",
    "incorrect",
    "invalid",
    "expired",
    "missing",
    "empty",
    "changeme",
    "too short",
    "too weak",
    "correct",
];

/// True if the text is the name of a value: `YOUR_TOKEN`, `my-api-key`, `token123`.
fn is_named_only(text: &str) -> bool {
    let lower = text.to_lowercase();
    let names = [
        "your",
        "my_",
        "my-",
        "token",
        "secret",
        "password",
        "example",
        "placeholder",
        "redacted",
        "api_key",
        "apikey",
    ];
    names.iter().any(|name| lower.starts_with(name)) && text.len() < 24
}

/// True if the text looks drawn at random and not written.
fn is_random(text: &str) -> bool {
    let has = |test: fn(&char) -> bool| text.chars().any(|c| test(&c));
    entropy(text) >= LEAST_ENTROPY && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
}

/// True if the value of a setting is a secret and not a placeholder, a path or a name in code.
fn is_secret_value(text: &str) -> bool {
    let text = text.trim_end_matches(['.', ':', '!', '?']);
    let is_path = text.starts_with(['/', '.', '~', '%']) || text.contains("://") || text.contains("::");
    !is_path && is_no_variable(text) && is_random(text)
}

/// True if the text is a value and not the name of one, such as `${PASSWORD}` or `<password>`.
fn is_no_variable(text: &str) -> bool {
    let is_masked = text.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '…'));
    !is_masked && !text.starts_with(['$', '<', '{', '%', '['])
}

/// A rule ready for use.
struct Compiled {
    rule: &'static Rule,
    pattern: Regex,
}

struct Compilation {
    rules: Vec<Compiled>,
    words: Option<AhoCorasick>,
    /// Rule of each word.
    of_words: Vec<usize>,
}

static COMPILED: LazyLock<Compilation> = LazyLock::new(|| {
    let compile = |rule| Some(Compiled { rule, pattern: Regex::new(rule.pattern).ok()? });
    let rules: Vec<_> = RULES.iter().chain(&NUMBERS).filter_map(compile).collect();
    let words =
        || rules.iter().enumerate().flat_map(|(number, one)| one.rule.words.iter().map(move |word| (number, *word)));
    let of_words = words().map(|(number, _)| number).collect();
    let searcher = AhoCorasick::builder().ascii_case_insensitive(true).build(words().map(|(_, word)| word));
    Compilation { of_words, words: searcher.ok(), rules }
});

impl Detector for Rules {
    fn find(&self, text: &str) -> Vec<Finding> {
        let Compilation { rules, words, of_words } = &*COMPILED;
        let has_digits = text.bytes().filter(u8::is_ascii_digit).nth(7).is_some();
        let in_a_row = digits_in_a_row(text);
        let mut is_due: Vec<bool> = rules.iter().map(|one| one.rule.words.is_empty() && has_digits).collect();
        for found in words.iter().flat_map(|words| words.find_overlapping_iter(text)) {
            let rule = of_words.get(found.pattern().as_usize());
            if let Some(due) = rule.and_then(|rule| is_due.get_mut(*rule)) {
                *due = true;
            }
        }
        let mut findings = Vec::new();
        let due = rules.iter().zip(is_due).filter(|(one, is_due)| *is_due && one.rule.digits <= in_a_row);
        for (one, _) in due {
            let mut at = 0;
            while let Some(found) = one.pattern.captures_at(text, at) {
                let Some(value) = found.get(1).or_else(|| found.get(0)) else { break };
                let (before, after) = (text.get(..value.start()), text.get(value.end()..));
                let around = Value {
                    before: before.unwrap_or_default(),
                    text: value.as_str(),
                    after: after.unwrap_or_default(),
                };
                at = match (one.rule.accept)(&around) {
                    Some(length) => {
                        let range = value.start()..value.start() + length;
                        findings.push(Finding::new(one.rule.class, range));
                        value.start() + length
                    }
                    // A number may begin within what looked like one.
                    None if one.rule.words.is_empty() => {
                        value.start() + value.as_str().chars().next().map_or(1, char::len_utf8)
                    }
                    None => value.end(),
                };
            }
        }
        without_overlaps(findings)
    }

    fn find_named(&self, name: &str, value: &str) -> Vec<Finding> {
        let found = self.find(value);
        let is_whole = is_of_secret(name, value) && is_no_variable(value) || is_of_number(name, value);
        if is_whole && found.iter().all(|finding| !finding.class.is_key()) {
            return vec![Finding::new(Sensitive::ServiceKey, 0..value.len())];
        }
        found
    }

    fn placeholder(&self, class: Sensitive, value: &str) -> String {
        let Some(key) = &self.key else { return format!("[{class}]") };
        let hash = blake3::keyed_hash(key, value.as_bytes());
        let number: String = hash.as_bytes().iter().take(NUMBER).map(|byte| format!("{byte:02x}")).collect();
        format!("[{class} {number}]")
    }
}

/// The findings in order. Of two that overlap one stays, of the bytes of both: a key, else of the class of the longer.
fn without_overlaps(mut findings: Vec<Finding>) -> Vec<Finding> {
    // "admin:word@db.example.com" has a password, not an address.
    let of_urls: Vec<_> = findings.iter().filter(|one| one.class == Sensitive::UrlCredentials).cloned().collect();
    let is_of_url = |one: &Finding| of_urls.iter().any(|url| overlap(&url.range, &one.range));
    findings.retain(|one| one.class != Sensitive::Email || !is_of_url(one));
    findings.sort_by_key(|finding| (finding.range.start, std::cmp::Reverse(finding.range.end)));
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        match kept.last_mut().filter(|last| overlap(&last.range, &finding.range)) {
            Some(last) => {
                let is_graver = finding.class.is_key() && !last.class.is_key();
                let is_longer = finding.class.is_key() == last.class.is_key() && finding.range.len() > last.range.len();
                last.range.end = last.range.end.max(finding.range.end);
                if is_graver || is_longer {
                    last.class = finding.class;
                }
            }
            None => kept.push(finding),
        }
    }
    kept
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests;
