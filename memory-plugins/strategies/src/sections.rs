//! Sections of summaries that strategies of earlier releases wrote, and that stores still contain: topics, body,
//! decisions, open questions, keywords.

use memory_core::port::SummarySource;

/// A section of a merged summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Anything else.
    Body,
    /// Decisions.
    Decided,
    /// Questions without an answer.
    Open,
    /// Keywords of content that no quoted sentence contains.
    Also,
}

pub(crate) const SEPARATOR: &str = " | ";

/// The separator of sentences and keywords if there are no other sections.
pub(crate) const KEYWORDS: &str = " … ";

impl Section {
    /// All sections in the order in which they are written.
    pub(crate) const ALL: [Self; 4] = [Self::Body, Self::Decided, Self::Open, Self::Also];

    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::Body => "",
            Self::Decided => "decided: ",
            Self::Open => "open: ",
            Self::Also => "also: ",
        }
    }
}

/// Sections of a source without its topics; a message is a single section.
pub(crate) fn of(source: &SummarySource) -> impl Iterator<Item = (Section, &str)> {
    let is_message = source.role.is_some();
    let text = without_topics(source);
    let whole = is_message.then_some((Section::Body, text));
    let parts = (!is_message).then(|| text.split(SEPARATOR).flat_map(sections)).into_iter().flatten();
    whole.into_iter().chain(parts)
}

/// Text of `source` without its topic line (`topics: a, b; `), because the topics are in its metadata.
fn without_topics(source: &SummarySource) -> &str {
    let begins = source.role.is_none() && !source.metadata.topics.is_empty();
    let after = source.text.strip_prefix("topics: ").filter(|_| begins).and_then(|rest| rest.split_once("; "));
    after.map_or(source.text.as_str(), |(_, after)| after)
}

/// The section at the beginning of a part, and the keywords after it.
fn sections(part: &str) -> impl Iterator<Item = (Section, &str)> {
    let mut marked = Section::ALL.into_iter().skip(1);
    let marked = marked.find_map(|section| Some((section, part.strip_prefix(section.mark())?)));
    let (section, text) = marked.unwrap_or((Section::Body, part));
    let (text, keywords) = match text.rsplit_once(KEYWORDS) {
        Some((text, keywords)) => (text, Some((Section::Also, keywords))),
        None => (text, None),
    };
    std::iter::once((section, text)).chain(keywords)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{message, summary};

    #[test]
    fn a_summary_is_parted_and_a_message_is_not() {
        let text = "It rained. … Bonn | decided: We stay. | open: Who cooks? | a bar | also: Ghent, 4 May";
        assert_eq!(
            of(&summary(text, &[], 0.5)).collect::<Vec<_>>(),
            [
                (Section::Body, "It rained."),
                (Section::Also, "Bonn"),
                (Section::Decided, "We stay."),
                (Section::Open, "Who cooks?"),
                (Section::Body, "a bar"),
                (Section::Also, "Ghent, 4 May"),
            ]
        );
        assert_eq!(of(&message(text)).collect::<Vec<_>>(), [(Section::Body, text)]);
    }
}
