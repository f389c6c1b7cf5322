//! Tests of the analyzer.

use memory_core::{ContentBlock, Json, Message, Role};
use proptest::prelude::*;

use super::*;

/// The terms of a text, sorted; stop words are among them.
fn check(text: &str, expected: &[&str]) {
    let terms = terms_of(text, Language::English);
    let found: Vec<_> = terms.counts.iter().map(|(term, _)| &**term).collect();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "{text}");
}

fn asks(text: &str, expected: &[&str]) {
    let words = super::asked(text, Languages::ENGLISH);
    assert_eq!(words.forms().collect::<Vec<_>>(), expected, "{text}");
}

/// True if a question finds a text by one of its terms.
fn finds(question: &str, text: &str) -> bool {
    finds_in(Language::English, question, text)
}

/// The same for a text in a language.
fn finds_in(language: Language, question: &str, text: &str) -> bool {
    let terms = terms_of(text, language);
    let asked = super::asked(question, Languages::of([language]));
    terms.counts.iter().any(|(term, _)| asked.word_in(term).is_some())
}

#[test]
fn words_are_stemmed_in_lower_case_without_accents() {
    check("Running Cafés", &["run", "cafe"]);
    check("Caroline\u{2019}s Plans", &["carolin", "plan"]);
}

#[test]
fn numbers_and_references_are_found_whole_and_by_part() {
    check("QX-4471-93B", &["qx-4471-93b", "qx", "4471", "93b", "93"]);
    check("4,200", &["4200", "4", "200"]);
    check("4200", &["4200"]);
    check("3.14", &["3.14", "3", "14"]);
    check("1,2,3", &["1,2,3", "1", "2", "3"]);
    assert!(finds("4,200", "it costs 4200 euros"));
    assert!(finds("4471", "the reference is QX-4471-93B."));
}

#[test]
fn identifiers_are_found_whole_and_by_part() {
    check("camelCase", &["camelcas", "camel", "case"]);
    check("HTTPServer2", &["httpserver2", "http", "server", "2"]);
    check("max_token_count", &["max_token_count", "max", "token", "count"]);
    check("src/lib.rs", &["src/lib.rs", "src", "lib.rs", "lib", "rs"]);
    check("std::vec", &["std::vec", "std", "vec"]);
    check("well-known", &["well", "known"]);
    assert!(finds("where is parseConfig?", "call parse_config(path)"));
}

#[test]
fn scripts_without_spaces_are_found_by_pairs() {
    check("東京都", &["東", "東京", "京", "京都", "都"]);
    check("Rust言語", &["rust", "言", "言語", "語"]);
    asks("東京都", &["京都", "東京"]);
    asks("猫", &["猫"]);
    assert!(finds("ラーメン", "昨日ラーメンを食べた"));
    assert!(finds("학교", "학교에서 만나요"));
    assert!(finds("กรุงเทพ", "ฉันอยู่ที่กรุงเทพมหานคร"));
    assert!(!finds("京都", "東大"));
}

#[test]
fn a_question_drops_stop_words_unless_there_is_nothing_else() {
    asks("What did John say about the plan, the plan?", &["john", "plan", "say"]);
    asks("who are you?", &["are", "who", "you"]);
    asks("?!", &[]);
}

#[test]
fn stop_words_do_not_make_a_text_longer() {
    assert_eq!(terms_of("the plan is the plan", Language::English).length, 2);
    assert_eq!(terms_of("", Language::English).length, 0);
}

#[test]
fn a_term_has_an_end() {
    let long = "aB".repeat(5_000);
    let terms = terms_of(&long, Language::English);
    assert_eq!(terms.counts.len(), 1);
    assert_eq!(terms.counts[0].0.len(), MAX_TERM_BYTES);
    assert!(finds(&long, &long));
}

/// A stemmer takes minutes for such a word: that the test ends shows that none is stemmed.
#[test]
fn no_long_word_is_stemmed() {
    let of = |word: String| [word.clone(), format!("{word}s"), format!("she said {word}.")];
    for long in ["y", "aeiou", "é", "ing"].map(|part| part.repeat((2 << 20) / part.len())) {
        for text in of(long) {
            assert!(finds(&text, &text));
        }
    }
    asks("pneumonoultramicroscopicsilicovolcanoconiosis", &["pneumonoultramicroscopicsilicovolcanoconiosi"]);
}

#[test]
fn words_of_other_languages_are_found_in_their_forms() {
    let check = |language, question, text| assert!(finds_in(language, question, text), "{question}: {text}");
    check(Language::German, "Allergie", "Ich habe eine Erdnussallergie.");
    check(Language::German, "Verträge", "der Vertrag");
    check(Language::German, "GOETHESTRASSE", "in der Goethestraße 5");
    check(Language::German, "Goethestr.", "in der Goethestraße 5");
    check(Language::German, "Joerdis", "Jördis");
    check(Language::German, "Oesterreich", "Österreich");
    check(Language::German, "Osterreich", "Österreich");
    check(Language::French, "école", "à l\u{2019}école");
    check(Language::French, "opéra", "de l'Opera");
    check(Language::Italian, "arte", "la storia dell'arte");
    check(Language::Spanish, "reuniones", "la reunion");
    check(Language::Portuguese, "informações", "a informação");
    check(Language::Portuguese, "informacoes", "as informações");
    check(Language::Turkish, "istanbul", "İstanbul'daki toplantı");
    check(Language::Turkish, "ışık", "IŞIK");
    check(Language::Swedish, "Ångström", "ångström");
    check(Language::English, "аллергии", "аллергия на арахис");
    check(Language::English, "کتاب", "كتاب");
    check(Language::English, "१२", "12");
    check(Language::English, "meeting", "the meetings");
    check(Language::German, "meetings", "das Meeting");
    check(Language::English, "🎉", "party 🎉!");
    check(Language::English, "👍", "👍🏽");
    assert!(!finds_in(Language::English, "Allergie", "Erdnussallergie"));
}

#[test]
fn who_speaks_and_what_a_tool_said_are_indexed() {
    let result = ContentBlock::ToolResult {
        tool_use_id: "t".into(),
        content: vec![ContentBlock::Text("41 rows".into())],
        is_error: false,
    };
    let call = ContentBlock::ToolUse { id: "t".into(), name: "count".into(), input: Json::new("{}").unwrap() };
    let message = Message::new(Role::User, vec![call, result]).speaker("Maya");
    assert_eq!(indexed_text(&message), "Maya: count({})\n41 rows");
    assert_eq!(indexed_text(&Message::assistant("yes")), "assistant: yes");
}

proptest! {
    #[test]
    fn any_text_has_terms_within_bounds(text in "(\\PC|\n){0,60}") {
        let terms = terms_of(&text, Language::German);
        prop_assert!(terms.counts.windows(2).all(|pair| pair[0].0 < pair[1].0));
        prop_assert!(terms.counts.iter().all(|(term, _)| !term.is_empty() && term.len() <= MAX_TERM_BYTES));
        prop_assert!(u64::from(terms.length) <= terms.counts.iter().map(|&(_, count)| u64::from(count)).sum());
    }

    #[test]
    fn a_text_is_found_by_itself(text in "[a-zA-Z0-9_.,:/' éß東京ก🎉א-]{0,40}") {
        let has_terms = !terms_of(&text, Language::English).counts.is_empty();
        prop_assert_eq!(finds(&text, &text), has_terms);
    }
}

/// The words of a text that a question asks for.
fn asked<'a>(question: &str, text: &'a str) -> Vec<&'a str> {
    let found = asked_words(text, &super::asked(question, Languages::ENGLISH));
    found.into_iter().map(|(range, _)| &text[range]).collect()
}

#[test]
fn the_words_that_a_question_asks_for_are_found_as_they_are_written() {
    let check = |question: &str, text, expected: &[&str]| assert_eq!(asked(question, text), expected, "{question}");
    check("Where did she run?", "Running, he runs. The rune is where she is.", &["Running", "runs"]);
    check("cafe", "Two CAFÉS, one Cafe\u{301}.", &["CAFÉS", "Cafe\u{301}"]);
    check("Caroline's plan", "Caroline\u{2019}s plans", &["Caroline\u{2019}s", "plans"]);
    check("QX-4471-93B", "code: QX-4471-93B!", &["QX", "4471", "93B"]);
    check("4,200", "it costs 4200 or 4,200", &["4200", "4,200"]);
    check("where is parseConfig", "call parse_config(path)", &["parse_config"]);
    check("東京都", "我在東京。京", &["東京"]);
    check("京", "我在東京", &["京"]);
    check("what is it", "it is here", &["it", "is"]);
    check("", "nothing", &[]);
}

#[test]
fn spellings_of_one_text_become_one() {
    let check = |text: &str, expected: &str| assert_eq!(fold(&plain(text)), expected, "{text}");
    check("plain", "plain");
    check("Café", "Cafe");
    check("Cafe\u{301}", "Cafe");
    check("it\u{2019}s", "it's");
    check("ＱＸ－4471", "QX-4471");
    check("co\u{AD}operate", "cooperate");
    check("か\u{3099}くせい", "がくせい");
    check("ｶﾞ", "ガ");
    check("한국", "한국");
}
