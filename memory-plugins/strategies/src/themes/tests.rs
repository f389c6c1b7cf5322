//! Tests of the theme merger.

use memory_core::{SummarySource, TokenCounter, testing::WordCounter};

use super::*;
use crate::testing::{message, summary, write};

fn merged(level: Level, sources: &[SummarySource], max_tokens: u32) -> WrittenSummary {
    write(&ThemeMerger, level, sources, max_tokens)
}

/// Summaries of a plain month in an office.
fn month() -> Vec<SummarySource> {
    let mut sources = vec![
        summary("We agreed to rent the hall in Ghent for 1,850 euros.", &["hall"], 0.8),
        summary("Which caterer should we take?", &["catering"], 0.4),
        summary("Is the invoice from Keycloak paid?", &["billing"], 0.4),
        summary("The invoice from Keycloak was paid on 4 May.", &["billing"], 0.5),
        summary("Priya walks to the office on Mondays.", &["hall"], 0.2),
    ];
    sources.extend((1..=20).map(|day| summary(&format!("Desk {day} got lamp L-{day} today."), &["lamps"], 0.1)));
    sources
}

#[test]
fn decisions_and_open_questions_have_their_sections() {
    let meta = merged(Level::Meta, &month(), 100);
    assert!(meta.text.starts_with("topics: "), "{}", meta.text);
    assert!(meta.text.contains("| decided: We agreed to rent the hall in Ghent for 1,850 euros."), "{}", meta.text);
    assert!(meta.text.contains("| open: Which caterer should we take?"), "{}", meta.text);
    assert!(!meta.text.contains("Is the invoice"), "it was answered: {}", meta.text);
    assert!(meta.metadata.has_decision);
}

#[test]
fn keywords_fill_what_sentences_leave() {
    let meta = merged(Level::Meta, &month(), 100);
    let (_, keywords) = meta.text.split_once("| also: ").unwrap();
    assert!(keywords.matches("L-").count() >= 5, "{}", meta.text);
    assert!((90..=100).contains(&WordCounter.count(&meta.text)), "{}", meta.text);
}

#[test]
fn an_archive_keeps_what_its_metas_decided_and_asked() {
    let metas = [
        summary(
            "topics: hall; Rain fell. | decided: The hall, then. | open: Who cooks soup? | also: Ghent, 4 May",
            &["hall"],
            0.5,
        ),
        summary("topics: lamps; Lamps came. | also: L-7, Priya", &["lamps"], 0.3),
    ];
    let archive = merged(Level::Archive, &metas, 60).text;
    assert!(archive.contains("decided: The hall, then."), "{archive}");
    assert!(archive.contains("open: Who cooks soup?"), "{archive}");
    assert_eq!(archive.matches("topics: ").count(), 1, "{archive}");
    for fact in ["Ghent", "4 May", "L-7"] {
        assert!(archive.contains(fact), "{fact}: {archive}");
    }
}

#[test]
fn an_archive_hears_that_a_question_was_taken_up() {
    let metas = [
        summary("open: Who cooks the barley soup?", &["soup"], 0.5),
        summary("Priya cooks the barley soup.", &["soup"], 0.5),
    ];
    let archive = merged(Level::Archive, &metas, 40).text;
    assert!(archive.contains("Priya cooks the barley soup.") && !archive.contains("open:"), "{archive}");
}

#[test]
fn a_language_without_spaces_has_its_sections() {
    let sources = [
        summary("来週の会議は金曜日に決定しました。", &["会議"], 0.5),
        summary("予算はいくらですか？", &["予算"], 0.5),
        summary("天気は晴れでした。", &["天気"], 0.5),
    ];
    let meta = merged(Level::Meta, &sources, 60).text;
    assert!(meta.contains("decided: 来週の会議は金曜日に決定しました。"), "{meta}");
    assert!(meta.contains("open: 予算はいくらですか？"), "{meta}");
}

#[test]
fn a_single_message_has_sections_and_no_topics() {
    let said = "We decided on port 8443. The old gate in Ghent squeaks a little. Who will paint the fence?";
    let text = merged(Level::Summary, &[message(said)], 40).text;
    let expected = "The old gate in Ghent squeaks a little. | decided: We decided on port 8443. | also: paint fence?";
    assert_eq!(text, expected);
}
