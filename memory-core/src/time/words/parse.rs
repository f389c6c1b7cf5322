//! Parser of the times that a text names.

use super::{Phrase, Time, Unit, Which};

/// The largest count of units back: no conversation is older.
const MOST: i32 = 9_999;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
pub(super) const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
pub(super) const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// A word of a text, or a date in numbers.
struct Word<'a> {
    /// The word in lower case, without a possessive's ending.
    lower: String,
    is_capital: bool,
    /// The word as written, with surrounding punctuation.
    written: &'a str,
}

/// All times that a text names, in order.
pub(super) fn phrases(text: &str) -> Vec<Phrase> {
    let words: Vec<_> = text.split_whitespace().flat_map(split).collect();
    let mut rest = words.as_slice();
    let mut phrases = Vec::new();
    while !rest.is_empty() {
        let (phrase, taken) = phrase(rest).map_or((None, 1), |(phrase, taken)| (Some(phrase), taken));
        phrases.extend(phrase);
        rest = rest.get(taken.max(1)..).unwrap_or_default();
    }
    phrases
}

/// The words between two spaces. Dates stay whole.
fn split(written: &str) -> Vec<Word<'_>> {
    let word = |part: &str| {
        let lower = part.to_lowercase().replace('\u{2019}', "'");
        let lower = lower.strip_suffix("'s").map_or_else(|| lower.trim_matches('\'').to_owned(), str::to_owned);
        Word { lower, is_capital: part.starts_with(char::is_uppercase), written }
    };
    let bare = written.trim_matches(|c: char| !c.is_alphanumeric());
    if numeric_date(bare).is_some() {
        return vec![word(bare)];
    }
    let ends = |c: char| !c.is_alphanumeric() && c != '\'' && c != '\u{2019}';
    bare.split(ends).filter(|part| !part.is_empty()).map(word).collect()
}

/// A phrase at the beginning of some words, with its number of words.
fn phrase(words: &[Word<'_>]) -> Option<(Phrase, usize)> {
    let before = words.first()?.lower.as_str();
    let behind = |skipped: usize| -> Option<(Time, usize)> {
        let (time, taken) = time(words.get(skipped..)?, true)?;
        Some((time, skipped + taken))
    };
    let both = |joint: &[&str]| -> Option<(Phrase, usize)> {
        let (one, taken) = behind(1)?;
        joint.contains(&words.get(taken)?.lower.as_str()).then_some(())?;
        let (other, taken) = behind(taken + 1)?;
        Some((Phrase::Between(one, other), taken))
    };
    let with = |phrase: fn(Time) -> Phrase| behind(1).map(|(time, taken)| (phrase(time), taken));
    match before {
        "since" => with(Phrase::Since),
        "after" => with(Phrase::After),
        "before" => with(Phrase::Before),
        "until" | "till" => with(Phrase::Until),
        "between" => both(&["and"]),
        "from" => both(&["to", "until", "till", "through"]).or_else(|| with(Phrase::During)),
        "in" | "on" | "during" | "of" | "at" | "by" | "around" | "early" | "late" | "mid" => with(Phrase::During),
        _ => time(words, false).map(|(time, taken)| (Phrase::During(time), taken)),
    }
}

/// A time at the beginning of some words, with its number of words. `is_led` means that a word of time precedes them,
/// without which `March` and `2048` are ambiguous.
fn time(words: &[Word<'_>], is_led: bool) -> Option<(Time, usize)> {
    let articles = words.iter().take_while(|word| matches!(word.lower.as_str(), "the" | "early" | "late" | "mid"));
    let skipped = articles.count();
    let words = words.get(skipped..)?;
    let found = near_day(words)
        .or_else(|| relative(words))
        .or_else(|| back(words))
        .or_else(|| date(words, is_led))
        .or_else(|| weekday(words))
        .or_else(|| year(words, is_led));
    found.map(|(time, taken)| (time, skipped + taken))
}

fn near_day(words: &[Word<'_>]) -> Option<(Time, usize)> {
    let is = |expected: &[&str]| starts_with(words, expected);
    Some(match words.first()?.lower.as_str() {
        "today" | "tonight" => (Time::DaysBack(0), 1),
        "yesterday" => (Time::DaysBack(1), 1),
        "day" if is(&["day", "before", "yesterday"]) => (Time::DaysBack(2), 3),
        "last" if is(&["last", "night"]) => (Time::LastNight, 2),
        "this" if ["morning", "afternoon", "evening"].iter().any(|part| is(&["this", part])) => (Time::DaysBack(0), 2),
        _ => return None,
    })
}

/// `last week`, `the past three months`, `this March`, `last Friday`.
fn relative(words: &[Word<'_>]) -> Option<(Time, usize)> {
    let (first, rest) = words.split_first()?;
    let (which, is_past) = match first.lower.as_str() {
        "this" => (Which::This, false),
        "last" | "previous" => (Which::Last, false),
        "past" => (Which::Last, true),
        _ => return None,
    };
    let noun = rest.first()?.lower.as_str();
    if let Some((count, taken)) = count(rest).filter(|_| which == Which::Last) {
        // `last May 7` has no count.
        let unit = unit(&rest.get(taken)?.lower)?;
        return Some((Time::Past { unit, count }, 2 + taken));
    }
    if noun == "weekend" {
        return Some((Time::Weekend { is_last: which == Which::Last }, 2));
    }
    if let Some(day) = place(&WEEKDAYS, noun) {
        return Some((Time::Weekday { day, which }, 2));
    }
    if let Some(month) = place(&MONTHS, noun) {
        return Some((Time::Month { month, day: None, year: None, which }, 2));
    }
    let unit = unit(noun).filter(|_| !noun.ends_with('s'))?;
    let back = i32::from(which == Which::Last);
    let time = if is_past { Time::Past { unit, count: 1 } } else { Time::Calendar { unit, back } };
    Some((time, 2))
}

/// `two days ago`, `a couple of weeks ago`, `a few months ago`.
fn back(words: &[Word<'_>]) -> Option<(Time, usize)> {
    const FEW: (i32, i32) = (2, 6);
    let vague = [["a", "few"].as_slice(), &["few"], &["several"]];
    let few = vague.iter().find(|vague| starts_with(words, vague)).map(|vague| (FEW, vague.len()));
    let ((least, most), taken) = few.or_else(|| count(words).map(|(count, taken)| ((count, count), taken)))?;
    let unit = unit(&words.get(taken)?.lower)?;
    (words.get(taken + 1)?.lower == "ago").then_some((Time::Ago { unit, least, most }, taken + 2))
}

/// A number at the beginning of some words, with its number of words.
fn count(words: &[Word<'_>]) -> Option<(i32, usize)> {
    let first = words.first()?.lower.as_str();
    let couple = [["a", "couple", "of"].as_slice(), &["couple", "of"]];
    if let Some(couple) = couple.iter().find(|couple| starts_with(words, couple)) {
        return Some((2, couple.len()));
    }
    let number = match first {
        "a" | "an" => 1,
        _ => match place(&NUMBERS, first) {
            Some(number) => i32::from(number),
            None => first.parse().ok().filter(|number| (1..=MOST).contains(number))?,
        },
    };
    Some((number, 1))
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word.strip_suffix('s').unwrap_or(word) {
        "minute" => Unit::Minute,
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "quarter" => Unit::Quarter,
        "year" => Unit::Year,
        _ => return None,
    })
}

/// `7 May 2023`, `May 7th`, `the 7th of May`, `March 2022`, `2023-05-07`, `7.5.2023`; `March` alone if `is_led`.
fn date(words: &[Word<'_>], is_led: bool) -> Option<(Time, usize)> {
    let word = |at: usize| words.get(at);
    if let Some((year, month, day)) = numeric_date(&word(0)?.lower) {
        return Some((Time::Month { month, day, year: Some(year), which: Which::Latest }, 1));
    }
    let (day_before, mut next) = match word(0).and_then(|word| day(&word.lower)) {
        Some(day) if starts_with(words.get(1..)?, &["of"]) => (Some(day), 2),
        Some(day) => (Some(day), 1),
        None => (None, 0),
    };
    let month = month(word(next)?)?;
    let is_plain = !matches!(word(next)?.lower.as_str(), "may" | "march");
    next += 1;
    let day_behind = word(next).and_then(|word| day(&word.lower)).filter(|_| day_before.is_none());
    next += usize::from(day_behind.is_some());
    let year = word(next).and_then(|word| year_number(&word.lower));
    next += usize::from(year.is_some());
    let day = day_before.or(day_behind);
    // `May` and `March` are not only months.
    let is_sure = is_led || is_plain || day.is_some() || year.is_some();
    is_sure.then_some((Time::Month { month, day, year, which: Which::Latest }, next))
}

/// The month that a word names. Abbreviations and `may` need a capital.
fn month(word: &Word<'_>) -> Option<i8> {
    if word.lower == "may" {
        return word.is_capital.then_some(5);
    }
    let is_short = |month: &str| month.get(..3) == Some(&word.lower) || (month == "september" && word.lower == "sept");
    let short = || (1..).zip(MONTHS).find(|(_, month)| is_short(month)).filter(|_| word.is_capital);
    place(&MONTHS, &word.lower).or_else(|| short().map(|(number, _)| number))
}

fn weekday(words: &[Word<'_>]) -> Option<(Time, usize)> {
    let day = place(&WEEKDAYS, &words.first()?.lower)?;
    Some((Time::Weekday { day, which: Which::Latest }, 1))
}

fn year(words: &[Word<'_>], is_led: bool) -> Option<(Time, usize)> {
    let word = words.first().filter(|_| is_led)?;
    // `in 2000 km` is a quantity, not a year.
    let counts = words.get(1).is_some_and(|next| unit(&next.lower).is_some());
    let is_alone = word.written.trim_matches(|c: char| c.is_ascii_punctuation()).len() == word.lower.len();
    year_number(&word.lower).filter(|_| !counts && is_alone).map(|year| (Time::Year(year), 1))
}

fn year_number(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2999).contains(year))
}

fn day(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    digits.parse().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
}

/// A date in numbers: year, month and day. `2023-05-07`, `2023-05`, `7.5.2023` (day first), and `7/30/2023` or
/// `30/7/2023` where one number can only be the day; `7/5/2023` means one day in the States and another elsewhere.
pub(super) fn numeric_date(word: &str) -> Option<(i16, i8, Option<i8>)> {
    let number = |part: &str, most: i8| -> Option<i8> {
        part.parse().ok().filter(|number| part.len() <= 2 && (1..=most).contains(number))
    };
    let parts = |by: char| -> Vec<&str> { word.split(by).collect() };
    if let [year, month, day @ ..] = parts('-').as_slice()
        && let Some(year) = year_number(year)
        && month.len() == 2
    {
        return match day {
            [] => Some((year, number(month, 12)?, None)),
            [day] if day.len() == 2 => Some((year, number(month, 12)?, Some(number(day, 31)?))),
            _ => None,
        };
    }
    if let [day, month, year] = parts('.').as_slice() {
        return Some((year_number(year)?, number(month, 12)?, Some(number(day, 31)?)));
    }
    let [one, other, year] = parts('/').try_into().ok()?;
    let (one, other, year) = (number(one, 31)?, number(other, 31)?, year_number(year)?);
    match (one > 12, other > 12) {
        (true, false) => Some((year, other, Some(one))),
        (false, true) => Some((year, one, Some(other))),
        (false, false) if one == other => Some((year, one, Some(other))),
        _ => None,
    }
}

/// The number of a word in a list, from 1.
pub(super) fn place(list: &[&str], word: &str) -> Option<i8> {
    (1..).zip(list).find(|(_, listed)| **listed == word).map(|(number, _)| number)
}

fn starts_with(words: &[Word<'_>], expected: &[&str]) -> bool {
    words.len() >= expected.len() && words.iter().zip(expected).all(|(word, expected)| word.lower == *expected)
}
