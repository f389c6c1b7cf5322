//! Rules, decisions and summaries of whole conversations: a clinic's booking system, and several languages.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{fs, path::Path};

use memory_core::{
    Level, NodeId, NodeRange, Role,
    port::{SummaryJob, SummarySource, TokenCounter},
};
use memory_strategies::{Spans, Speaker, StandingKind, StandingLines, has_matter, sentences, standing, title};

/// A message: role and text.
type Said = (Role, String);

fn read(path: &str) -> Vec<Said> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let message = |line: &str| {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let role = if json["role"] == "user" { Role::User } else { Role::Assistant };
        (role, json["content"].as_str().unwrap().to_owned())
    };
    text.lines().map(message).collect()
}

fn clinic() -> Vec<Said> {
    read("../../memory/tests/data/clinic.jsonl")
}

/// The texts of the valid lines of a kind, in order; `true` for conditional ones.
fn holding(said: &[Said], kind: StandingKind) -> Vec<(String, bool)> {
    let mut lines = StandingLines::default();
    for (index, (role, text)) in said.iter().enumerate() {
        let speaker = if *role == Role::User { Speaker::User } else { Speaker::Model };
        lines.add(NodeId::from_index(index), role.as_str(), standing(text, speaker));
    }
    let mut found: Vec<_> = lines.by_worth("").into_iter().filter(|line| line.standing.kind == kind).collect();
    found.sort_by_key(|line| (line.node, line.standing.at));
    let text = |line: &&memory_strategies::StandingLine| {
        let index = usize::try_from(line.node.get() - 1).unwrap();
        let at = usize::try_from(line.standing.at).unwrap();
        (said[index].1[at..at + usize::from(line.standing.bytes)].to_owned(), line.standing.is_conditional)
    };
    found.iter().map(text).collect()
}

#[test]
fn all_rules_of_the_clinic_are_found_whole_and_nothing_else() {
    let rules = holding(&clinic(), StandingKind::Instruction);
    let expected = [
        ("Always answer in at most five sentences.", false),
        ("Write SQL in lower case.", false),
        ("And never run or propose a migration against the table invoices, the accountant owns it.", false),
        ("use tabs, not spaces, everywhere.", false),
        ("keep answers short pls", false),
        ("You must run the tests before each commit.", false),
        ("Never push to main.", false),
        ("No emojis please.", false),
        ("When I ask about invoices, name the accountant.", true),
    ];
    assert_eq!(rules, expected.map(|(text, is_conditional)| (text.to_owned(), is_conditional)));
}

#[test]
fn the_decisions_of_the_clinic_are_its_current_values() {
    let decisions: Vec<_> = holding(&clinic(), StandingKind::Decision).into_iter().map(|(text, _)| text).collect();
    assert_eq!(
        decisions,
        [
            "Dental appointments are 45, not 30.",
            "Actually, scratch Redis, we use RabbitMQ.",
            "Then we change it: Postgres 17 everywhere instead of 16, the host only offers that.",
            "Moved: go-live is 24 November.",
            "Changed: reminders 36 hours before, people forget.",
            "Hmm, I take that back, we stay with REST.",
            "We're going with Hetzner for hosting.",
            "ok seven.io for the texts it is then",
        ]
    );
    let open = holding(&clinic(), StandingKind::Open);
    assert_eq!(open, [("Another open thing: do we charge a fee for no-shows?".to_owned(), false)]);
}

#[test]
fn the_clinic_has_a_title_in_its_own_words() {
    let first = clinic().into_iter().find(|(_, text)| has_matter(text)).unwrap().1;
    assert_eq!(title(&first).as_deref(), Some("I'm building the booking system for a vet clinic…"));
}

/// Counts four bytes as a token.
#[derive(Debug)]
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap()
    }
}

fn summary(level: Level, said: &[Said], max_tokens: u32) -> String {
    let source = |(index, (role, text)): (usize, &Said)| {
        SummarySource::new(NodeRange::single(NodeId::from_index(index)), text.as_str())
            .role(*role)
            .speaker(role.as_str().to_owned())
    };
    let sources: Vec<_> = said.iter().enumerate().map(source).collect();
    Spans.write(&SummaryJob::new(level, &sources, max_tokens, &Quarters)).text
}

#[test]
fn what_the_clinic_changed_is_in_no_summary_of_all_of_it() {
    let said = clinic();
    for max_tokens in [40, 128, 400] {
        let written = summary(Level::Meta, &said[..36], max_tokens);
        for over in ["Postgres 16,", "We use Redis", "10 November", "24 hours", "MongoDB"] {
            assert!(!written.contains(over), "{over}: {written}");
        }
    }
}

/// No clause of these languages is cut.
#[test]
fn sentences_of_other_languages_are_whole_or_left_out() {
    let of_language = |name: &str| format!("tests/data/languages/{name}.jsonl");
    let mut files: Vec<String> = ["de", "fr", "he", "hi", "ko", "ru", "th", "tr"].map(of_language).into();
    files.push("../../memory/tests/data/negation-de.jsonl".to_owned());
    for file in files {
        let said = read(&file);
        let known: Vec<&str> = said.iter().flat_map(|(_, text)| sentences(text)).collect();
        // Sentences without a stop are separated by a semicolon.
        let check = |level: Level, said: &[Said], max_tokens: u32| {
            let written = summary(level, said, max_tokens);
            for part in written.split(" | ") {
                let part = part.split_once(": ").map_or(part, |(_, part)| part);
                // A clause before the last one, which begins with a conjunction, may stand for its sentence.
                let is_clause = |sentence: &str| {
                    let begun = sentence.strip_suffix(" …").map(|clause| format!("{clause}, "));
                    begun.is_some_and(|begun| known.iter().any(|known| known.starts_with(&begun)))
                };
                let is_known = |sentence: &str| known.contains(&sentence) || sentence == "…" || is_clause(sentence);
                let quoted = part.split("; ").flat_map(sentences);
                assert!(quoted.into_iter().all(is_known), "{file} at {max_tokens}: {written}");
            }
        };
        for max_tokens in [5, 10, 20, 30, 48, 128] {
            for one in said.chunks(1) {
                check(Level::Summary, one, max_tokens);
            }
            for some in said.chunks(12) {
                check(Level::Meta, some, max_tokens);
            }
        }
    }
}
