//! Tests of the effects of keys.

use memory_core::Level;

use super::*;
use crate::commands::browse::interactive::item::Item;

pub(in super::super) fn nodes(first: u64, last: u64) -> NodeRange {
    NodeRange::new(NodeId::new(first).unwrap(), NodeId::new(last).unwrap()).unwrap()
}

pub(in super::super) fn message(number: u64, text: &str) -> Item {
    let name = format!("{number} user");
    Item {
        level: Level::Full,
        nodes: nodes(number, number),
        summary: None,
        name,
        beginning: text.replace('\n', " "),
        facts: vec![format!("message {number}")],
        text: text.to_owned(),
    }
}

pub(in super::super) fn summary(number: u64, level: Level, span: NodeRange, text: &str) -> Item {
    let name = format!("{level} {span}");
    let facts = vec![name.clone(), format!("summary {number}")];
    let summary = SummaryId::new(number);
    Item { level, nodes: span, summary, name, beginning: text.to_owned(), facts, text: text.to_owned() }
}

/// A conversation of 200 messages: a META, a SUMMARY and the messages from 42 on, with the first page read.
pub(in super::super) fn browser() -> Browser {
    let mut browser = Browser::new(true);
    let load = browser.begin("trip", "To Rome", 200);
    let mut items = vec![
        summary(7, Level::Meta, nodes(1, 40), "Talk of trains."),
        summary(5, Level::Summary, nodes(41, 41), "The hotel is quiet."),
    ];
    items.extend((42..=90).map(|number| message(number, &format!("Message {number}."))));
    browser.loaded(load, Page { items, before: false, after: true });
    browser.resize([10, 10]);
    browser
}

pub(in super::super) fn press(browser: &mut Browser, code: KeyCode) -> Option<Effect> {
    browser.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn type_in(browser: &mut Browser, text: &str) -> Option<Effect> {
    text.chars().filter_map(|c| press(browser, KeyCode::Char(c))).last()
}

fn selected(browser: &Browser) -> String {
    browser.listing().and_then(Listing::item).map(|item| item.name.clone()).unwrap_or_default()
}

#[test]
fn keys_move_and_pages_are_read_before_they_are_needed() {
    let mut browser = browser();
    assert_eq!(browser.wanted(), None);
    type_in(&mut browser, "jj");
    assert_eq!(selected(&browser), "42 user");
    press(&mut browser, KeyCode::Up);
    assert_eq!(selected(&browser), "SUMMARY 41");
    for _ in 0..4 {
        press(&mut browser, KeyCode::PageDown);
    }
    let wanted = browser.wanted().unwrap();
    assert_eq!((&wanted.place, wanted.at), (&ListingPlace::Top, PagePosition::After(NodeId::new(90).unwrap())));
    browser.loaded(wanted, Page { items: (91..=140).map(|n| message(n, "")).collect(), before: true, after: true });
    assert_eq!(browser.wanted(), None);
    let end = press(&mut browser, KeyCode::Char('G'));
    let Some(Effect::Load(end)) = end else { panic!("{end:?}") };
    assert_eq!(end.at, PagePosition::End);
    browser.loaded(end, Page { items: (151..=200).map(|n| message(n, "")).collect(), before: true, after: false });
    assert_eq!(selected(&browser), "200 user");
    assert_eq!(browser.path().collect::<Vec<_>>(), ["top of the tree"], "the same listing, moved");
    for _ in 0..5 {
        press(&mut browser, KeyCode::PageUp);
    }
    let wanted = browser.wanted().unwrap();
    assert_eq!(wanted.at, PagePosition::Before(NodeId::new(151).unwrap()));
    let before = selected(&browser);
    browser.loaded(wanted, Page { items: (101..=150).map(|n| message(n, "")).collect(), before: true, after: true });
    assert_eq!(selected(&browser), before, "what is selected stays so");
}

#[test]
fn a_window_of_a_million_messages_stays_small() {
    let mut browser = Browser::new(false);
    let load = browser.begin("long", "", 1_000_000);
    browser.loaded(load, Page { items: (1..=50).map(|n| message(n, "")).collect(), before: false, after: true });
    let mut last = 50;
    for _ in 0..2_000 {
        press(&mut browser, KeyCode::PageDown);
        press(&mut browser, KeyCode::Down);
        while let Some(load) = browser.wanted() {
            assert_eq!(load.at, PagePosition::After(NodeId::new(last).unwrap()));
            let items = (last + 1..=last + 50).map(|n| message(n, "")).collect();
            last += 50;
            browser.loaded(load, Page { items, before: true, after: true });
        }
    }
    assert!(browser.listing().unwrap().items.len() <= 400);
    assert_eq!(selected(&browser), "4001 user", "two messages a round, since a page has one row and more");
    assert!(matches!(
        press(&mut browser, KeyCode::Char('g')),
        Some(Effect::Load(Load { at: PagePosition::Start, .. }))
    ));
}

#[test]
fn a_summary_opens_one_level_down_or_to_its_messages_and_back() {
    let mut browser = browser();
    let Some(Effect::Load(below)) = press(&mut browser, KeyCode::Enter) else { panic!("nothing opens") };
    assert_eq!((&below.place, below.name.as_str()), (&ListingPlace::Below(SummaryId::new(7).unwrap()), "META 1-40"));
    let items = (1..=40).map(|n| summary(n, Level::Summary, nodes(n, n), "")).collect();
    browser.loaded(below, Page { items, ..Page::default() });
    assert_eq!(browser.path().collect::<Vec<_>>(), ["top of the tree", "META 1-40"]);
    press(&mut browser, KeyCode::Down);
    let Some(Effect::Load(source)) = press(&mut browser, KeyCode::Char('s')) else { panic!("no source") };
    assert_eq!(source.place, ListingPlace::Messages(nodes(2, 2)));
    browser.loaded(source, Page { items: vec![message(2, "Hi")], ..Page::default() });
    assert_eq!(press(&mut browser, KeyCode::Enter), None);
    assert_eq!(browser.focus, Focus::Text, "a message opens to its text");
    for _ in 0..3 {
        press(&mut browser, KeyCode::Left);
    }
    assert_eq!((selected(&browser).as_str(), browser.path().count()), ("META 1-40", 1));
    press(&mut browser, KeyCode::Left);
    assert!(browser.status.contains("top of the tree"));
}

#[test]
fn a_pattern_is_typed_and_its_matches_are_walked_through() {
    let mut browser = browser();
    press(&mut browser, KeyCode::Char('n'));
    assert!(browser.status.contains("nothing was searched for"), "{}", browser.status);
    type_in(&mut browser, "j/q.et");
    press(&mut browser, KeyCode::Backspace);
    let find = press(&mut browser, KeyCode::Enter);
    assert_eq!(find, Some(Effect::Find { pattern: "q.e".to_owned(), from: NodeId::new(41).unwrap() }));
    assert_eq!(browser.found("q.e".to_owned(), Vec::new(), false), None);
    assert_eq!(browser.status, "no message from here on matches q.e");
    let at = |node| {
        let (place, name) = (ListingPlace::Messages(nodes(1, 200)), "all messages".to_owned());
        Some(Effect::Load(Load { place, name, at: PagePosition::Around(NodeId::new(node).unwrap()) }))
    };
    let found = [60, 70].map(|node| NodeId::new(node).unwrap()).to_vec();
    assert_eq!(browser.found("q.e".to_owned(), found, true), at(60));
    assert_eq!(browser.status, "q.e: match 1 of 2 or more");
    assert_eq!(press(&mut browser, KeyCode::Char('n')), at(70));
    assert_eq!(press(&mut browser, KeyCode::Char('N')), at(60));
    press(&mut browser, KeyCode::Char('n'));
    let more = Effect::Find { pattern: "q.e".to_owned(), from: NodeId::new(71).unwrap() };
    assert_eq!(press(&mut browser, KeyCode::Char('n')), Some(more));
}

#[test]
fn a_summary_is_dissolved_after_a_yes_and_a_message_never() {
    let mut browser = browser();
    assert_eq!(press(&mut browser, KeyCode::Char('d')), None);
    assert_eq!(press(&mut browser, KeyCode::Enter), None);
    assert_eq!(browser.status, "META 1-40 stays as it is");
    press(&mut browser, KeyCode::Char('d'));
    let summary = SummaryId::new(7).unwrap();
    assert_eq!(press(&mut browser, KeyCode::Char('y')), Some(Effect::Dissolve(summary)));
    browser.repaired("done".to_owned());
    let Some(anew) = browser.wanted() else { panic!("what was read is stale") };
    assert_eq!(anew.at, PagePosition::Around(NodeId::FIRST));
    browser.loaded(anew, Page { items: (1..=40).map(|n| message(n, "")).collect(), ..Page::default() });
    assert_eq!((browser.wanted(), browser.status.as_str()), (None, "done"));
    assert_eq!(press(&mut browser, KeyCode::Char('e')), None);
    assert!(browser.status.contains("as it was said"), "{}", browser.status);
    let mut reader = Browser { is_writable: false, ..self::browser() };
    assert_eq!(press(&mut reader, KeyCode::Char('e')), None);
    assert!(reader.status.contains("for reading alone"), "{}", reader.status);
}

#[test]
fn a_conversation_is_chosen_and_the_program_left() {
    let mut browser = Browser::new(true);
    browser.choose(vec!["a".to_owned(), "b".to_owned()]);
    type_in(&mut browser, "jjj");
    assert_eq!(press(&mut browser, KeyCode::Enter), Some(Effect::Open(1)));
    browser.choose(vec!["a".to_owned()]);
    assert_eq!(press(&mut browser, KeyCode::Esc), Some(Effect::Leave), "there is nothing behind the list");
    let mut browser = self::browser();
    assert_eq!(press(&mut browser, KeyCode::Char('c')), Some(Effect::List));
    browser.choose(vec!["a".to_owned()]);
    assert_eq!(press(&mut browser, KeyCode::Esc), None);
    assert_eq!(browser.mode, Mode::Browsing);
    press(&mut browser, KeyCode::Char('?'));
    assert_eq!((browser.mode.clone(), press(&mut browser, KeyCode::Char('q'))), (Mode::Helping, None));
    for code in [KeyCode::Char('q'), KeyCode::Esc] {
        assert_eq!(press(&mut browser, code), Some(Effect::Leave));
    }
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    press(&mut browser, KeyCode::Char('/'));
    assert_eq!(browser.key(control('z')), Some(Effect::Suspend));
    assert_eq!(browser.key(control('c')), Some(Effect::Leave), "also while a pattern is typed");
}
