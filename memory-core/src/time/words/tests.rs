//! Tests of time words against a clock.

mod languages;

use proptest::prelude::*;

use super::*;

/// A Wednesday, in the evening.
const CLOCK: &str = "2023-05-10T18:30:00Z";

fn ranges_at(text: &str, clock: &str) -> Vec<String> {
    let short = |range: TimeRange| range.to_string().replace("T00:00:00Z", "");
    TimeWords::of(text).ranges(clock.parse().unwrap()).into_iter().map(short).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(ranges_at(text, CLOCK), expected, "{text}");
}

#[test]
fn days_near_the_clock() {
    check("What did I eat today?", &["2023-05-10..2023-05-11"]);
    check("Who called yesterday?", &["2023-05-09..2023-05-10"]);
    check("yesterday's call", &["2023-05-09..2023-05-10"]);
    check("the day before yesterday", &["2023-05-08..2023-05-09"]);
    check("what we said last night", &["2023-05-09T18:00:00Z..2023-05-10T06:00:00Z"]);
    check("this morning", &["2023-05-10..2023-05-11"]);
}

#[test]
fn units_of_the_calendar() {
    check("last week", &["2023-05-01..2023-05-08"]);
    check("this week", &["2023-05-08..2023-05-15"]);
    check("last month", &["2023-04-01..2023-05-01"]);
    check("last quarter", &["2023-01-01..2023-04-01"]);
    check("last year?", &["2022-01-01..2023-01-01"]);
    check("last weekend", &["2023-05-06..2023-05-08"]);
    check("over the last weekend", &["2023-05-06..2023-05-08"]);
    assert_eq!(ranges_at("this weekend", "2023-05-13T09:00:00Z"), ["2023-05-13..2023-05-15"]);
    assert_eq!(ranges_at("last weekend", "2023-05-14T09:00:00Z"), ["2023-05-06..2023-05-08"]);
    assert_eq!(ranges_at("last month", "2024-01-31"), ["2023-12-01..2024-01-01"]);
}

#[test]
fn stretches_up_to_the_clock() {
    check("in the past two weeks", &["2023-04-26T18:30:00Z..2023-05-10T18:30:00.001Z"]);
    check("the last 3 days", &["2023-05-07T18:30:00Z..2023-05-10T18:30:00.001Z"]);
    check("the past month", &["2023-04-10T18:30:00Z..2023-05-10T18:30:00.001Z"]);
    check("the last couple of weeks", &["2023-04-26T18:30:00Z..2023-05-10T18:30:00.001Z"]);
}

#[test]
fn counts_back() {
    check("two days ago", &["2023-05-08..2023-05-09"]);
    check("2 days ago", &["2023-05-08..2023-05-09"]);
    check("a few days ago", &["2023-05-04..2023-05-09"]);
    check("a week ago", &["2023-04-30..2023-05-07"]);
    check("a couple of weeks ago", &["2023-04-23..2023-04-30"]);
    check("one month ago", &["2023-03-26..2023-04-26"]);
    check("an hour ago", &["2023-05-10T17:00:00Z..2023-05-10T18:00:00Z"]);
    check("How many days ago did I call?", &[]);
}

#[test]
fn days_of_the_week() {
    check("on Monday", &["2023-05-08..2023-05-09"]);
    check("on Wednesday", &["2023-05-10..2023-05-11"]);
    check("last Wednesday", &["2023-05-03..2023-05-04"]);
    check("on friday", &["2023-05-05..2023-05-06"]);
    check("since Monday", &["2023-05-08.."]);
    check("before Tuesday", &["..2023-05-09"]);
    check("until Tuesday", &["..2023-05-10"]);
    check("after last Friday", &["2023-05-06.."]);
}

#[test]
fn dates() {
    check("What happened on 7 May 2023?", &["2023-05-07..2023-05-08"]);
    check("What happened on May 7th, 2023?", &["2023-05-07..2023-05-08"]);
    check("the 7th of May", &["2023-05-07..2023-05-08"]);
    check("on 20 May", &["2022-05-20..2022-05-21"]);
    check("in March", &["2023-03-01..2023-04-01"]);
    check("in June", &["2022-06-01..2022-07-01"]);
    check("last May", &["2022-05-01..2022-06-01"]);
    check("last March", &["2023-03-01..2023-04-01"]);
    check("in Sept 2021", &["2021-09-01..2021-10-01"]);
    check("December 2022", &["2022-12-01..2023-01-01"]);
    check("in 2022", &["2022-01-01..2023-01-01"]);
    check("2023-05-07", &["2023-05-07..2023-05-08"]);
    check("(2023-05)", &["2023-05-01..2023-06-01"]);
    check("am 7.5.2023.", &["2023-05-07..2023-05-08"]);
    check("on 07.05.2023?", &["2023-05-07..2023-05-08"]);
    check("on 5/30/2022", &["2022-05-30..2022-05-31"]);
    check("on 30/05/2022", &["2022-05-30..2022-05-31"]);
    check("on 4/4/2023", &["2023-04-04..2023-04-05"]);
    check("7/5/2023", &[]);
    check("on 29 February", &["2020-02-29..2020-03-01"]);
    check("on 30 February", &[]);
}

#[test]
fn from_one_time_to_another() {
    check("between March and April", &["2023-03-01..2023-05-01"]);
    check("from 2 May to 5 May 2023", &["2023-05-02..2023-05-06"]);
    check("between May 2023 and March 2023", &[]);
    check("yesterday and on Monday", &["2023-05-09..2023-05-10", "2023-05-08..2023-05-09"]);
}

#[test]
fn what_is_no_time_is_not_read() {
    for text in [
        "",
        "May I ask?",
        "We march on.",
        "the game 2048",
        "What may 7 people do?",
        "in 2000 days",
        "since when?",
        "the next week",
        "this and that",
        "room 12",
        "the last of us",
        "QX-4471-93B",
        "past the hall",
    ] {
        check(text, &[]);
    }
    assert_eq!("the hall".parse::<TimeWords>(), Err(NoTimeWords("the hall".to_owned())));
}

proptest! {
    #[test]
    fn no_text_and_no_clock_is_too_odd(
        words in prop::collection::vec(
            prop_oneof![
                Just("last"), Just("past"), Just("two"), Just("9999"), Just("years"), Just("ago"), Just("since"),
                Just("between"), Just("and"), Just("March"), Just("31"), Just("2999"), Just("a"), Just("few"),
                Just("weeks"), Just("the"), Just("Monday"), Just("2023-02-31"), Just("weekend"), Just("é"),
            ],
            0..8,
        ),
        clock in any::<i64>(),
    ) {
        let text = words.join(" ");
        for range in TimeWords::of(&text).ranges(Timestamp::from_millis(clock)) {
            prop_assert!(range.since().zip(range.before()).is_none_or(|(since, before)| since < before));
        }
    }

    #[test]
    fn any_text_is_read_to_its_end(text in ".{0,60}") {
        let words = TimeWords::of(&text);
        prop_assert!(words.ranges(CLOCK.parse().unwrap()).len() <= words.phrases.len());
    }
}
