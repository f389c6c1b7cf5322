//! Analyzes a question beyond its terms: kind, names and dates.

use std::{collections::BTreeSet, sync::LazyLock};

use jiff::{Timestamp as Instant, tz::TimeZone};
use memory_core::{
    Timestamp,
    time::{TimeRange, TimeWords},
};
use regex::{Regex, RegexSet};

use crate::{
    content::asks_nothing,
    lexical::{Language, NodeTable, terms_of},
};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// True if the question asks for a time or a duration.
    pub(crate) asks_when: bool,
    /// True if the question is in the first person.
    pub(crate) speaks_of_self: bool,
    /// True if the question asks for the words of the other side.
    pub(crate) asks_back: bool,
    /// True if the question is thanks, a greeting or the like, which no message answers.
    pub(crate) asks_nothing: bool,
    /// Number of its terms without stop words, repeats included.
    pub(crate) length: u32,
    pub(crate) dates: Dates,
    words: BTreeSet<Box<str>>,
}

/// Days, months and years in a text, and times in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dates {
    words: TimeWords,
    days: Vec<i8>,
    months: Vec<i8>,
    years: Vec<i16>,
}

const MONTHS: &str = "january february march april may june july august september october november december";

/// One pattern for each flag of [`Question`], in this order.
const ASKS: [&str; 3] = [
    r"(?i)\b(when|since when|how long|what (exact )?(date|day|time|month|year)|which (day|week|month|year|season)|how many (days|weeks|months|years))\b",
    r"(?i)\b(i|i'm|i've|i'd|i'll|me|my|mine|myself|we|our|us)\b",
    r"(?i)\byou(r|'ve|'d)?\b.*\b(suggest|recommend|say|said|advise|propose|mention|tell|told|provide|give|gave|list|outline|explain|show|point|describe|help|help me|walk)",
];

impl Question {
    /// Analyzes a question. What it asks for is found in English, names and times in other languages, too.
    pub(crate) fn of(text: &str) -> Self {
        static PATTERNS: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(ASKS).ok());
        let matches = PATTERNS.as_ref().map(|patterns| patterns.matches(text));
        let is = |which: usize| matches.as_ref().is_some_and(|matches| matches.matched(which));
        Self {
            asks_when: is(0),
            speaks_of_self: is(1),
            asks_back: is(2),
            asks_nothing: asks_nothing(text),
            length: terms_of(text, Language::of(text).unwrap_or(Language::English)).length,
            dates: Dates::of(text),
            words: words(text).map(Into::into).collect(),
        }
    }

    /// Number of the only speaker whose first name occurs in the question; `None` if there is none or several.
    pub(crate) fn named_speaker(&self, table: &NodeTable) -> Option<u32> {
        let is_named = |name: &str| words(name).next().is_some_and(|first| self.words.contains(&*first));
        let mut named = table.speakers().filter(|(_, name)| is_named(name)).map(|(number, _)| number);
        named.next().filter(|_| named.next().is_none())
    }
}

/// Words in lower case without possessive endings.
fn words(text: &str) -> impl Iterator<Item = String> {
    let ends = |c: char| !c.is_alphanumeric() && c != '\'' && c != '\u{2019}';
    text.split(ends).filter(|word| !word.is_empty()).map(|word| {
        let lower = word.to_lowercase().replace('\u{2019}', "'");
        lower.strip_suffix("'s").map_or_else(|| lower.trim_matches('\'').to_owned(), str::to_owned)
    })
}

impl Dates {
    fn of(text: &str) -> Self {
        static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b(\d{1,4})(st|nd|rd|th)?\b").ok());
        let mut dates = Self { words: TimeWords::of(text), ..Self::default() };
        // `may` is a month only with a capital.
        let is_named = |month: &str| words(text).any(|word| word == month) && (month != "may" || text.contains("May"));
        dates.months =
            (1..).zip(MONTHS.split(' ')).filter(|(_, month)| is_named(month)).map(|(number, _)| number).collect();
        // Months of other languages have names that are other words, too.
        dates.months.extend(dates.words.months());
        let (in_numbers, rest) = TimeWords::numeric_dates(text);
        for (year, month, day) in in_numbers {
            dates.years.push(year);
            dates.months.push(month);
            dates.days.extend(day);
        }
        for found in NUMBER.iter().flat_map(|number| number.captures_iter(&rest)) {
            let Some(Ok(number)) = found.get(1).map(|digits| digits.as_str().parse::<i16>()) else { continue };
            match (number, i8::try_from(number)) {
                (1900..=2999, _) => dates.years.push(number),
                (1..=31, Ok(day)) => dates.days.push(day),
                _ => {}
            }
        }
        dates
    }

    /// True if the question names no time.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.months.is_empty() && self.years.is_empty()
    }

    /// Match of a time in a conversation whose last message is at `clock`: the sum of the shares of month, year, and
    /// day within the month. A month without a year means the latest one. Words without month or year (`last week`)
    /// count as much as both within their range, and less outside of it.
    pub(crate) fn fit(&self, at: Timestamp, clock: Timestamp) -> f32 {
        const MONTH: f32 = 0.4;
        const DAY: f32 = 0.4;
        const YEAR: f32 = 0.2;
        let meant = || self.words.ranges(clock).into_iter().map(|range| nearness(range, at, clock));
        if self.months.is_empty() && self.years.is_empty() {
            return (MONTH + YEAR) * meant().fold(0.0, f32::max);
        }
        let Ok(moment) = Instant::from_millisecond(at.as_millis()) else { return 0.0 };
        let date = moment.to_zoned(TimeZone::UTC).date();
        let in_month = self.months.contains(&date.month());
        let in_year =
            if self.years.is_empty() { meant().any(|near| near >= 1.0) } else { self.years.contains(&date.year()) };
        let parts = [(in_month, MONTH), (in_month && self.days.contains(&date.day()), DAY), (in_year, YEAR)];
        parts.iter().filter(|(fits, _)| *fits).map(|(_, part)| part).sum()
    }
}

/// 1 within a range of time, decreasing to 0 at a distance of its length, because events of one week are still
/// discussed in the next.
fn nearness(range: TimeRange, at: Timestamp, clock: Timestamp) -> f32 {
    const DAY: i64 = 24 * 60 * 60 * 1_000;
    if range.contains(at) {
        return 1.0;
    }
    let begin = range.since().map_or(i64::MIN, Timestamp::as_millis);
    let end = range.before().map_or(i64::MAX, Timestamp::as_millis);
    let length = if begin == i64::MIN { DAY } else { end.min(clock.as_millis()).saturating_sub(begin).max(DAY) };
    let away = begin.saturating_sub(at.as_millis()).max(at.as_millis().saturating_sub(end));
    #[expect(clippy::cast_precision_loss, reason = "a part of 1 needs few digits")]
    let part = away as f32 / length as f32;
    (1.0 - part).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_gives_away_what_it_asks_for() {
        let check = |text: &str, expected: [bool; 3]| {
            let Question { asks_when, speaks_of_self, asks_back, .. } = Question::of(text);
            assert_eq!([asks_when, speaks_of_self, asks_back], expected, "{text}");
        };
        check("When did Maya move?", [true, false, false]);
        check("How long have I had the cello?", [true, true, false]);
        check("Which database did you recommend for the index?", [false, false, true]);
        check("What is the whenever flag?", [false, false, false]);
        check("Wann war das?", [false; 3]);
    }

    #[test]
    fn dates_fit_the_times_that_they_name() {
        let check = |text: &str, at: &str, expected: f32| {
            let fit = Dates::of(text).fit(at.parse().unwrap(), "2024-02-01T12:00:00Z".parse().unwrap());
            assert!((fit - expected).abs() < 1e-6, "{text} on {at}: {fit}");
        };
        check("What happened on 7 May 2023?", "2023-05-07", 1.0);
        check("What happened on May 7th, 2023?", "2023-05-08", 0.6);
        check("What happened in May 2023?", "2022-05-07", 0.4);
        check("What happened on 21.01.2024?", "2024-01-21", 1.0);
        check("What happened on 2023-05-21?", "2023-05-21", 1.0);
        check("What happened on 21.01.2024?", "2024-01-01", 0.6);
        check("What happened in 2023?", "2023-01-01", 0.2);
        check("Was geschah am 7. Mai 2023?", "2023-05-07", 1.0);
        check("Was geschah am 7. Mai 2023?", "2023-05-08", 0.6);
        check("Qu'avons-nous dit en mars ?", "2022-03-07", 0.4);
        check("Что было в мае?", "2023-05-20", 0.6);
        check("What may 7 people do?", "2023-05-07", 0.0);
        check("What about 12 apples?", "2023-12-12", 0.0);
        // Without a year it is the latest.
        check("What happened in May?", "2022-05-07", 0.4);
        check("What happened in May?", "2023-05-07", 0.6);
    }

    #[test]
    fn words_fit_the_times_that_they_mean_by_the_clock() {
        let check = |text: &str, at: &str, expected: f32| {
            let fit = Dates::of(text).fit(at.parse().unwrap(), "2023-05-10T18:00:00Z".parse().unwrap());
            assert!((fit - expected).abs() < 1e-6, "{text} at {at}: {fit}");
        };
        check("What did I say last week?", "2023-05-03", 0.6);
        check("What did I say last week?", "2023-05-11T12:00:00Z", 0.3);
        check("What did I say last week?", "2023-04-27T12:00:00Z", 0.3);
        check("What did I say last week?", "2023-03-01", 0.0);
        check("Who called yesterday?", "2023-05-09T23:00:00Z", 0.6);
        check("Who called since Monday?", "2023-05-10T18:00:00Z", 0.6);
        check("Who called since Monday?", "2023-04-10T18:00:00Z", 0.0);
        check("Who called?", "2023-05-10T18:00:00Z", 0.0);
    }
}
