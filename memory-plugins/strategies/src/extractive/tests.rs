//! Tests of the extractive summarizer.

use memory_core::{SummarySource, TokenCounter, testing::WordCounter};

use super::*;
use crate::testing::{self, ByteCounter, message, summary};

fn write(level: Level, sources: &[SummarySource], max_tokens: u32) -> WrittenSummary {
    testing::write(&Extractive, level, sources, max_tokens)
}

fn text_of(text: &str, max_tokens: u32) -> String {
    write(Level::Summary, &[message(text)], max_tokens).text
}

#[test]
fn decisions_figures_and_names_are_kept_and_small_talk_is_not() {
    let text = "Hi, good morning! I hope you slept well. After a long debate we decided to rent the hall in Ghent for \
                1,850 euros. It was quite a nice debate. Thanks a lot for everything!";
    let written = write(Level::Summary, &[message(text)], 24);
    assert_eq!(written.text, "After a long debate we decided to rent the hall in Ghent for 1,850 euros. … hope");
    assert!(written.metadata.has_decision && !written.metadata.has_code);
    assert!(written.metadata.importance > 0.5);
    assert!(written.metadata.topics.contains(&"Ghent".to_owned()), "{:?}", written.metadata.topics);
}

#[test]
fn a_summary_has_at_most_two_sentences_in_the_order_of_the_text() {
    let text = "The cache key is 77. Nothing else happened here. The root cause was a stale lock in Redis. \
                We agreed to ship on 4 May. Birds sang outside.";
    let quoted = "The root cause was a stale lock in Redis. We agreed to ship on 4 May.";
    assert_eq!(text_of(text, 1000), format!("{quoted} … cache key 77; Nothing else happened; Birds sang outside"));
}

#[test]
fn keywords_of_two_sentences_are_not_read_as_one() {
    let text =
        "Over the weekend the two of us went and changed both. And since then there was no page at all for them.";
    assert_eq!(text_of(text, 9), "weekend changed; no page");
}

#[test]
fn a_negation_and_a_question_mark_stay() {
    let text = "The pump in the cellar of the old mill doesn't really work, and the valve can't be opened. So who will call \
                the plumber from Ghent about the pump in the old mill?";
    let digest = text_of(text, 18);
    assert!(!digest.contains("work") || digest.contains("doesn't really work"), "{digest}");
    assert!(!digest.contains("opened") || digest.contains("can't be opened"), "{digest}");
    assert!(digest.ends_with('?'), "{digest}");
}

#[test]
fn dates_in_may_are_kept() {
    let text =
        "We will certainly all meet there again on 4 May, and it may be that some others will be there too then.";
    assert!(text_of(text, 7).contains("4 May"), "{}", text_of(text, 7));
    assert!(text_of("It was on a warm day in May when we all went there for the first time.", 4).contains("May"));
}

#[test]
fn a_decision_without_what_was_decided_is_none() {
    let text = "I decided to, after a very long and quite tiring evening with everyone, rent the hall in Ghent.";
    assert!(text_of(text, 7).contains("Ghent"), "{}", text_of(text, 7));
    let meta = write(Level::Meta, &[summary("I decided to", &[], 0.5), summary("The gate squeaks.", &[], 0.5)], 30);
    assert!(!meta.text.contains("decided: "), "{}", meta.text);
}

#[test]
fn the_whole_text_is_read() {
    let text = format!("{}Finally we decided on port 8443.", "Nothing much was said here again. ".repeat(20_000));
    assert!(text_of(&text, 20).contains("8443"));
}

#[test]
fn the_text_is_one_line_without_markup() {
    let text =
        "# Result\n\n- **Decided**: use `tokio` 1.48\n- see [docs](http://x.org/y)\n\n```rust\nfn main() {}\n```\n";
    let written = write(Level::Meta, &[message(text)], 1000);
    for noise in ["\n", "**", "`", "# ", "]("] {
        assert!(!written.text.contains(noise), "{noise:?} in {}", written.text);
    }
    assert!(written.text.contains("Decided: use tokio 1.48"), "{}", written.text);
    assert!(written.metadata.has_code);
}

#[test]
fn what_is_too_long_to_quote_is_told_by_keywords() {
    let text = "The old hall in Ghent near the river with its wide stairs was never repaired since the flood of 1953.";
    assert_eq!(text_of(text, 14), "old hall Ghent near river wide stairs flood 1953");
}

#[test]
fn a_decision_too_long_is_cut_behind_a_clause() {
    let text = "We decided to move the archive to Lisbon, because the old site floods every single winter without fail";
    assert_eq!(text_of(text, 14), "We decided to move the archive to Lisbon … old site");
}

#[test]
fn a_language_without_spaces_is_cut_at_its_own_stops() {
    let text = "おはようございます。来週の会議は金曜日の15時に決定しました。よろしくお願いします。";
    assert_eq!(text_of(text, 8), "来週の会議は金曜日の15時に決定しました。 … お願い");
}

#[test]
fn a_meta_begins_with_its_themes_and_spends_what_it_may() {
    let sources: Vec<_> = (1..=30)
        .map(|n| {
            let (topic, text) = match n % 3 {
                0 => ("billing", format!("The billing job number {n} was moved to the night.")),
                1 => ("login", format!("Login needs {n} retries since the update of Keycloak.")),
                _ => ("billing", format!("Maya will call customer {n} about billing.")),
            };
            summary(&text, &[topic], 0.5)
        })
        .collect();
    let meta = write(Level::Meta, &sources, 120);
    assert!(meta.text.starts_with("topics: "), "{}", meta.text);
    assert_eq!(meta.metadata.topics[0], "billing");
    let spent = WordCounter.count(&meta.text);
    assert!((90..=120).contains(&spent), "{spent}: {}", meta.text);
}

#[test]
fn an_archive_merges_the_themes_of_its_metas() {
    let sources = [
        summary("topics: billing, night jobs; The billing job moved. Maya called.", &["billing", "night jobs"], 0.6),
        summary("topics: billing, login; Keycloak was updated to 26.", &["billing", "login"], 0.2),
    ];
    let archive = write(Level::Archive, &sources, 60);
    assert_eq!(archive.text.matches("topics: ").count(), 1, "{}", archive.text);
    assert_eq!(archive.metadata.topics[0], "billing");
    assert!((archive.metadata.importance - 0.5).abs() < 1e-6, "{}", archive.metadata.importance);
}

#[test]
fn a_more_important_source_is_told_first() {
    let sources = [summary("The garden gate squeaks.", &[], 0.1), summary("The kitchen light flickers.", &[], 0.9)];
    let text = write(Level::Meta, &sources, 30).text;
    assert_eq!(text, "topics: garden, gate; The kitchen light flickers. | also: garden gate squeaks");
}

#[test]
fn nothing_worth_telling_is_still_told() {
    assert_eq!(text_of("?!", 5), "?!");
    assert_eq!(text_of("ok", 5), "ok");
    assert_eq!(text_of("\u{1}\u{2}", 5), "…");
    assert_eq!(text_of(" \n ", 5), "");
    assert_eq!(text_of("```\n```", 5), "``` ```");
}

#[test]
fn many_long_sources_are_linear_work() {
    let sources: Vec<_> = (0..200)
        .map(|n| summary(&format!("Source {n} tells of item {} at length. ", n * 7).repeat(200), &[], 0.5))
        .collect();
    let written = write(Level::Archive, &sources, 300);
    assert!(WordCounter.count(&written.text) <= 300);
    assert!(!written.text.is_empty());
}

#[test]
fn the_bound_outranks_saying_something() {
    let sources = [message("漢")];
    let job = SummaryJob::new(Level::Summary, &sources, 1, &ByteCounter);
    assert_eq!(Extractive.write(&job).text, ".");
}
