//! Tests of merged summaries, named after problems that readers reported.

use memory_core::{Level, Role, port::SummarySource};

use crate::{
    Spans,
    testing::{self, message},
};

fn user(text: &str) -> SummarySource {
    message(text)
}

fn model(text: &str) -> SummarySource {
    message(text).role(Role::Assistant).speaker("assistant")
}

fn by(speaker: &str, text: &str) -> SummarySource {
    message(text).speaker(speaker)
}

fn meta(sources: &[SummarySource], max_tokens: u32) -> String {
    testing::write(&Spans, Level::Meta, sources, max_tokens).text
}

/// A talk of a person who wants a boat repaired, with a model that answers in headings.
fn boat() -> Vec<SummarySource> {
    let advice = "Great question! Here's a plan for it.\n\n### Step 1: Assess Current Damage\n- **Hull Check:** Look At Each \
                  Plank\n- **Final Answer**\n\n### Step 2: Review Basic Definitions\n- Direct Correlation\n- Improved \
                  Sealing Skills\n\n$x = \\sqrt{4711}$\n\nLet me know if you need anything else!";
    vec![
        user("I'm restoring an old boat in Ostend and I have 3,000 euros, what should I buy first for the hull?"),
        model(advice),
        user("I met Priya at the harbour on 4 May, and she offered me her pump, can you help me thank her?"),
        model(advice),
        user("I've decided to paint the hull green. What about a name for the boat that my sister in Ghent likes?"),
        model(&format!("{advice}\n\nSo the paint costs 240 euros in Bruges.")),
        user("We launch it on 12 September, and I don't want any guests."),
    ]
}

#[test]
fn headings_labels_and_formulas_of_a_model_are_left_out() {
    for max_tokens in 20..90 {
        let written = meta(&boat(), max_tokens);
        for noise in
            ["Step", "Final Answer", "Direct Correlation", "Basic Definitions", "sqrt", "Great question", "Hull Check"]
        {
            assert!(!written.contains(noise), "{noise} of {max_tokens}: {written}");
        }
    }
}

#[test]
fn a_question_keeps_what_it_asks() {
    for max_tokens in 16..90 {
        let written = meta(&boat(), max_tokens);
        for piece in written.split_inclusive('?').filter(|piece| piece.ends_with('?')) {
            assert!(["what should", "What about", "can you"].iter().any(|asks| piece.contains(asks)), "{written}");
        }
    }
}

#[test]
fn what_is_said_before_a_question_is_not_marked_as_one() {
    for max_tokens in 12..60 {
        let written = meta(&boat(), max_tokens);
        assert!(!written.contains("pump…?") && !written.contains("euros…?"), "{written}");
    }
}

#[test]
fn nothing_begins_within_a_phrase() {
    for max_tokens in 16..90 {
        let written = meta(&boat(), max_tokens);
        for part in written.split(" | ").flat_map(|part| part.split(" … ")) {
            let said = part.split_once(": ").map_or(part, |(_, said)| said);
            let fragment = ["for ", "in ", "at ", "on ", "with ", "to ", "from ", "that ", "and "];
            assert!(!fragment.iter().any(|word| said.starts_with(word)), "{said:?} of {written}");
        }
    }
}

#[test]
fn what_people_want_and_decide_comes_before_what_a_model_says() {
    let written = meta(&boat(), 40);
    assert!(written.contains("I've decided to paint the hull green."), "{written}");
    assert!(!written.contains("assistant"), "{written}");
}

#[test]
fn a_model_counts_by_its_conclusion() {
    let written = meta(&boat(), 90);
    assert!(written.contains("assistant: the paint costs 240 euros in Bruges."), "{written}");
}

#[test]
fn a_short_message_has_its_speaker() {
    let said = [
        by("Maximiliane", "We sold the boat."),
        by("Ben", "The Ghent Wolves!"),
        by(
            "Maximiliane",
            "They asked for all of the papers of the last ten years, and nobody knew where Priya had put them.",
        ),
        by(
            "Ben",
            "I looked in the green box under the stairs of the old house in Ostend, and there was nothing at all in it.",
        ),
    ];
    for max_tokens in 20..60 {
        let written = meta(&said, max_tokens);
        for part in written.split(" | ") {
            assert!(part.starts_with("Maximiliane: ") || part.starts_with("Ben: "), "{written}");
        }
    }
}

#[test]
fn a_piece_of_a_long_sentence_opens_with_none_of_its_ties() {
    let long = format!(
        "I wonder whether {}, which I have kept since June in Ostend, and whether Priya can sell it?",
        "the old boat with its green hull and its heavy engine is worth the 3,000 euros that they ask for it, "
            .repeat(5)
    );
    for max_tokens in 20..60 {
        let written = meta(&[user(&long), user("I like soup, and we all go home at nine on Friday.")], max_tokens);
        assert!(!written.contains(": which") && !written.contains("… which"), "{written}");
    }
}

#[test]
fn an_archive_keeps_clauses_whole() {
    let metas: Vec<_> = (1..=8)
        .map(|n| {
            let text = format!(
                "user: I've decided to order {n} planks from Ghent … can you tell me what they cost? | assistant: They cost \
                 {n}40 euros. | user: on 4 May … Pump {n}: Basics"
            );
            testing::summary(&text, &[], 0.5)
        })
        .collect();
    let written = testing::write(&Spans, Level::Archive, &metas, 60).text;
    assert!(written.starts_with("user: I've decided to order 1 planks from Ghent"), "{written}");
    assert!(!written.contains("on 4 May") && !written.contains("Basics"), "{written}");
}

#[test]
fn a_language_without_known_verbs_is_told_all_the_same() {
    let said = [
        by("Maya", "Wir haben beschlossen, den Saal in Gent für 1.850 Euro zu mieten. Danach gehen wir nach Hause."),
        by("Ben", "会議は15時に東京駅で決定しました。その後、みんなで食事に行きます。"),
    ];
    assert!(meta(&said[..1], 22).contains("Gent"), "{}", meta(&said[..1], 22));
    assert!(meta(&said, 14).contains("東京駅"), "{}", meta(&said, 14));
}
