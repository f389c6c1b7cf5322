//! Tests of what a summary of one message says, and that it says something.

use memory_core::{Level, port::TokenCounter, testing::WordCounter};

use super::Spans;
use crate::testing::{message, write};

fn of(text: &str, max_tokens: u32) -> String {
    write(&Spans, Level::Summary, &[message(text)], max_tokens).text.trim_start_matches("user: ").to_owned()
}

#[test]
fn a_long_sentence_is_cut_at_a_clause_and_never_left_out() {
    for (text, expected) in [
        (
            "I'm considering continuing the AI pilot for 3 more hires after the feedback of April 28, but I want to make sure \
             I'm making the right decision",
            "I'm considering continuing the AI pilot for 3 more hires after the feedback of April 28…",
        ),
        (
            "I tend to bottle up my feelings at work, so I was wondering if writing about Todd could help me process them in \
             the evening?",
            "I tend to bottle up my feelings at work, so I was wondering if writing…?",
        ),
        (
            "What's the best way to handle Michael's suggestion for Pymetrics, considering he's never been promoted?",
            "What's the best way to handle Michael's suggestion for Pymetrics…?",
        ),
        (
            "I moved to Ghent in May for the new job, and I don't know anybody in the whole town yet, my sister says.",
            "I moved to Ghent in May for the new job…",
        ),
    ] {
        assert_eq!(of(text, WordCounter.count(text) * 3 / 4), expected, "{text}");
    }
}

#[test]
fn the_middle_gives_way_to_the_end_that_turns_it() {
    let text = "You may delete the Harrow backups, the old logs, the test buckets and the copies in Dublin, only after the \
                auditors have left.";
    let expected = "You may delete the Harrow backups, the old logs … only after the auditors have left.";
    assert_eq!(of(text, WordCounter.count(expected) + 3), expected);
}

#[test]
fn a_german_clause_that_is_whole_may_stand_for_its_sentence() {
    let whole = "Ich hab den Termin beim Zahnarzt auf Montag verschoben, weil die Kollegin aus Linz krank war.";
    assert_eq!(of(whole, 24), "Ich hab den Termin beim Zahnarzt auf Montag verschoben …");
    for open in [
        "Ich hab den Termin beim Zahnarzt auf Montag verschoben, aber die Kollegin war dagegen.",
        "Ich hab den Termin auf Montag verschoben, weil du nicht kannst.",
        "Wenn die Kollegin aus Linz am Montag krank ist, weil sie hustet.",
        "Das Buch, das du mir am Montag geliehen hast, hab ich Anna gegeben.",
    ] {
        assert_eq!(of(open, WordCounter.count(open) - 1), "…", "{open}");
    }
}

#[test]
fn a_sentence_may_end_with_the_word_that_turns_it() {
    for (text, expected) in [
        (
            "I have never painted a roof in my life, but I'm fond of the old barn and would rather not pay for it at all.",
            "I have never painted a roof in my life, but …",
        ),
        (
            "If we take the night ferry, we save two days and the hotel in Calais, but is that really worth the noise of it",
            "If we take the night ferry, we save two days and the hotel in Calais, but …",
        ),
    ] {
        assert_eq!(of(text, WordCounter.count(&format!("user: {expected}"))), expected, "{text}");
    }
}

#[test]
fn a_cut_ends_before_another_phrase_and_not_within_one() {
    let text = "Please draw me the plan of the old harbour office with the two rooms and the cellar in red.";
    let expected = "Please draw me the plan of the old harbour office…";
    assert_eq!(of(text, WordCounter.count(&format!("user: {expected}")) + 3), expected);
    let text =
        "The corners of the first sail lie at (0,0), (5,0), (3,4) and (9,9) as far as Ben and Anna can see it today.";
    for max_tokens in 6..20 {
        let written = of(text, max_tokens);
        assert_eq!(written.matches('(').count(), written.matches(')').count(), "{written}");
    }
}

#[test]
fn formulas_of_models_and_pleasantries_of_people_come_last() {
    for stock in [
        "I'd be happy to help you with the plan!",
        "Certainly, Ada! I'm glad you asked about this today.",
        "I hope this gives you a good start for the week.",
        "It's completely understandable to feel that way about it.",
    ] {
        let text = format!("{stock}\n\nThe ferry to Dover leaves from the old harbour at noon. {stock}");
        let reply = message(&text).role(Some(memory_core::Role::Assistant)).speaker("assistant");
        let expected = "assistant: The ferry to Dover leaves from the old harbour at noon.";
        assert_eq!(write(&Spans, Level::Summary, &[reply], WordCounter.count(expected)).text, expected);
    }
    let said = [
        "Long time no see! I moved to Ostend in July.",
        "You've got this! Have a great evening by the sea, my friend.",
    ];
    let written = write(&Spans, Level::Meta, &said.map(message), 12).text;
    assert_eq!(written, "user: I moved to Ostend in July.");
}

#[test]
fn a_date_is_not_cut() {
    for max_tokens in 3..24 {
        let written = of("The launch of the gateway was moved to 26 May by the way, said Priya.", max_tokens);
        assert!(!written.contains("26") || written.contains("26 May"), "{written}");
    }
}

#[test]
fn news_is_worth_more_than_exclamations() {
    let text = "Last week was wild! Total dream come true! I got an endorsement with a popular beverage company!";
    assert_eq!(of(text, 19), "I got an endorsement with a popular beverage company!");
    let text = "The letter has a head with the address of the office in Ghent and a foot. And no page.";
    assert!(of(text, 8).ends_with("And no page."), "{}", of(text, 8));
}

#[test]
fn samples_lead_no_summary() {
    for sample in [
        "9:00 PM: Go to bed with a good book about the sea.",
        "6 PM - 8 PM: Personal time with the family and the dog.",
        "Example: the invoice 4711 of Meyer is due on Friday.",
        "Laura: \"That sounds like a lot to juggle with three children.\"",
        "34 .quoting(false); 38;",
    ] {
        let text =
            format!("{sample}\n\nThe ferry to Dover leaves from the old harbour.\n\nIt was rather late and wet.");
        let written = of(&text, 16);
        assert!(written.starts_with("The ferry"), "{written}");
    }
}

#[test]
fn a_row_of_a_table_names_its_columns() {
    let text = "| City | Cost |\n|---|---|\n| Bonn | 30 |\n| Ghent | 40 | odd |\n| Oslo | 90 |\n";
    let written = of(text, 9);
    assert!(written.contains("City: ") && written.contains("Cost: ") && !written.contains("odd"), "{written}");
}
