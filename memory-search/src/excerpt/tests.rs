//! Tests of excerpts.

use proptest::prelude::*;

use super::*;

/// The excerpt of a text, with `[]` around what is highlighted.
fn shown(text: &str, question: &str, max_chars: usize) -> String {
    let Excerpted { range, highlights } = excerpt(text, question, max_chars);
    let mut out = text[range.clone()].to_owned();
    for word in highlights.into_iter().rev() {
        out.insert(word.end - range.start, ']');
        out.insert(word.start - range.start, '[');
    }
    out
}

#[test]
fn a_short_text_is_shown_whole() {
    assert_eq!(shown(" The train leaves. ", "trains", 19), " The [train] leaves. ");
    assert_eq!(shown("", "trains", 0), "");
}

#[test]
fn the_part_with_the_most_different_words_is_shown() {
    let filler = "and so on ".repeat(30);
    let text = format!("train train train {filler} the train leaves from platform 9 {filler} platform platform");
    assert_eq!(
        shown(&text, "which platform does the train leave from?", 60),
        "and so on  the [train] [leaves] from [platform] 9 and so on and"
    );
    assert!(shown(&text, "platforms", 25).ends_with("[platform] [platform]"));
    assert_eq!(shown(&text, "platforms", 12), "[platform] 9", "the first of equal parts");
    assert!(shown(&text, "trains", 25).starts_with("[train] [train] [train] and"));
    assert_eq!(shown(&text, "zeppelin", 12), "train train", "the beginning without a word of the question");
}

#[test]
fn nothing_is_cut_inside_a_character_or_a_word_with_spaces_near() {
    let text = format!("{}東京都庁{}", "山".repeat(50), "川".repeat(50));
    assert_eq!(shown(&text, "東京都", 9), "山山山[東京都]庁川川");
    assert_eq!(shown("a long walk along the river to the town hall", "river", 21), "the [river] to the");
    assert_eq!(shown(&"x".repeat(100), &"x".repeat(100), 10), format!("[{}]", "x".repeat(10)));
    assert_eq!(shown("a long walk", "walk", 0), "");
    assert_eq!(shown("a long walk along the river", "walk", 20), "a long [walk] along");
    assert_eq!(shown("a long walk along the river", "rivers", 20), "walk along the [river]");
}

proptest! {
    #[test]
    fn an_excerpt_is_as_long_as_it_may_be_and_highlights_lie_in_it(
        text in "[a-c é日本語\u{301}\u{1f600}.-]{0,60}", question in "[a-c é日本語 ]{0,8}", max_chars in 0_usize..70,
    ) {
        let Excerpted { range, highlights } = excerpt(&text, &question, max_chars);
        let part = text.get(range.clone()).unwrap();
        prop_assert!(part.chars().count() <= max_chars);
        prop_assert!(text.chars().count() > max_chars || range == (0..text.len()));
        prop_assert!(highlights.iter().all(|word| text.get(word.clone()).is_some_and(|word| !word.is_empty())));
        prop_assert!(highlights.windows(2).all(|pair| pair[0].end < pair[1].start));
        prop_assert!(highlights.iter().all(|word| range.start <= word.start && word.end <= range.end));
    }
}
