//! Times in words, as people say them: "last week", "in March", "two days ago".

mod dated;
mod lexicon;
mod parse;
mod resolve;
mod signs;
mod tables;
mod text;

use std::str::FromStr;

pub use dated::with_dates;

use crate::{Timestamp, time::TimeRange};

/// The times that a text names, in words or as dates, relative to the clock of a conversation.
///
/// Recognized are: days (`today`, `yesterday`, `the day before yesterday`, `last night`, `this morning`), calendar
/// units (`this week`, `last month`, `last year`, `last weekend`; a week begins on Monday), spans up to the clock (`the
/// past two weeks`, `the last 3 days`), counts back (`two days ago`, `a week ago`, `a few months ago`), days of the
/// week (`on Monday`, `last Friday`, `Tuesday of last week`), months, days and years (`in March`, `on 7 May 2023`, `May
/// 7th`, `in March last year`, `in 2022`, `2023-05-07`, `2023-05`, `7.5.2023`, `7/30/2023`), and these with `since`,
/// `after`, `before`, `until`, `between … and …`, `from … to …`. Seasons, holidays, habits (`every Monday`) and future
/// times are not recognized.
///
/// The same is recognized in Arabic, Chinese, Dutch, French, German, Hindi, Italian, Japanese, Korean, Portuguese,
/// Russian, Spanish and Turkish, as far as the words mean nothing else. A word that is another one elsewhere (French
/// `hier`, Spanish `hoy`) counts where more words of the text are of its language than of any other; one that is also
/// another time (Hindi `कल`) never counts.
///
/// Days are those of the clock, so that a local time gives local days. A date without a year is the latest that had
/// begun by the clock. `two weeks ago` means the week around that time, `two months ago` the month around it, and so on;
/// `two days ago` is that day.
///
/// ```
/// use memory_core::time::TimeWords;
///
/// let words: TimeWords = "last week".parse()?;
/// let clock = "2023-05-10T18:00:00Z".parse()?; // a Wednesday
/// assert_eq!(words.ranges(clock)[0].to_string(), "2023-05-01T00:00:00Z..2023-05-08T00:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeWords {
    phrases: Vec<Phrase>,
}

/// A text that names no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no time: expected words as in `last week`, `in March`, `since Monday`, or a date as in 2023-05-07"
)]
pub struct NoTimeWords(pub String);

impl TimeWords {
    /// The times that `text` names, possibly none.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { phrases: parse::phrases(text) }
    }

    /// The dates in numbers that `text` names, as year, month and day, and the text without them.
    #[must_use]
    pub fn numeric_dates(text: &str) -> (Vec<(i16, i8, Option<i8>)>, String) {
        let (mut dates, mut rest) = (Vec::new(), Vec::new());
        for word in text.split_whitespace() {
            match parse::numeric_date(word.trim_matches(|c: char| !c.is_alphanumeric())) {
                Some(date) => dates.push(date),
                None => rest.push(word),
            }
        }
        (dates, rest.join(" "))
    }

    /// Months that are named, 1 to 12, in the order of the words.
    pub fn months(&self) -> impl Iterator<Item = i8> {
        let times = |phrase: &Phrase| match *phrase {
            Phrase::During(time)
            | Phrase::Since(time)
            | Phrase::After(time)
            | Phrase::Before(time)
            | Phrase::Until(time) => [Some(time), None],
            Phrase::Between(one, other) => [Some(one), Some(other)],
        };
        self.phrases.iter().flat_map(times).flatten().filter_map(|time| match time {
            Time::Month { month, .. } => Some(month),
            _ => None,
        })
    }

    /// True if no time is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// The ranges of time that are meant when the clock shows `clock`, in the order of the words. A date that does not
    /// exist (`30 February`) is left out.
    #[must_use]
    pub fn ranges(&self, clock: Timestamp) -> Vec<TimeRange> {
        self.phrases.iter().filter_map(|phrase| resolve::range(*phrase, clock)).collect()
    }
}

/// Words that name a month in a language that [`TimeWords`] reads, in lower case, English first. Words that also mean
/// something else are left out: "may", French "mars".
pub fn month_names() -> impl Iterator<Item = &'static str> {
    tables::TABLES.iter().flat_map(|table| table.months).flat_map(unmarked)
}

/// Words that name a day of the week, as [`month_names`].
pub fn weekday_names() -> impl Iterator<Item = &'static str> {
    tables::TABLES.iter().flat_map(|table| table.weekdays).flat_map(unmarked)
}

/// The single words of a list that are sure.
fn unmarked(list: &'static str) -> impl Iterator<Item = &'static str> {
    let words = list.split('|').map(|word| word.trim().trim_start_matches('?'));
    words.filter(|word| !word.is_empty() && !word.contains([' ', '~', '!', '^']))
}

impl FromStr for TimeWords {
    type Err = NoTimeWords;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Some(Self::of(text)).filter(|words| !words.is_empty()).ok_or_else(|| NoTimeWords(text.to_owned()))
    }
}

/// A named time with its preposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phrase {
    During(Time),
    Since(Time),
    After(Time),
    Before(Time),
    Until(Time),
    Between(Time, Time),
}

impl Phrase {
    /// True for a time after the clock's.
    fn is_future(self) -> bool {
        match self {
            Self::During(time) | Self::Since(time) | Self::After(time) | Self::Before(time) | Self::Until(time) => {
                time.is_future()
            }
            Self::Between(one, other) => one.is_future() || other.is_future(),
        }
    }
}

/// A named time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// A day, this many before the clock's; negative after it.
    DaysBack(i32),
    /// The night before the clock's day.
    LastNight,
    /// A calendar unit, this many before the clock's own; negative after it.
    Calendar { unit: Unit, back: i32 },
    /// A span of this many units up to the clock.
    Past { unit: Unit, count: i32 },
    /// A time between `least` and `most` units before the clock.
    Ago { unit: Unit, least: i32, most: i32 },
    /// The latest weekend, of this week or of weeks before.
    Weekend { is_last: bool },
    /// A day of the week, 1 for Monday to 7.
    Weekday { day: i8, which: Which },
    /// A month, or a day of it.
    Month { month: i8, day: Option<i8>, year: Option<i16>, which: Which },
    /// A year.
    Year(i16),
}

impl Time {
    /// Another day of the month that a day is of; `None` for another time.
    fn on_day(self, other: i8) -> Option<Self> {
        match self {
            Self::Month { month, day: Some(_), year, which } => {
                Some(Self::Month { month, day: Some(other), year, which })
            }
            _ => None,
        }
    }

    fn is_future(self) -> bool {
        match self {
            Self::DaysBack(back) | Self::Calendar { back, .. } => back < 0,
            Self::Weekday { which, .. } | Self::Month { which, .. } => matches!(which, Which::Next | Which::Back(..0)),
            _ => false,
        }
    }
}

/// One of several days or months of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// The latest that had begun.
    Latest,
    /// The latest before the clock's own.
    Last,
    /// The first after the clock's own.
    Next,
    /// The one in the week or year that is this many before the clock's own.
    Back(i16),
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

#[cfg(test)]
mod tests;
