//! Escapes for text within the line of a summary that could pass for another speaker, another message or a mark.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The sections that strategies write, which are not names.
const SECTIONS: [&str; 4] = ["decided", "open", "also", "topics"];

/// Most words of a name.
const MOST_WORDS: usize = 6;

/// ` | Ben:`, ` | 4 Ben:`: the sign between speakers, as strategies and layouts write it.
#[expect(clippy::expect_used, reason = "a constant pattern, compiled by a test")]
static NEXT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?P<before>^|[\s\p{C}])\|(?P<rest>[\s\p{C}]+(?P<name>[^:|\r\n]{1,100}):)")
        .expect("the pattern is valid")
});

/// `Ben: ` at the beginning.
#[expect(clippy::expect_used, reason = "a constant pattern, compiled by a test")]
static FIRST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^[\s\p{C}]*(?P<name>[^\s:|?!…;,"()\\][^:|?!…;,"()\\\p{Cc}\x{2028}\x{2029}]{0,39}):\s"#)
        .expect("the pattern is valid")
});

#[expect(clippy::expect_used, reason = "a constant pattern, compiled by a test")]
static IMPORTANT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\[[\s\p{C}]*important[\s\p{C}]*\]").expect("the pattern is valid"));

/// A backslash in front of every ` | ` that precedes a possible speaker. A second pass changes nothing.
///
/// Strategies separate speakers by the same sign. So a text is escaped before a strategy reads it: afterwards the two
/// look alike.
pub(crate) fn escape_names(text: &str) -> String {
    let escaped = |found: &Captures<'_>| {
        let [before, rest, name] =
            ["before", "rest", "name"].map(|group| found.name(group).map_or("", |found| found.as_str()));
        let backslash = if SECTIONS.contains(&name.trim()) { "" } else { r"\" };
        format!("{before}{backslash}|{rest}")
    };
    NEXT.replace_all(text, escaped).into_owned()
}

/// A backslash in front of every `[IMPORTANT]`.
pub(super) fn escape_importance(text: &str) -> String {
    IMPORTANT.replace_all(text, r"\$0").into_owned()
}

/// The name of a speaker that `text` begins with.
fn name(text: &str) -> Option<&str> {
    let name = FIRST.captures(text)?.name("name")?.as_str();
    (name.split_whitespace().count() <= MOST_WORDS && !SECTIONS.contains(&name.trim())).then_some(name)
}

/// True if `text` begins with the name of a speaker.
pub(super) fn begins_with_name(text: &str) -> bool {
    name(text).is_some()
}

/// The summary of a message by `speaker`, with a backslash in front if it begins with a possible name of another
/// speaker. A strategy may shorten the name, not change it.
pub(crate) fn without_name(text: String, speaker: &str) -> String {
    let words = |name: &str| -> Vec<String> {
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    match name(&text).map(words) {
        Some(name) if name.is_empty() || !words(speaker).starts_with(&name) => format!(r"\{}", text.trim_start()),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_between_speakers_is_escaped_in_a_text_once() {
        let check = |text: &str, expected: &str| {
            assert_eq!(escape_names(text), expected);
            assert_eq!(escape_names(expected), expected);
        };
        check("tea | Ben: I hate tea", r"tea \| Ben: I hate tea");
        check("tea |\u{200b} 4 Ben: no | Dr. Ann Lee (MP): yes", "tea \\|\u{200b} 4 Ben: no \\| Dr. Ann Lee (MP): yes");
        check("| Ben:", r"\| Ben:");
        for plain in ["cat log | grep ERROR", "a || b: c", "x |y: 3", "it rained | decided: We stay.", ""] {
            check(plain, plain);
        }
    }

    #[test]
    fn a_summary_begins_with_no_name_but_its_speakers() {
        let check = |text: &str, speaker: &str, expected: &str| {
            assert_eq!(without_name(text.to_owned(), speaker), expected);
        };
        check("Anna: I hate tea", "Ben", r"\Anna: I hate tea");
        check("Anna: I hate tea", "Annabel", r"\Anna: I hate tea");
        check("Anna: I hate tea", "anna", "Anna: I hate tea");
        check("Andrew Scheer: I rise", "Andrew Scheer (Leader of the Opposition)", "Andrew Scheer: I rise");
        check("decided: We stay.", "Ben", "decided: We stay.");
        check("It rained, he said: stay.", "Ben", "It rained, he said: stay.");
        assert!(!begins_with_name(r"\Anna: I hate tea"));
    }

    #[test]
    fn a_mark_is_escaped() {
        assert_eq!(escape_importance("so [important] and [ IMPORTANT ]"), r"so \[important] and \[ IMPORTANT ]");
        assert_eq!(escape_importance("an important [x]"), "an important [x]");
    }
}
