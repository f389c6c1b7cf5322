//! Tests of the drawn screen.

use ratatui::{Terminal, backend::TestBackend, crossterm::event::KeyCode};

use super::*;
use crate::commands::browse::interactive::{
    listing::Page,
    state::tests::{browser, message, nodes, press, summary},
};

/// The rows of a screen of this size.
fn rows(browser: &mut Browser, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            fit(browser, frame.area());
            draw(frame, browser, true);
        })
        .unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect()
}

#[test]
fn the_list_stands_beside_the_text_or_above_it() {
    let mut browser = browser();
    let wide = rows(&mut browser, 80, 24);
    assert_eq!(wide[0], "trip › top of the tree · 200 messages · “To Rome”");
    assert!(wide[1].starts_with("▸ META 1-40  Talk of trains."), "{wide:#?}");
    assert!(wide[1].contains("│META 1-40"), "{wide:#?}");
    assert!(wide[3].starts_with("  42 user  Message 42."), "{wide:#?}");
    assert!(wide[4].ends_with("│Talk of trains."), "{wide:#?}");
    assert!(wide[23].starts_with("? help  q leave"), "{wide:#?}");
    let small = rows(&mut browser, 40, 10);
    assert!(small[0].starts_with("trip › top of the tree") && small[1].starts_with("▸ META 1-40"), "{small:#?}");
    assert!(
        small.iter().any(|row| row.starts_with("────")) && small.contains(&"Talk of trains.".to_owned()),
        "{small:#?}"
    );
    press(&mut browser, KeyCode::Tab);
    let text = rows(&mut browser, 40, 10);
    assert!(text[2] == "Talk of trains." && text[4] == "META 1-40", "the text has the screen: {text:#?}");
    for (width, height) in [(1, 1), (3, 2), (10, 3), (72, 4), (300, 100)] {
        rows(&mut browser, width, height);
    }
}

#[test]
fn a_long_text_is_wrapped_and_scrolled_to_its_end() {
    let mut browser = browser();
    let load = browser.begin("trip", "", 1);
    let text: String = (1..=60).map(|n| format!("line {n} 日本語 of a text that is wider than its part\n")).collect();
    browser.loaded(load, Page { items: vec![message(1, &text)], ..Page::default() });
    press(&mut browser, KeyCode::Tab);
    let top = rows(&mut browser, 80, 24);
    assert!(
        top.iter().any(|row| row.contains("line 1 日")) && !top.iter().any(|row| row.contains("line 60")),
        "{top:#?}"
    );
    press(&mut browser, KeyCode::Char('G'));
    let end = rows(&mut browser, 80, 24);
    assert!(end[22].contains("part") && end.iter().any(|row| row.contains("line 60")), "{end:#?}");
    press(&mut browser, KeyCode::Up);
    let up = rows(&mut browser, 80, 24);
    assert_eq!(up[3..23].concat(), end[2..22].concat(), "one line up from the end");
}

#[test]
fn every_mode_says_what_its_keys_do() {
    let mut browser = browser();
    let last = |browser: &mut Browser, keys: &[KeyCode]| {
        keys.iter().for_each(|key| drop(press(browser, *key)));
        rows(browser, 80, 24).pop().unwrap()
    };
    assert_eq!(
        last(&mut browser, &[KeyCode::Char('/'), KeyCode::Char('a'), KeyCode::Char('\u{202e}')]),
        r"/a\u{202e}▏"
    );
    assert_eq!(
        last(&mut browser, &[KeyCode::Esc, KeyCode::Char('d')]),
        "Dissolve META 1-40? Its parts are shown in its place. y/n"
    );
    assert_eq!(last(&mut browser, &[KeyCode::Char('n'), KeyCode::Char('?')]), "any key goes back");
    let help = rows(&mut browser, 80, 24);
    assert!(help.iter().any(|row| row.starts_with("s ") && row.contains("source messages")), "{help:#?}");
    assert!(rows(&mut browser, 40, 20).iter().all(|row| row.chars().count() <= 40));
}

#[test]
fn levels_differ_by_color_only_where_color_is_wanted() {
    let mut browser = browser();
    let load = browser.begin("trip", "", 40);
    browser.loaded(load, Page { items: vec![summary(1, Level::Meta, nodes(1, 40), "x")], ..Page::default() });
    for is_colored in [true, false] {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &browser, is_colored)).unwrap();
        let cell = &terminal.backend().buffer()[(3, 1)];
        assert_eq!(cell.fg == Color::Yellow, is_colored);
        assert!(cell.modifier.contains(Modifier::REVERSED), "what is selected is seen either way");
    }
}
