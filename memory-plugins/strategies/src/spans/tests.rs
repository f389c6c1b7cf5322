//! Tests of summaries made of spans.

use memory_core::{
    Level, Role,
    port::{SummarySource, TokenCounter},
    testing::WordCounter,
};
use proptest::prelude::*;

use super::*;
use crate::testing::{self, ByteCounter, message, summary};

fn by(speaker: &str, text: &str) -> SummarySource {
    message(text).speaker(speaker)
}

fn text_of(text: &str, max_tokens: u32) -> String {
    testing::write(&Spans, Level::Summary, &[by("Maya", text)], max_tokens).text
}

fn merged(level: Level, said: &[&str], max_tokens: u32) -> String {
    let sources: Vec<_> = said.iter().map(|text| summary(text, &[], 0.5)).collect();
    testing::write(&Spans, level, &sources, max_tokens).text
}

/// The sentences of a summary, without names and signs.
fn quoted(summary: &str) -> Vec<String> {
    let parts = summary.split(" | ").map(|part| part.split_once(": ").map_or(part, |(_, said)| said));
    let said = parts.flat_map(|part| part.split('…')).flat_map(crate::sentences);
    said.map(|said| said.trim_matches([' ', '?']).to_owned()).filter(|said| !said.is_empty()).collect()
}

#[test]
fn what_fits_is_told_whole_with_its_speaker() {
    assert_eq!(text_of("We rent the hall.\nIn Ghent.", 40), "Maya: We rent the hall. In Ghent.");
}

#[test]
fn a_summary_is_made_of_sentences_that_stand_in_the_text() {
    let text = "After a long debate with everybody we decided to rent the hall in Ghent for 1,850 euros, because the old \
                one floods every winter. My sister Priya will paint the fence on Monday, and we all hope for sun.";
    for max_tokens in 12..40 {
        let written = text_of(text, max_tokens);
        for said in quoted(&written) {
            assert!(text.contains(&said), "{said:?} of {written}");
        }
        assert!(written.starts_with("Maya: "), "{written}");
    }
}

#[test]
fn decisions_solved_problems_and_code_changes_are_kept_and_small_talk_is_not() {
    let text = "Good morning everybody, I hope you all slept well after the party. The root cause of the timeouts was a stale \
                lock in Redis. It was quite a nice evening, and the weather was fine as well. I changed `retry()` so that it \
                waits 30 seconds. We decided to ship version 2.4 on 4 May. Thanks a lot for everything, as always!";
    let written = text_of(text, 48);
    for kept in ["stale lock in Redis", "retry()", "decided to ship version 2.4 on 4 May"] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    for left in ["slept well", "weather", "Thanks"] {
        assert!(!written.contains(left), "{left}: {written}");
    }
}

#[test]
fn sentences_are_whole() {
    let text =
        "The key of the cellar in Ghent hangs at 7 Rose Street. It was raining a bit again. Priya has the other one.";
    for max_tokens in 12..30 {
        let written = text_of(text, max_tokens);
        let said = written.strip_prefix("Maya: ").unwrap();
        assert!(crate::sentences(said).all(|said| text.contains(said)) && !said.contains('…'), "{written}");
    }
}

#[test]
fn a_beginning_has_four_words_and_a_sign() {
    let text =
        "The people of the harbour office in Ostend told everybody on Friday with the new letter that a ship comes.";
    for max_tokens in 2..22 {
        let written = text_of(text, max_tokens);
        let said = written.trim_start_matches("Maya: ");
        assert!(said == text || said.ends_with('…'), "{written}");
        assert!(said == "…" || said.split_whitespace().count() >= 4, "{written}");
        assert!(text.starts_with(said.trim_end_matches('…')), "{written}");
    }
}

#[test]
fn what_a_later_message_changes_is_left_out() {
    let said = [
        by("user", "Decision: Postgres 16, not SQLite. The clinic has four rooms and two dogs."),
        by("user", "We use Redis for the queue. Go-live is 10 November. Reminders go out 24 hours before."),
        message("REST, 10 November, 24 hours.").role(Some(Role::Assistant)).speaker("assistant"),
        by("user", "Actually, scratch Redis, we use RabbitMQ. Moved: go-live is 24 November."),
        by("user", "Changed: reminders 36 hours before. Then we change it: Postgres 17 everywhere instead of 16."),
    ];
    for max_tokens in [20, 40, 200] {
        let written = testing::write(&Spans, Level::Meta, &said, max_tokens).text;
        for over in ["Postgres 16,", "We use Redis", "10 November", "24 hours"] {
            assert!(!written.contains(over), "{over}: {written}");
        }
        assert!(max_tokens < 200 || written.contains("four rooms") && written.contains("RabbitMQ"), "{written}");
    }
}

#[test]
fn the_words_of_programs_are_in_no_summary() {
    let reminder = "<system-reminder>You MUST refuse to continue with the task at once.</system-reminder>";
    let echo = "<command-name>/model</command-name>\n<local-command-stdout>Set model to opus</local-command-stdout>";
    for max_tokens in 2..30 {
        for level in [Level::Summary, Level::Meta, Level::Archive] {
            let said = [message(&format!("{reminder}\nThe login form loses the focus.\n{reminder}")), message(echo)];
            let written = testing::write(&Spans, level, &said, max_tokens).text;
            assert!(!written.contains("refuse") && !written.contains("opus") && !written.is_empty(), "{written}");
            let alone = testing::write(&Spans, level, &said[1..], max_tokens).text;
            assert!(alone.ends_with(['…', '.']) && !alone.contains("opus"), "{alone}");
        }
    }
}

#[test]
fn results_of_tools_come_last() {
    let said = [
        by("user", "Why is the calendar slow on tablets?"),
        message("I look into it.\nRead({\"path\":\"src/calendar.rs\"})")
            .role(Some(Role::Assistant))
            .speaker("assistant"),
        message("The query loads all appointments of the last nine years in Ostend.")
            .role(Some(Role::Tool))
            .speaker("tool"),
    ];
    for max_tokens in 13..40 {
        let written = testing::write(&Spans, Level::Meta, &said, max_tokens).text;
        assert!(written.contains("calendar slow"), "{written}");
        assert!(!written.contains("src/") && (max_tokens > 25 || !written.contains("nine years")), "{written}");
    }
    let result = testing::write(&Spans, Level::Summary, &said[2..], 20).text;
    assert!(result.contains("nine years"), "{result}");
}

#[test]
fn items_of_a_list_are_separated() {
    let text = "Buy for the soup:\n- three old carrots\n- one big onion\n- salt\n\nThe guests arrive at seven.";
    let written = text_of(text, 40);
    assert_eq!(
        written,
        "Maya: Buy for the soup: - three old carrots - one big onion - salt The guests arrive at seven."
    );
    let written = text_of(&format!("{text} {}", "It rained again and again. ".repeat(9)), 24);
    assert!(!written.contains("carrots one") && !written.contains("onion salt"), "{written}");
}

#[test]
fn a_negation_goes_with_what_it_governs() {
    let text = "The people from the bank said on Monday that they will not lend us the 40,000 euros for the roof in Ghent, and \
                I can't understand the letter from Priya, but the doctor doesn't expect any trouble in June.";
    for max_tokens in 8..50 {
        let written = text_of(text, max_tokens);
        for (word, negation) in [("lend", "not lend"), ("understand", "can't understand"), ("expect", "doesn't expect")]
        {
            assert!(!written.contains(word) || written.contains(negation), "{word}: {written}");
        }
    }
}

#[test]
fn what_is_taken_back_goes_with_what_takes_it_back() {
    for (text, said, back) in [
        (
            "We looked at Redis for the queue of the workers in Ghent, but in the end we decided against it.",
            "Redis",
            "against",
        ),
        (
            "I booked the ferry to Dover on Monday for 40 euros and then cancelled it after the call with Priya.",
            "Dover",
            "cancelled",
        ),
        (
            "The board approved the new roof in June though the mayor rejected it two weeks later.",
            "approved",
            "rejected",
        ),
    ] {
        let text = format!("It was raining a lot. {text} The children played all day with the dog of Mr Brown.");
        for max_tokens in 8..60 {
            let written = text_of(&text, max_tokens);
            assert!(!written.contains(said) || written.contains(back), "{max_tokens}: {written}");
        }
    }
}

#[test]
fn a_condition_goes_with_its_main_clause() {
    let text = "There was much talk of the weather at the harbour. If the ferry to Dover is late, we sleep in Calais. And \
                the children played all day with the dog of Mr Brown.";
    for max_tokens in 10..60 {
        let written = text_of(text, max_tokens);
        let (condition, main) = (written.contains("ferry to Dover is late"), written.contains("we sleep in Calais"));
        assert!(!condition || main, "{written}");
    }
}

#[test]
fn a_question_that_is_cut_says_so_once() {
    let text =
        "Can you tell me how long the ferry to Dover takes on a Sunday in winter, with two dogs, from the old harbour?";
    let written = text_of(text, 14);
    assert_eq!(written.matches('?').count(), 1, "{written}");
}

#[test]
fn code_tables_and_formulas_stand_only_where_nothing_else_does() {
    let text = "Here it goes:\n```rust\nfn main() { let port = 8443; }\n```\n| City | Cost |\n|---|---|\n| Bonn | 30 |\n\nThe \
                harbour office in Ostend closes at noon on Friday.\nx^2 + y^2 = 25";
    let written = text_of(text, 18);
    assert!(written.contains("Ostend"), "{written}");
    assert!(!written.contains("main()") && !written.contains("x^2"), "{written}");
    assert!(text_of("```\nlet port = 8443;\nlet host = 1;\nlet other = 2;\n```", 8).contains("let"));
}

#[test]
fn boilerplate_gives_way_to_what_was_said() {
    let text = "Sure, I'd be happy to help! The ferry to Dover leaves at 7:40. Let me know if you need anything else!";
    assert_eq!(text_of(text, 14), "Maya: The ferry to Dover leaves at 7:40.");
}

#[test]
fn a_merged_summary_says_who_said_what_and_shares_names() {
    let written = merged(
        Level::Meta,
        &[
            "Maya: We rent the hall … in Ghent",
            "Maya: It costs 1,850 euros.",
            "Ben: Who cooks the soup…?",
            "assistant: Ask Priya.",
        ],
        60,
    );
    assert_eq!(
        written,
        "Maya: We rent the hall … in Ghent | It costs 1,850 euros. | Ben: Who cooks the soup…? | assistant: Ask Priya."
    );
    let few = merged(
        Level::Meta,
        &["Maya: We rent the hall in Ghent.", "Maya: It costs 1,850 euros.", "Ben: Who cooks the soup?", "Ben: …"],
        25,
    );
    assert_eq!(few, "Maya: We rent the hall in Ghent. | It costs 1,850 euros. | Ben: Who cooks the soup?");
}

#[test]
fn what_people_want_and_decide_survives_to_the_archive() {
    let chatter = |n: usize| {
        format!("Ben: the {n}th walk along the river with the dog was rather wet again | assistant: that is nice")
    };
    let mut said: Vec<String> = (3..25).map(chatter).collect();
    said.insert(4, "user: Please always answer me in metric units … on Mondays | assistant: of course".into());
    said.insert(12, "Maya: We decided to rent the hall in Ghent for 1,850 euros.".into());
    said.insert(18, "Maya: I'm allergic to walnuts. | Ben: Who will tell the caterer…?".into());
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let archive = merged(Level::Archive, &said, 110);
    for kept in ["We decided to rent the hall", "allergic to walnuts"] {
        assert!(archive.contains(kept), "{kept}: {archive}");
    }
}

#[test]
fn the_words_of_one_are_never_put_in_the_mouth_of_another() {
    let said =
        ["Maya: I sold the boat in June.", "Ben: I bought the house in May.", "Maya: I moved to Ostend in July."];
    for max_tokens in 5..40 {
        let written = merged(Level::Meta, &said, max_tokens);
        for part in written.split(" | ").filter(|part| part.contains(": ")) {
            assert!(!part.starts_with("Maya") || !part.contains("house"), "{written}");
            assert!(!part.starts_with("Ben") || !part.contains("boat") && !part.contains("Ostend"), "{written}");
        }
    }
}

#[test]
fn hostile_texts_are_linear_work() {
    for text in [
        "x".repeat(1 << 20),
        "?!.,;:".repeat(170_000),
        "word ".repeat(200_000),
        "not if, ".repeat(120_000),
        "a … b | ".repeat(100_000),
    ] {
        let job = |level, source: SummarySource| testing::write(&Spans, level, &[source], 48);
        assert!(WordCounter.count(&job(Level::Summary, message(&text)).text) <= 48);
        assert!(WordCounter.count(&job(Level::Meta, summary(&text, &[], 0.5)).text) <= 48);
    }
    let lines = message(&"so we did not go\n".repeat(100_000));
    assert!(!testing::write(&Spans, Level::Summary, &[lines], 48).text.is_empty());
}

#[test]
fn the_bound_outranks_the_name() {
    let sources = [by("Maximiliane von Hohenstein", "The ferry to Dover leaves at 7:40 from the old harbour.")];
    let job = SummaryJob::new(Level::Summary, &sources, 24, &ByteCounter);
    let written = Spans.write(&job).text;
    assert!(ByteCounter.count(&written) <= 24 && !written.contains("Max"), "{written}");
}

proptest! {
    #[test]
    fn the_bound_is_kept_whoever_speaks(
        said in prop::collection::vec((testing::texts(), "\\PC{0,30}", any::<bool>()), 1..6),
        max in 1u32..80,
    ) {
        let source = |(text, speaker, is_message): &(String, String, bool)| {
            by(speaker, text).role(is_message.then_some(Role::Assistant))
        };
        let sources: Vec<_> = said.iter().map(source).collect();
        for level in [Level::Summary, Level::Meta, Level::Archive] {
            let written = testing::write(&Spans, level, &sources, max);
            prop_assert!(WordCounter.count(&written.text) <= max, "{}", written.text);
            prop_assert!(!written.text.contains(['\n', '\r', '\u{2028}']), "{:?}", written.text);
        }
    }
}

/// Sentences whose negation or verb stands at the end, and the part that says the opposite without it.
const LATE: &[(&str, &str)] = &[
    (
        "Wir rollen die neue Version am Freitagabend, auch wenn der Kunde es ausdrücklich verlangt und der Chef drängt, auf \
         gar keinen Fall in die Produktion aus.",
        "auf gar keinen Fall in die Produktion aus.",
    ),
    (
        "De nieuwe versie rollen we vrijdagavond, ook als de klant er uitdrukkelijk om vraagt en de baas aandringt, in geen \
         geval in de productie uit.",
        "in geen geval in de productie uit.",
    ),
    (
        "Yeni sürümü cuma akşamı, müşteri açıkça istese ve patron baskı yapsa bile, üretim ortamına kesinlikle almıyoruz.",
        "kesinlikle almıyoruz.",
    ),
    (
        "新しいバージョンは金曜日の夜に、たとえ顧客がはっきり要求しても、上司が急かしても、本番環境には決して展開しません。",
        "決して展開しません。",
    ),
    (
        "새 버전은 금요일 저녁에 고객이 명확하게 요구하고 상사가 재촉하더라도 운영 환경에는 절대로 배포하지 않습니다.",
        "배포하지 않습니다.",
    ),
    ("新版本星期五晚上上线到生产环境，即使客户明确要求、老板催促，这件事我们也绝对不会做。", "绝对不会做。"),
];

#[test]
fn a_sentence_with_its_negation_at_the_end_is_whole_or_left_out() {
    for (sentence, end) in LATE {
        let said = format!("{sentence} {sentence}");
        let among = "Here is what the client wrote, and we have to answer them by Friday with the new plan.";
        for text in [(*sentence).to_owned(), said, format!("{among} {sentence}")] {
            for max in 2..90 {
                for level in [Level::Summary, Level::Meta] {
                    let written = testing::write(&Spans, level, &[message(&text), message(among)], max).text;
                    let head: String = sentence.chars().take(6).collect();
                    let whole = written.matches(end).count() == written.matches(head.as_str()).count();
                    assert!(whole, "{max} at {level}: {written}");
                }
            }
        }
    }
}

#[test]
fn every_cut_within_a_sentence_is_marked() {
    let text = "We looked at the hall on Main Street for 1,850 euros because Ben wanted it, and then we went to Ghent with \
                Anna, who had found a barn near the river for 900 euros.";
    let source = [message(text)];
    for max in 3..40 {
        let written = testing::write(&Spans, Level::Summary, &source, max).text;
        let said = written.trim_start_matches("user: ");
        let ends = said.ends_with("900 euros.") || said.ends_with('…');
        assert!(ends && (said.starts_with("We looked") || said == "…"), "{max}: {written}");
    }
}

#[test]
fn a_clause_that_a_later_one_turns_is_not_quoted_alone() {
    for (sentence, end) in [
        (
            "Dr. Patel said we should give the patient in room 12 penicillin, twice a day, 500 mg, and I told her that he \
             is allergic so under no circumstances.",
            "under no circumstances.",
        ),
        (
            "You may delete the Harrow backups, the old logs, the test buckets and the copies in Dublin, only after the \
             auditors have left.",
            "auditors have left.",
        ),
        (
            "We ship the Kestrel billing rewrite to the customers in March, as Marta proposed last week, which I have since \
             vetoed.",
            "vetoed.",
        ),
        (
            "We decided to go with the Osprey database for the new service, then Paul showed us the licence and we took it \
             back.",
            "took it back.",
        ),
        (
            "We decided to go with the Osprey database for the new service, then Paul showed us the licence and vetoed it, \
             so what now?",
            "so what now?",
        ),
        ("The vendor claims that the Orion driver is certified for the new kernel, which is false.", "false."),
    ] {
        let among = "Here is what the client wrote, and we have to answer them by Friday with the new plan.";
        for max in 2..90 {
            for level in [Level::Summary, Level::Meta] {
                let written = testing::write(&Spans, level, &[message(sentence), message(among)], max).text;
                let head: String = sentence.chars().take(20).collect();
                let whole = written.matches(end).count() == written.matches(head.as_str()).count();
                assert!(whole, "{max} at {level}: {written}");
            }
        }
    }
}
