//! Points in time, and ranges of them in numbers and in words.

mod period;
mod range;
mod words;

use std::{fmt, str::FromStr};

pub use period::{Period, UnknownPeriod};
pub use range::{Edge, EmptyTimeRange, TimeRange};
pub use words::{NoTimeWords, TimeWords, month_names, weekday_names, with_dates};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is not a point in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: {why}", why = why(.0))]
pub struct InvalidTimestamp(pub String);

/// Reason why a text is not a point in time.
fn why(text: &str) -> String {
    // The day is in the calendar, but not in every place at that time.
    let civil = text.get(..19).unwrap_or(text).parse::<jiff::civil::DateTime>();
    let (first, last) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
    match civil {
        Ok(civil) if civil.year() >= 9999 => format!("the last one that can be kept is {last:.0}"),
        Ok(civil) if civil.year() <= -9999 => format!("the first one that can be kept is {first:.0}"),
        _ if utc_offset(text).is_some_and(|offset| offset.abs() > MOST_OFFSET) => {
            "offsets from UTC are at most 14 hours".to_owned()
        }
        _ => "expected RFC 3339, as in 2026-03-02T09:14:00Z, or a date".to_owned(),
    }
}

/// The largest offset from UTC that a place has, in seconds.
const MOST_OFFSET: i32 = 14 * 3_600;

impl Timestamp {
    /// The time at these milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// True if the time is known. The epoch itself, which is the default, means an unknown time.
    #[must_use]
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// The date and time of day at `offset` seconds east of UTC; `None` for an unknown time or one outside the
    /// calendar.
    #[must_use]
    pub fn civil(self, offset: i32) -> Option<Civil> {
        let there = self.datetime(offset)?;
        // A time known only by its day is stored as midnight UTC.
        let has_time = self.0 % 86_400_000 != 0;
        Some(Civil { date: there.date(), time: has_time.then(|| there.time()) })
    }

    fn datetime(self, offset: i32) -> Option<jiff::civil::DateTime> {
        let time = jiff::Timestamp::from_millisecond(self.0).ok().filter(|_| self.is_known())?;
        Some(jiff::tz::Offset::from_seconds(offset).ok()?.to_datetime(time))
    }
}

/// A day, with the time of day if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    date: jiff::civil::Date,
    time: Option<jiff::civil::Time>,
}

impl Civil {
    /// The day in ISO 8601, as in `2023-05-21`.
    #[must_use]
    pub fn date(&self) -> String {
        self.date.to_string()
    }

    /// True if both are on the same day.
    #[must_use]
    pub fn is_same_day(&self, other: &Self) -> bool {
        self.date == other.date
    }
}

impl fmt::Display for Civil {
    /// `Sunday 2023-05-21, 19:48`; without the time of day if unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use jiff::civil::Weekday;
        let weekday = match self.date.weekday() {
            Weekday::Monday => "Monday",
            Weekday::Tuesday => "Tuesday",
            Weekday::Wednesday => "Wednesday",
            Weekday::Thursday => "Thursday",
            Weekday::Friday => "Friday",
            Weekday::Saturday => "Saturday",
            Weekday::Sunday => "Sunday",
        };
        write!(f, "{weekday} {}", self.date)?;
        match self.time {
            Some(time) => write!(f, ", {:02}:{:02}", time.hour(), time.minute()),
            None => Ok(()),
        }
    }
}

/// The offset of an RFC 3339 time in seconds east of UTC; `None` for a time without an offset or in UTC.
#[must_use]
pub fn utc_offset(text: &str) -> Option<i32> {
    let (_, time) = text.split_once(['T', 't', ' '])?;
    let at = time.rfind(['+', '-'])?;
    let (sign, zone) = time.get(at..)?.split_at_checked(1)?;
    let (hours, minutes) = zone.split_once(':')?;
    let seconds = hours.parse::<i32>().ok()?.checked_mul(3_600)? + minutes.parse::<i32>().ok()?.checked_mul(60)?;
    let seconds = if sign == "-" { -seconds } else { seconds };
    Some(seconds).filter(|seconds| *seconds != 0 && seconds.abs() < 86_400)
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC; a time outside the calendar's range is shown in milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => time.fmt(f),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads RFC 3339, or a date with or without a time of day, taken as UTC.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if utc_offset(text).is_some_and(|offset| offset.abs() > MOST_OFFSET) {
            return Err(InvalidTimestamp(text.to_owned()));
        }
        let zoned = text.parse::<jiff::Timestamp>();
        let time = zoned.or_else(|_| {
            let civil = text.parse::<jiff::civil::DateTime>()?;
            civil.to_zoned(jiff::tz::TimeZone::UTC).map(|zoned| zoned.timestamp())
        });
        time.map(|time| Self(time.as_millisecond())).map_err(|_| InvalidTimestamp(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_importers_meet() {
        let check = |text: &str, millis: i64| assert_eq!(text.parse(), Ok(Timestamp(millis)), "{text}");
        check("1970-01-01T00:00:01Z", 1_000);
        check("1970-01-01T01:00:00.5+01:00", 500);
        check("1970-01-02", 86_400_000);
        check("1970-01-01T00:01:00", 60_000);
        let why = |text: &str| text.parse::<Timestamp>().unwrap_err().to_string();
        assert!(why("yesterday").contains("expected RFC 3339"));
        check("1970-01-01T14:00:00+14:00", 0);
        assert!(why("1970-01-01T14:00:00+14:01").contains("at most 14 hours"));
        assert!(why("1970-01-01T14:00:00-23:00").contains("at most 14 hours"));
        let late = why("9999-12-31T23:59:59Z");
        assert_eq!(late, "`9999-12-31T23:59:59Z` is not a time: the last one that can be kept is 9999-12-30T22:00:00Z");
    }

    #[test]
    fn a_calendar_shows_the_day_and_the_time_that_is_known() {
        let check = |text: &str, offset: i32, expected: Option<&str>| {
            let shown = text.parse::<Timestamp>().unwrap().civil(offset).map(|civil| civil.to_string());
            assert_eq!(shown.as_deref(), expected, "{text}");
        };
        check("2023-05-21T19:48:00Z", 0, Some("Sunday 2023-05-21, 19:48"));
        check("2023-05-21T23:48:00Z", 7_200, Some("Monday 2023-05-22, 01:48"));
        check("2024-03-15", 0, Some("Friday 2024-03-15"));
        check("1970-01-01T00:00:00Z", 0, None);
    }

    #[test]
    fn an_offset_is_read_where_a_time_says_one() {
        let check = |text: &str, expected: Option<i32>| assert_eq!(utc_offset(text), expected, "{text}");
        check("2023-05-21T19:48:00+02:00", Some(7_200));
        check("2023-05-21 19:48:00-03:30", Some(-12_600));
        check("2023-05-21T19:48:00Z", None);
        check("2023-05-21T19:48:00+00:00", None);
        check("2023-05-21", None);
        check("2023-05-21T19:48:00+99:00", None);
    }

    #[test]
    fn prints_what_it_reads() {
        let time = Timestamp(1_772_442_840_123);
        assert_eq!(time.to_string().parse(), Ok(time));
    }
}
