//! Property tests of the contract that every strategy of this crate keeps.

use std::collections::HashSet;

use memory_core::{
    Level, Role,
    port::{ImportanceScorer, ScoreJob, Summarizer, SummaryJob, TokenCounter},
    testing::WordCounter,
};
use pollster::block_on;
use proptest::prelude::*;

use crate::{
    Rules, Spans,
    sections::Section,
    testing::{ByteCounter, message, summary, texts, write},
};

const LEVELS: [Level; 3] = [Level::Summary, Level::Meta, Level::Archive];

/// Words that a summary may have in addition to its sources'.
fn own_words() -> HashSet<String> {
    let marks = Section::ALL.iter().map(|section| section.mark()).collect::<String>();
    // The speaker of every message here.
    letters(&format!("{marks} topics: user"))
}

/// Runs of letters and digits, in lower case.
fn letters(text: &str) -> HashSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
}

proptest! {
    #[test]
    fn every_summary_keeps_its_bound_and_says_something(
        texts in prop::collection::vec(texts(), 1..8),
        max in prop_oneof![1u32..6, 1u32..200],
        summaries in any::<bool>(),
    ) {
        let source = |text: &String| if summaries { summary(text, &["a, b;\nc", ""], 0.5) } else { message(text) };
        let sources: Vec<_> = texts.iter().map(source).collect();
        for level in LEVELS {
            let written = write(&Spans, level, &sources, max);
            prop_assert!(WordCounter.count(&written.text) <= max, "{}", written.text);
            let silent = texts.iter().all(|text| text.trim().is_empty());
            prop_assert_eq!(written.text.trim().is_empty(), silent, "at {}", level);
            prop_assert!(!written.text.contains(['\n', '\r', '\u{2028}']), "{:?}", written.text);
            prop_assert!((0.0..=1.0).contains(&written.metadata.importance));
            prop_assert!(written.metadata.topics.len() <= 5);
            prop_assert_eq!(write(&Spans, level, &sources, max), written);
        }
    }

    #[test]
    fn a_bound_in_bytes_is_kept_too(texts in prop::collection::vec(texts(), 1..4), max in 1u32..90) {
        let sources: Vec<_> = texts.iter().map(|text| summary(text, &["töpic"], 0.5)).collect();
        for level in LEVELS {
            let job = SummaryJob::new(level, &sources, max, &ByteCounter);
            let written = block_on(Spans.summarize(job)).unwrap().text;
            prop_assert!(ByteCounter.count(&written) <= max, "{written}");
        }
    }

    /// Every word of a summary occurs in a source, so that content that was removed from the sources cannot come back.
    #[test]
    fn no_word_is_added(texts in prop::collection::vec("[a-zA-Z0-9 ,.?!]{0,120}", 1..6), max in 4u32..80) {
        let sources: Vec<_> = texts.iter().map(|text| summary(text, &[], 0.5)).collect();
        let mut known = letters(&texts.join(" "));
        known.extend(own_words());
        for level in LEVELS {
            drop(write(&Spans, level, &[message("The secret xyzzy42 was decided by Quux.")], 50));
            let written = write(&Spans, level, &sources, max);
            let said = format!("{} {}", written.text, written.metadata.topics.join(" "));
            let whole = said.trim_end_matches('…');
            // A truncated word is the beginning of a word of a source.
            for word in letters(whole) {
                let heard = known.contains(&word) || known.iter().any(|known| known.starts_with(&word));
                prop_assert!(heard, "{word:?} in {said:?}");
            }
        }
    }
}

/// A quadratic step over this many words would take hours.
#[test]
fn huge_sources_are_linear_work() {
    let huge: String = (0..60_000).map(|n| format!("Item {n} went to place P{}. ", n * 7)).collect();
    let sources = [message(&huge), summary(&huge, &["items"], 0.5)];
    for level in LEVELS {
        let written = write(&Spans, level, &sources, 100);
        assert!((1..=100).contains(&WordCounter.count(&written.text)), "{}", written.text);
    }
    let jobs = vec![ScoreJob::new(Role::User, &huge[..2_000]); 2_000];
    assert_eq!(Rules.score(&jobs).unwrap().len(), jobs.len());
}

#[test]
fn what_stands_at_the_very_end_of_a_long_text_is_read() {
    let text = format!("{}Finally we decided on port 8443.", "Nothing much was said here again. ".repeat(20_000));
    let written = write(&Spans, Level::Summary, &[message(&text)], 20).text;
    assert!(written.contains("8443"), "{written}");
}
