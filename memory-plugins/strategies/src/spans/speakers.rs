//! Splits a source by speaker, and makes the speakers' labels.

use memory_core::port::{SummaryJob, SummarySource};

use crate::sections::{self, SEPARATOR, Section};

/// The separator of a name and the text.
const MARK: &str = ": ";

/// Maximum characters and maximum words of a name.
const LONGEST: usize = 40;
const MOST_WORDS: usize = 6;

/// Section prefixes of older strategies, which are not names.
const NO_NAMES: [&str; 4] = ["topics", "decided", "open", "also"];

/// The text of one speaker in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpeakerPart<'a> {
    /// The speaker; empty if unknown.
    pub(super) name: String,
    /// Section, for a summary of an older strategy; otherwise [`Section::Body`].
    pub(super) section: Section,
    pub(super) text: &'a str,
}

/// The parts of a source, in order.
pub(super) fn parts(source: &SummarySource) -> Vec<SpeakerPart<'_>> {
    let told = |name, text| SpeakerPart { name, section: Section::Body, text };
    if source.role.is_some() {
        return vec![told(clean(&source.speaker), &source.text)];
    }
    if named(&source.text).is_some() {
        // A part without a name is the last speaker's.
        let part = |last: &mut String, text| {
            let (name, said) = named(text).map_or((std::mem::take(last), text), |(name, said)| (name.to_owned(), said));
            last.clone_from(&name);
            Some(told(name, said))
        };
        return source.text.split(SEPARATOR).scan(String::new(), part).collect();
    }
    let name = clean(&source.speaker);
    sections::of(source).map(|(section, text)| SpeakerPart { name: name.clone(), section, text }).collect()
}

/// A name without characters that a label cannot contain.
fn clean(name: &str) -> String {
    let plain = |c: char| if is_no_name(c) { ' ' } else { c };
    // "Andrew Scheer (Leader of the Opposition)"
    let name = name.split(['(', '[', ',', ';']).find(|part| !part.trim().is_empty()).unwrap_or_default();
    let plain: String = name.chars().take(LONGEST).map(plain).collect();
    let plain = plain.split_whitespace().take(MOST_WORDS).collect::<Vec<_>>().join(" ");
    if NO_NAMES.contains(&plain.as_str()) { String::new() } else { plain }
}

/// The name at the beginning of a part, and the text after it.
fn named(part: &str) -> Option<(&str, &str)> {
    let (name, said) = part.split_once(MARK)?;
    let short = name.chars().nth(LONGEST).is_none() && name.split(' ').count() <= MOST_WORDS;
    let is_name = !name.is_empty() && short && name.trim() == name && !name.contains(is_no_name);
    (is_name && !NO_NAMES.contains(&name)).then_some((name, said))
}

/// True if a text begins as with the name of a speaker.
pub(super) fn is_named(text: &str) -> bool {
    named(text).is_some()
}

fn is_no_name(c: char) -> bool {
    let ends = matches!(c, ':' | '|' | '?' | '!' | '…' | ';' | ',' | '"' | '(' | ')' | '\u{2028}' | '\u{2029}');
    ends || c.is_control()
}

/// The label of a speaker; empty if it would take too many tokens.
pub(super) fn label(name: &str, job: &SummaryJob<'_>) -> String {
    /// A label takes at most one part in this many of the tokens.
    const SHARE: u32 = 3;
    let label = if name.is_empty() { String::new() } else { format!("{name}{MARK}") };
    if job.counter.count(&label) * SHARE <= job.max_tokens { label } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{message, summary};

    fn check(text: &str, expected: &[(&str, &str)]) {
        let source = summary(text, &[], 0.5);
        let found = parts(&source);
        assert_eq!(found.iter().map(|part| (part.name.as_str(), part.text)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_summary_of_spans_is_parted_by_its_speakers() {
        check(
            "Maya: the hall … in Ghent | Ben: Who cooks…?",
            &[("Maya", "the hall … in Ghent"), ("Ben", "Who cooks…?")],
        );
        check("Maya: a plan: wait | so there", &[("Maya", "a plan: wait"), ("Maya", "so there")]);
    }

    #[test]
    fn the_sections_of_other_strategies_are_no_speakers() {
        check("decided: The hall. | also: Ghent", &[("", "The hall."), ("", "Ghent")]);
        check("It rained, he said: stay.", &[("", "It rained, he said: stay.")]);
    }

    #[test]
    fn a_name_keeps_to_one_line_and_cannot_end_its_label() {
        let source = message("Yes").speaker("Dr.\nMaya: | x (of Ghent)");
        assert_eq!(parts(&source)[0].name, "Dr. Maya x");
        assert_eq!(named("Dr. Maya x: Yes"), Some(("Dr. Maya x", "Yes")));
    }
}
