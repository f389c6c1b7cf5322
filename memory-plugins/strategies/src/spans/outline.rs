//! Outlines of structured replies: the sentence that leads them, and the labels of their parts.

use memory_core::{Level, port::SummaryJob};

use super::compose::{Composer, SIGN};
use crate::{
    phrases::phrase_lists,
    reading::Reading,
    segments::{Kind, Segment},
    words::{keys, words},
};

phrase_lists! {
    /// Labels of parts that any reply may have.
    GENERAL = "final answer | explanation | additional practice | step-by-step solution | step-by-step breakdown | \
        step-by-step explanation | conclusion | introduction | overview | summary | final thoughts | next steps | closing thoughts | note | \
        fazit | zusammenfassung";
    /// Beginnings of such labels.
    BEGINNINGS = "example | sample | additional tip | additional resource | beispiel";
}

/// Fewest labels that make a reply a structured one.
const FEWEST: usize = 3;
/// Fewest of them that are shown.
const FEWEST_SHOWN: usize = 2;
/// Largest share of the tokens for the sentence that leads.
const LEAD: f32 = 0.6;
/// Maximum words of a label; a longer one is a sentence in bold.
const WORDS: usize = 9;

/// The outline of a message with labelled parts: `assistant: Both tools hide the names. Taleo; HireVue; Pymetrics …`;
/// `None` for any other message. `may_lead` is true for a segment that says something on its own.
///
/// Single sentences from within the parts say nothing without their labels, and the labels say what the parts are about.
pub(super) fn outline(
    job: &SummaryJob<'_>,
    reading: &Reading<'_>,
    composer: &Composer<'_>,
    may_lead: &dyn Fn(usize) -> bool,
) -> Option<String> {
    if job.level != Level::Summary {
        return None;
    }
    let labels = (0..=DEEPEST).map(|depth| labels(&reading.segments, depth)).find(|labels| labels.len() >= FEWEST)?;
    let (first, _) = *labels.first()?;
    let fits = |text: &str| job.counter.count(text) <= job.max_tokens;
    let of_lead = crate::terms::to_f32(job.max_tokens) * LEAD;
    let leads = |text: &String| crate::terms::to_f32(job.counter.count(text)) <= of_lead;
    let text_of = |index: usize| reading.segments.get(index).map(|segment| segment.text.clone());
    let lead = (0..first).find(|index| may_lead(*index)).and_then(text_of).filter(leads);
    let heading = || {
        let is_title = |index: &usize| reading.segments.get(*index).is_some_and(|of| of.kind == Kind::Heading);
        let title = (0..first).rev().find(is_title).and_then(text_of).filter(leads)?;
        Some(format!("{}:", unnumbered(&title).trim_end_matches(':')))
    };
    let lead = lead.or_else(heading).map(|lead| format!("{lead} ")).unwrap_or_default();
    let written = |count: usize| {
        let shown: Vec<_> = labels.iter().take(count).map(|(_, label)| *label).collect();
        let rest = if count < labels.len() { format!(" {SIGN}") } else { String::new() };
        composer.write_beginning(first, &format!("{lead}{}{rest}", shown.join("; ")))
    };
    (FEWEST_SHOWN..=labels.len()).rev().map(written).find(|text| fits(text))
}

/// Depth of items within items; that of headings is 0.
pub(crate) const DEEPEST: u8 = 2;

/// The labels of a depth with their segments, in order.
fn labels(segments: &[Segment], depth: u8) -> Vec<(usize, &str)> {
    let label = |(index, segment): (usize, &'_ Segment)| {
        let of = segment.label.filter(|label| label.depth == depth)?;
        Some((index, of.end))
    };
    let found = segments.iter().enumerate().filter_map(label);
    let mut known: Vec<&str> = Vec::new();
    let text = found.filter_map(|(index, end)| {
        let text = unnumbered(segments.get(index)?.text.get(..end)?).trim_end_matches([':', ' ', '-', '–']);
        let is_short = words(text).nth(WORDS).is_none() && words(text).next().is_some();
        let says_something = !text.contains(['[', '{', '\\', '=']) && !is_general(text) && !known.contains(&text);
        known.push(text);
        (is_short && says_something).then_some((index, text))
    });
    text.collect()
}

/// True for a label that any reply may have.
fn is_general(label: &str) -> bool {
    let keys = keys(label);
    GENERAL.at(&keys).any(|(length, ())| length == keys.len()) || BEGINNINGS.at(&keys).next().is_some()
}

/// A heading without its number: "1. Define the roles".
fn unnumbered(text: &str) -> &str {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = behind.len() < text.len();
    behind.strip_prefix(['.', ')']).filter(|_| is_numbered).map_or(text, str::trim_start)
}

#[cfg(test)]
mod tests {
    use memory_core::{Level, Role, port::TokenCounter, testing::WordCounter};

    use crate::{
        Spans,
        testing::{message, write},
    };

    fn of(text: &str, max_tokens: u32) -> String {
        let reply = message(text).role(Some(Role::Assistant)).speaker("assistant");
        write(&Spans, Level::Summary, &[reply], max_tokens).text
    }

    const REPLY: &str = "Certainly! I'd be happy to help.\n\nThree ferries leave from the old harbour.\n\n\
        1. **Blue Line**: It takes two hours and has a good kitchen.\n   - **Price**: 40 euros.\n\
        2. **Red Line**: It takes three hours and has beds for the night.\n   - **Price**: 30 euros.\n\
        3. **Night Line**: It takes eight hours and has no kitchen.\n\nLet me know if you need anything else!";

    #[test]
    fn a_reply_of_labelled_parts_is_its_lead_and_their_labels() {
        for expected in [
            "assistant: Three ferries leave from the old harbour. Blue Line; Red Line; Night Line",
            "assistant: Three ferries leave from the old harbour. Blue Line; Red Line …",
        ] {
            assert_eq!(of(REPLY, WordCounter.count(expected)), expected);
        }
    }

    #[test]
    fn headings_are_labels_and_a_title_may_lead() {
        let text = "I'd be happy to help!\n\n# Roof of the barn\n\nIt is old.\n\n## 1. Clean the gutters\n\nUse a ladder.\n\n\
                    ## 2. Seal the seams\n\nWait for sun.\n\n## 3. Paint the tiles\n\nUse two coats of red paint on every tile.";
        let written = of(text, 26);
        assert!(written.contains("Clean the gutters; Seal the seams; Paint the tiles"), "{written}");
    }

    #[test]
    fn people_and_plain_replies_have_no_outline() {
        let plain = "The ferry to Dover takes two hours. **Wait**: it has beds.\n\n- **Price**: 40 euros.\n\nThe harbour closes at nine.";
        assert!(!of(plain, 18).contains("Price;") && !of(plain, 18).contains("Wait;"), "{}", of(plain, 18));
        let by_user = write(&Spans, Level::Summary, &[message(REPLY)], 24).text;
        assert!(!by_user.contains("Blue Line; Red Line"), "{by_user}");
    }
}
