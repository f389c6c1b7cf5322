//! Dates after words such as "yesterday", for a reader who meets them later.

use jiff::civil::DateTime;

use super::{
    Time::{self, DaysBack},
    Unit,
    parse::{NUMBERS, WEEKDAYS, place},
    resolve::stretch,
};
use crate::Timestamp;

/// Words that name one day in any sentence. "hier", "morgen", "mañana" and "hoy" are left out: they are other words, too.
const DAYS: [(&str, Time); 22] = [
    ("yesterday", DaysBack(1)),
    ("day before yesterday", DaysBack(2)),
    ("today", DaysBack(0)),
    ("tonight", DaysBack(0)),
    ("this morning", DaysBack(0)),
    ("this afternoon", DaysBack(0)),
    ("this evening", DaysBack(0)),
    ("tomorrow", DaysBack(-1)),
    ("day after tomorrow", DaysBack(-2)),
    ("gestern", DaysBack(1)),
    ("vorgestern", DaysBack(2)),
    ("heute", DaysBack(0)),
    ("übermorgen", DaysBack(-2)),
    ("hier soir", DaysBack(1)),
    ("avant-hier", DaysBack(2)),
    ("aujourd'hui", DaysBack(0)),
    ("aujourd’hui", DaysBack(0)),
    ("demain", DaysBack(-1)),
    ("après-demain", DaysBack(-2)),
    ("ayer", DaysBack(1)),
    ("anteayer", DaysBack(2)),
    ("anoche", DaysBack(1)),
];

/// Words that name one time unless a word of [`OWNED`] precedes them, as in "the last week of May".
const UNITS: [(&str, Time); 19] = [
    ("last night", DaysBack(1)),
    ("last week", calendar(Unit::Week, 1)),
    ("last month", calendar(Unit::Month, 1)),
    ("last year", calendar(Unit::Year, 1)),
    ("next week", calendar(Unit::Week, -1)),
    ("next month", calendar(Unit::Month, -1)),
    ("next year", calendar(Unit::Year, -1)),
    ("letzte Woche", calendar(Unit::Week, 1)),
    ("letzten Monat", calendar(Unit::Month, 1)),
    ("letztes Jahr", calendar(Unit::Year, 1)),
    ("nächste Woche", calendar(Unit::Week, -1)),
    ("nächsten Monat", calendar(Unit::Month, -1)),
    ("nächstes Jahr", calendar(Unit::Year, -1)),
    ("semaine dernière", calendar(Unit::Week, 1)),
    ("mois dernier", calendar(Unit::Month, 1)),
    ("année dernière", calendar(Unit::Year, 1)),
    ("semana pasada", calendar(Unit::Week, 1)),
    ("mes pasado", calendar(Unit::Month, 1)),
    ("año pasado", calendar(Unit::Year, 1)),
];

/// Words before "last" and "next" that may mean another time.
const OWNED: &str = " a the this that these those my our your his her their its very every each die das den ";

/// Words before a count that make it vague or part of a larger one.
const VAGUE: &str = " or to about around over than nearly almost approximately roughly least some like maybe twenty \
                     thirty forty fifty sixty seventy eighty ninety hundred ";

/// Days of a week.
const SUNDAY: i8 = 7;

const fn calendar(unit: Unit, back: i32) -> Time {
    Time::Calendar { unit, back }
}

/// `text` with the date in parentheses after each word that names one for certain when it was said at `at`, `offset`
/// seconds east of UTC: `yesterday (2023-05-07)`.
///
/// Such words are days (`yesterday`, `last night`, `three days ago`), units of the calendar (`last week`, `next month`; a
/// week begins on Monday) and `last` or `next` with the name of a day, also in German, French and Spanish as far as they
/// mean nothing else. Code, quotations and names (`yesterday.txt`, `USA Today`) stay as they are, and so does all of a
/// text whose time is unknown. A second pass changes nothing.
#[must_use]
pub fn with_dates(text: &str, at: Timestamp, offset: i32) -> String {
    let Some(now) = at.datetime(offset) else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    let mut fence = None;
    for line in text.split_inclusive('\n') {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, None) if !is_code(line) => push_dated(line, now, &mut out),
            (None, mark) => {
                fence = mark;
                out.push_str(line);
            }
            (Some(open), mark) => {
                fence = Some(open).filter(|open| mark != Some(open));
                out.push_str(line);
            }
        }
    }
    out
}

/// True for a line of code, of a table or of somebody else's words.
fn is_code(line: &str) -> bool {
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    let opens = line.trim_start().starts_with(['>', '|', '<', '[', '"', '$', '/']);
    is_indented || opens || line.trim_end().ends_with(';') || line.contains(['=', '{', '}', '\\'])
}

/// Appends a line with its dates.
fn push_dated(line: &str, now: DateTime, out: &mut String) {
    let (mut at, mut copied, mut before) = (0, 0, "");
    let (mut in_code, mut is_quoted) = (false, false);
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_start_matches(['(', '—', '–', '¿', '¡']);
        let begin = at + (piece.len() - word.len());
        let found = (begin >= copied && !in_code && !is_quoted)
            .then(|| line.get(begin..).and_then(|rest| named(rest, before, now)))
            .flatten();
        if let Some((length, date)) = found {
            let end = begin + length;
            out.push_str(line.get(copied..end).unwrap_or_default());
            out.push_str(&format!(" ({date})"));
            copied = end;
        }
        for c in piece.chars() {
            in_code ^= c == '`';
            is_quoted = match c {
                '"' => !is_quoted,
                '“' | '„' | '«' => true,
                '”' | '»' => false,
                _ => is_quoted,
            };
        }
        at += piece.len();
        before = Some(piece.trim()).filter(|word| !word.is_empty()).unwrap_or(before);
    }
    out.push_str(line.get(copied..).unwrap_or_default());
}

/// Length in bytes of the words at the beginning of `rest` that name a time, and its date. `before` is the word before.
fn named(rest: &str, before: &str, now: DateTime) -> Option<(usize, String)> {
    let is_after = |words: &str| words.contains(&format!(" {} ", before.to_lowercase()));
    // "USA Today"
    if rest.starts_with(char::is_uppercase) && before.ends_with(char::is_alphanumeric) {
        return None;
    }
    let day = || listed(&DAYS, rest);
    let unit = || listed(&UNITS, rest).or_else(|| weekday(rest, now)).filter(|_| !is_after(OWNED));
    let count = || days_ago(rest).filter(|_| !is_after(VAGUE));
    let (length, time) = day().or_else(unit).or_else(count)?;
    let behind = rest.get(length..)?;
    let own = ["'s", "’s"].iter().find(|own| behind.starts_with(**own)).map_or(0, |own| own.len());
    may_end(behind.get(own..)?).then_some(())?;
    Some((length + own, date(time, now)?))
}

/// The entry that a text begins with.
fn listed(list: &[(&str, Time)], rest: &str) -> Option<(usize, Time)> {
    let is_first = |words: &str| rest.get(..words.len()).is_some_and(|first| first.eq_ignore_ascii_case(words));
    let found = list.iter().find(|(words, _)| is_first(words))?;
    Some((found.0.len(), found.1))
}

/// `last Friday` and `next Monday` where the nearest such day and that of the week before or after are the same, whether
/// weeks begin on Monday or on Sunday.
fn weekday(rest: &str, now: DateTime) -> Option<(usize, Time)> {
    const LEAD: usize = "last ".len();
    let (lead, name) = rest.split_at_checked(LEAD)?;
    let is_last = lead.eq_ignore_ascii_case("last ");
    (is_last || lead.eq_ignore_ascii_case("next ")).then_some(())?;
    let name = name.split(|c: char| !c.is_ascii_alphabetic()).next()?;
    let day = place(&WEEKDAYS, &name.to_ascii_lowercase())?;
    let today = now.date().weekday().to_monday_one_offset();
    let (back, is_sure) = if is_last {
        (7 - i32::from(day - today), day > today && day != SUNDAY)
    } else {
        (i32::from(today - day) - 7, day < today && today != SUNDAY)
    };
    (day == today || is_sure).then_some((LEAD + name.len(), DaysBack(back)))
}

/// `three days ago`, `12 days ago`.
fn days_ago(rest: &str) -> Option<(usize, Time)> {
    let (number, behind) = rest.split_once(' ')?;
    let unit = ["days ago", "day ago"].into_iter().find(|unit| behind.starts_with(unit))?;
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let digits = || number.parse::<u16>().ok().filter(|_| is_plain).map(i32::from);
    let days = place(&NUMBERS, &number.to_ascii_lowercase()).map(i32::from).or_else(digits)?;
    Some((number.len() + 1 + unit.len(), DaysBack(days)))
}

/// True if words of time may end before `behind`: not within a name or a line of code, and without a date already.
fn may_end(behind: &str) -> bool {
    let mut after = behind.chars();
    match after.next() {
        None => true,
        Some(c) if c.is_whitespace() => {
            !behind.trim_start().starts_with(['(', '+', '<', '>', '|']) && !behind.starts_with(" of ")
        }
        Some('.' | ',' | ';' | ':' | '!' | '?' | ')' | '…' | '—' | '–') => {
            !after.next().is_some_and(char::is_alphanumeric)
        }
        Some(_) => false,
    }
}

/// The days of a time: `2023-05-07`, `week of 2023-05-01`, `2023-04`, `2022`.
fn date(time: Time, now: DateTime) -> Option<String> {
    let (begin, end) = stretch(time, now)?;
    let (first, last) = (begin.date(), end.date().yesterday().ok()?);
    Some(match time {
        // "Last week" of a Sunday depends on the day that a week begins on.
        Time::Calendar { unit: Unit::Week, .. } if now.date().weekday().to_monday_one_offset() == SUNDAY => {
            return None;
        }
        Time::Calendar { unit: Unit::Month, .. } => first.strftime("%Y-%m").to_string(),
        Time::Calendar { unit: Unit::Year, .. } => first.year().to_string(),
        _ if first == last => first.to_string(),
        _ => format!("week of {first}"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `text` as said on a Wednesday evening.
    fn dated(text: &str) -> String {
        with_dates(text, "2023-05-10T18:30:00Z".parse().unwrap(), 0)
    }

    fn check(text: &str, date: &str) {
        let expected = text.replace('_', &format!(" ({date})"));
        assert_eq!(dated(&text.replace('_', "")), expected);
    }

    #[test]
    fn a_word_that_names_one_time_gets_its_date() {
        check("I went there yesterday_.", "2023-05-09");
        check("Yesterday_ I went there", "2023-05-09");
        check("yesterday's_ call", "2023-05-09");
        check("the day before yesterday_, we met", "2023-05-08");
        check("Ben (who called last night_) agrees", "2023-05-09");
        check("I ran this morning_!", "2023-05-10");
        check("We fly tomorrow_… or never", "2023-05-11");
        check("And 3 days ago_ it broke", "2023-05-07");
        check("Twelve days ago_ it broke", "2023-04-28");
        check("I moved last week_:", "week of 2023-05-01");
        check("I moved last month_", "2023-04");
        check("I move next month_", "2023-06");
        check("I moved last year_", "2022");
        check("Gestern_ war ich dort", "2023-05-09");
        check("Ich war letzte Woche_ dort", "week of 2023-05-01");
        check("C'était hier soir_.", "2023-05-09");
        check("Nous partons après-demain_", "2023-05-12");
        check("El año pasado_ viajamos", "2022");
    }

    #[test]
    fn a_day_of_the_week_gets_its_date_where_it_can_be_one_alone() {
        check("last Friday_", "2023-05-05");
        check("last Wednesday_", "2023-05-03");
        check("next Monday_", "2023-05-15");
        check("next Wednesday_", "2023-05-17");
        for unsure in ["last Monday", "next Friday", "last Sunday", "next Sunday", "on Monday"] {
            check(unsure, "");
        }
        let on_sunday = |text| with_dates(text, "2023-05-14".parse().unwrap(), 0);
        for unsure in ["last week", "next week", "last Friday", "next Monday"] {
            assert_eq!(on_sunday(unsure), unsure);
        }
        assert_eq!(on_sunday("last Sunday"), "last Sunday (2023-05-07)");
    }

    #[test]
    fn the_day_is_that_of_the_place_where_it_was_said() {
        let late = "2023-05-10T23:30:00Z".parse().unwrap();
        assert_eq!(with_dates("today", late, 7_200), "today (2023-05-11)");
        assert_eq!(with_dates("today", late, -7_200), "today (2023-05-10)");
        assert_eq!(with_dates("today", Timestamp::default(), 0), "today");
    }

    #[test]
    fn code_names_quotations_and_vague_words_stay() {
        for text in [
            "see yesterday.txt",
            "see /logs/yesterday and yesterday/log",
            "#today @today $today today() today_log today-log",
            "run `git log --since yesterday` now",
            "let today = now();",
            "    print yesterday",
            "```sql\nselect yesterday\n```\n",
            "~~~\nyesterday\n```\ntoday\n",
            "> I went there yesterday",
            "| today | 5 |",
            "{\"when\": \"we met yesterday\"}",
            "He wrote \"I went yesterday\" then",
            "He wrote “I went yesterday” then",
            "the song \"Yesterday\" and USA Today",
            "the last week of May, our last night, the last month, my last year",
            "about two days ago, two or three days ago, twenty two days ago, 2-3 days ago, a few days ago",
            "yesterday (a Tuesday) and yesterday (2023-05-09)",
            "ich war hier, guten morgen",
            "two weeks ago",
        ] {
            assert_eq!(dated(text), text);
        }
        assert_eq!(dated("```\ntoday\n```\ntoday"), "```\ntoday\n```\ntoday (2023-05-10)");
    }

    proptest! {
        #[test]
        fn a_text_without_its_dates_is_as_it_was(
            words in prop::collection::vec(
                prop_oneof![
                    Just("yesterday"), Just("last"), Just("next"), Just("week"), Just("Monday"), Just("3"), Just("days"),
                    Just("ago"), Just("\n"), Just("```"), Just("`"), Just("\""), Just("après-demain"), Just("é"),
                    Just("gestern,"), Just("(today)"), Just("today."), Just(" "), Just("("),
                ],
                0..24,
            ),
            clock in any::<i64>(),
            offset in -100_000..100_000,
        ) {
            let (text, at) = (words.join(" "), Timestamp::from_millis(clock));
            let dated = with_dates(&text, at, offset);
            let date = regex::Regex::new(r" \((week of )?-?\d{4}[^)]*\)").unwrap();
            prop_assert_eq!(date.replace_all(&dated, ""), text);
            prop_assert_eq!(with_dates(&dated, at, offset), dated);
        }

        #[test]
        fn any_text_is_read_to_its_end(text in "(.|\n){0,60}") {
            prop_assert!(dated(&text).len() >= text.len());
        }
    }
}
