//! Content that is excluded from summaries.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use aho_corasick::AhoCorasick;
use memory_core::{
    Message,
    port::{Detector, Excluded, Sensitive},
};
use regex::{Regex, RegexSet};

/// Ways to ask for exclusion, in lower case.
const REQUESTS: [&str; 4] = [
    r"\b(?:keep|leave)\b[^.!?\n]{0,60}\bout of\b[^.!?\n]{0,40}\bsummar",
    r"\b(?:do not|don't|don’t|never)\b[^.!?\n]{0,40}\b(?:include|put|mention|repeat|write)\b[^.!?\n]{0,60}\bsummar",
    r"\b(?:do not|don't|don’t|never) summari[sz]e (?:this|that|it|these|those)\b",
    r"\b(?:must|should|may) not\b[^.!?\n]{0,40}\b(?:in|into) (?:any|the|a|your)[^.!?\n]{0,20} summar",
];

#[expect(clippy::expect_used, reason = "constant patterns, compiled by a test")]
static ASKS: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(REQUESTS).expect("the patterns are valid"));

/// A word, including the signs inside a code or an address.
#[expect(clippy::expect_used, reason = "a constant pattern, compiled by a test")]
static IDENTIFIER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{N}](?:[\p{L}\p{N}._@/+#:,-]*[\p{L}\p{N}])?").expect("the pattern is valid"));

const PLACEHOLDER: &str = "[kept out]";

/// Characters of codes and numbers.
fn is_code(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// True if a term is not a common word, so that repeating it would reveal the excluded message: the term has a digit
/// and at least `characters` characters.
fn identifies(term: &str, characters: usize) -> bool {
    term.chars().any(char::is_numeric) && term.chars().count() >= characters
}

/// Fewest characters of a term that is also removed inside a longer one.
const LONG: usize = 4;
/// Fewest characters of a removed term: a single digit says nothing.
const SHORT: usize = 2;

/// True if a text asks to be excluded from summaries.
#[must_use]
pub(crate) fn asks_to_be_kept_out(text: &str) -> bool {
    ASKS.is_match(&text.to_lowercase())
}

/// Removes the identifying terms of excluded messages wherever else they are repeated, so that a summary of an answer
/// does not reveal the excluded question.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    terms: Terms,
    /// Detector of keys, which no summary may hold.
    detector: Option<Arc<dyn Detector>>,
}

#[derive(Clone, Debug, Default)]
enum Terms {
    #[default]
    None,
    /// Long terms, which may stand in longer ones, and short ones, all in lower case: a pasted log has tens of
    /// thousands.
    Some { long: AhoCorasick, short: HashSet<String> },
    /// Too many terms to distinguish: every identifying term is removed.
    All,
}

impl Redactor {
    /// A redactor of keys.
    pub(crate) fn of_keys(detector: Option<Arc<dyn Detector>>) -> Self {
        Self { terms: Terms::None, detector }
    }

    /// Collects the identifying terms of excluded messages, too.
    pub(crate) fn and_terms<'a>(self, kept_out: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut terms: Vec<String> = Vec::new();
        for message in kept_out {
            let text = message.text();
            let found = IDENTIFIER.find_iter(&text).map(|term| term.as_str());
            // `ticket#QX-4471` and `番号はQX-4471です` also reveal `QX-4471`, which may be repeated alone.
            let parts = found.flat_map(|term| std::iter::once(term).chain(term.split(|c| !is_code(c))));
            terms.extend(
                parts
                    .map(|part| part.trim_matches(['.', '_', '-']))
                    .filter(|part| identifies(part, SHORT))
                    .map(str::to_lowercase),
            );
        }
        terms.sort_unstable();
        terms.dedup();
        if terms.is_empty() {
            return self;
        }
        let (long, short): (Vec<_>, Vec<_>) = terms.into_iter().partition(|term| identifies(term, LONG));
        let terms = AhoCorasick::new(&long).map_or(Terms::All, |long| {
            let short = short.into_iter().collect();
            Terms::Some { long, short }
        });
        Self { terms, ..self }
    }

    /// True if any of the terms is in `text`.
    fn finds(&self, text: &str) -> bool {
        let has_term = || IDENTIFIER.find_iter(text).any(|term| self.strikes(term.as_str()));
        !matches!(self.terms, Terms::None) && has_term() || self.without_keys(text).is_some()
    }

    fn strikes(&self, term: &str) -> bool {
        match &self.terms {
            Terms::None => false,
            Terms::Some { long, short } => {
                let term = term.to_lowercase();
                let mut words = term.split(|c: char| !c.is_alphanumeric());
                long.is_match(&term) || short.contains(&term) || words.any(|word| short.contains(word))
            }
            Terms::All => identifies(term, SHORT),
        }
    }

    /// The topics without any of the terms.
    pub(crate) fn clean_topics(&self, topics: &[String]) -> Vec<String> {
        topics.iter().filter(|topic| !self.finds(topic)).cloned().collect()
    }

    /// `text` with a placeholder for each of the terms.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.replace(text, PLACEHOLDER)
    }

    /// `text` with the terms removed.
    pub(crate) fn strike(&self, text: &str) -> String {
        self.replace(text, "")
    }

    /// The text without keys; `None` if it has none.
    fn without_keys(&self, text: &str) -> Option<String> {
        self.detector.as_ref()?.masked(text, &Sensitive::is_key)
    }

    fn replace(&self, text: &str, placeholder: &str) -> String {
        let text = &*self.without_keys(text).map_or(Cow::Borrowed(text), Cow::Owned);
        if matches!(self.terms, Terms::None) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = 0;
        for term in IDENTIFIER.find_iter(text) {
            if self.strikes(term.as_str()) {
                out.push_str(text.get(rest..term.start()).unwrap_or_default());
                out.push_str(placeholder);
                rest = term.end();
            }
        }
        out.push_str(text.get(rest..).unwrap_or_default());
        out
    }
}

impl Excluded for Redactor {
    fn is_repeated_in(&self, text: &str) -> bool {
        self.finds(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_and_other_talk_of_summaries_is_not() {
        for yes in [
            "The reference is 4471. Keep that out of any summary.",
            "Please leave this number out of your summaries",
            "Don't include the key in the summary!",
            "Do not summarize this.",
            "It must not appear in any summary.",
        ] {
            assert!(asks_to_be_kept_out(yes), "{yes}");
        }
        for no in [
            "Summarize this, please.",
            "I read the summary. Do not deploy.",
            "Keep going. The summary is fine.",
            "We left it out of the release; see the summary",
        ] {
            assert!(!asks_to_be_kept_out(no), "{no}");
        }
    }

    #[test]
    fn what_identifies_a_secret_is_struck_wherever_it_is_repeated() {
        let secret = Message::user("The ticket is QX-4471-93B, due in 3 days.").keep_out_of_summaries(true);
        let redactor = Redactor::default().and_terms([&secret]);
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact(text), expected);
        check("Noted: qx-4471-93b.", "Noted: [kept out].");
        check("see (QX-4471-93B/2)", "see ([kept out])");
        check("QX-4471 alone, in 3 days", "QX-4471 alone, in 3 days");
        check("", "");
        let topics = ["deployment", "ticket qx-4471-93b"].map(str::to_owned);
        assert_eq!(redactor.clean_topics(&topics), ["deployment"]);
    }

    #[test]
    fn a_secret_is_known_without_what_it_was_glued_to() {
        let secrets = [Message::user("ticket#QX-4471-93B"), Message::user("番号はZ7-0815です。")];
        let redactor = Redactor::default().and_terms(&secrets);
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact(text), expected);
        check("Noted: QX-4471-93B.", "Noted: [kept out].");
        check("It is Z7-0815, right?", "It is [kept out], right?");
        check("ticket 12", "ticket 12");
    }

    #[test]
    fn a_short_number_is_struck_where_it_stands_alone() {
        let secrets = [Message::user("I earn 700 euros, the door is 4B and I have 2 cats.")];
        let check =
            |text: &str, expected: &str| assert_eq!(Redactor::default().and_terms(&secrets).redact(text), expected);
        check("She earns 700 euros.", "She earns [kept out] euros.");
        check("€700, 700-euro, (700)", "€[kept out], [kept out], ([kept out])");
        check("door 4b, 2 cats, 1700 and 7001", "door [kept out], 2 cats, 1700 and 7001");
    }
}
