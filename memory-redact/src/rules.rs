//! Rules for the shapes of keys and personal data.

use std::{fmt, ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;
use memory_core::port::{Detector, Finding, Sensitive};
use regex::Regex;

use crate::check::{entropy, is_card, is_iban};

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
    /// Further test of the value.
    accept: fn(&str) -> bool,
}

const fn key(words: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule { class: Sensitive::ServiceKey, words, pattern, accept: any }
}

fn any(_: &str) -> bool {
    true
}

/// Shapes as their issuers document them. Placeholders such as `sk-xxxxxxxx` have too little entropy.
const RULES: [Rule; 33] = [
    Rule {
        class: Sensitive::PrivateKey,
        words: &["private key"],
        pattern: r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        accept: any,
    },
    // A block whose end was cut off.
    Rule {
        class: Sensitive::PrivateKey,
        words: &["private key"],
        pattern: r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n|[A-Za-z0-9+/=:,.-]){40,}",
        accept: is_cut,
    },
    Rule {
        class: Sensitive::PrivateKey,
        words: &["age-secret-key-1"],
        pattern: r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        accept: any,
    },
    key(&["akia", "asia", "abia", "acca", "a3t"], r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    Rule {
        class: Sensitive::ServiceKey,
        words: &["aws"],
        pattern: r#"(?i)aws[^\n]{0,20}?(?:secret|key)[^\n]{0,20}?["'\s:=]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        accept: is_random,
    },
    key(&["sk-ant-"], r"\bsk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{32,}"),
    Rule {
        class: Sensitive::ServiceKey,
        words: &["sk-"],
        pattern: r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}",
        accept: is_random,
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
    // A bot of Telegram.
    Rule {
        class: Sensitive::ServiceKey,
        words: &[":aa"],
        pattern: r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b",
        accept: is_random,
    },
    // A value under a name that says what it is.
    Rule {
        class: Sensitive::ServiceKey,
        words: &["key", "secret", "token", "passw", "pwd"],
        pattern: r#"(?i)\b[a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|secret(?:[_-]?key)?|auth[_-]?token|access[_-]?token|token|passw(?:or)?d|pwd)["']?\s{0,3}(?:=|:|=>|:=)\s{0,3}["'`]?([^\s"'`,;<>{}()\[\]$*]{8,})"#,
        accept: is_secret_value,
    },
    Rule {
        class: Sensitive::UrlCredentials,
        words: &["://"],
        pattern: r#"\b[A-Za-z][A-Za-z0-9+.-]+://[^\s/:@"'<>]*:([^\s/@"'<>]+)@"#,
        accept: is_no_variable,
    },
    Rule {
        class: Sensitive::Email,
        words: &["@"],
        pattern: r"[\p{L}0-9._%+-]+@(?:[\p{L}0-9][\p{L}0-9-]*\.)+\p{L}{2,}\b",
        accept: any,
    },
];

/// Numbers, which no word announces.
const NUMBERS: [Rule; 4] = [
    Rule {
        class: Sensitive::Iban,
        words: &[],
        pattern: r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b",
        accept: is_iban,
    },
    Rule { class: Sensitive::Card, words: &[], pattern: r"\b\d(?:[ -]?\d){12,18}\b", accept: is_card },
    // International, then national with a separator: North America, and numbers with a leading zero.
    Rule {
        class: Sensitive::Phone,
        words: &["+", "00"],
        pattern: r"(?:^|[^\w+])((?:\+|00)[1-9]\d{0,2}[ ./-]?(?:\(0?\d{1,5}\)[ ./-]?)?\d{1,5}(?:[ ./-]?\d{2,5}){1,5})\b",
        accept: is_phone,
    },
    Rule {
        class: Sensitive::Phone,
        words: &[],
        pattern: r"(?:^|[^\w.+/-])(\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[ .-]\d{3}[ .-]\d{4}|\(?0\d{2,5}\)?(?:[ /-]{1,3}\d{2,8}){1,4})\b",
        accept: is_phone,
    },
];

/// True if the end of a block is not in the text.
fn is_cut(text: &str) -> bool {
    !text.contains("-----END")
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

/// True if the digits are as many as a phone number has, and are no date.
fn is_phone(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    (8..=15).contains(&digits) && !text.contains("00000")
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
        let mut is_due: Vec<bool> = rules.iter().map(|one| one.rule.words.is_empty() && has_digits).collect();
        for found in words.iter().flat_map(|words| words.find_overlapping_iter(text)) {
            let rule = of_words.get(found.pattern().as_usize());
            if let Some(due) = rule.and_then(|rule| is_due.get_mut(*rule)) {
                *due = true;
            }
        }
        let mut findings = Vec::new();
        for (one, _) in rules.iter().zip(is_due).filter(|(_, is_due)| *is_due) {
            for found in one.pattern.captures_iter(text) {
                let Some(value) = found.get(1).or_else(|| found.get(0)) else { continue };
                if (one.rule.accept)(value.as_str()) {
                    findings.push(Finding::new(one.rule.class, value.range()));
                }
            }
        }
        without_overlaps(findings)
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
