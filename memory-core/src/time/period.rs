//! Days, weeks and months of the calendar.

use std::{fmt, str::FromStr};

use jiff::{Span, civil::DateTime, tz::TimeZone};

use crate::Timestamp;

/// A unit of the calendar, in UTC, by which figures are shown over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Period {
    /// A day.
    Day,
    /// A week, which begins on Monday.
    Week,
    /// A month.
    Month,
}

/// A text that is no period.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no period: expected `day`, `week` or `month`")]
pub struct UnknownPeriod(pub String);

impl Period {
    const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];
    const DAY_MILLIS: i64 = 86_400_000;

    /// The period that shows the time between two points in at most some thirty parts: days up to a month, weeks up to
    /// half a year, months beyond.
    #[must_use]
    pub const fn fitting(first: Timestamp, last: Timestamp) -> Self {
        match last.as_millis().saturating_sub(first.as_millis()) / Self::DAY_MILLIS {
            ..=31 => Self::Day,
            32..=183 => Self::Week,
            _ => Self::Month,
        }
    }

    /// The beginning of the day, week or month that a time is in; `None` for an unknown time and one outside the
    /// calendar.
    #[must_use]
    pub fn start(self, at: Timestamp) -> Option<Timestamp> {
        let time = jiff::Timestamp::from_millisecond(at.as_millis()).ok().filter(|_| at.is_known())?;
        let date = time.to_zoned(TimeZone::UTC).date();
        let first = match self {
            Self::Day => date,
            Self::Week => date.checked_sub(Span::new().days(i64::from(date.weekday().to_monday_zero_offset()))).ok()?,
            Self::Month => date.first_of_month(),
        };
        let start = DateTime::from(first).to_zoned(TimeZone::UTC).ok()?;
        Some(Timestamp::from_millis(start.timestamp().as_millisecond()))
    }

    /// `day`, `week` or `month`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Period {
    type Err = UnknownPeriod;

    fn from_str(text: &str) -> Result<Self, UnknownPeriod> {
        Self::ALL.into_iter().find(|period| period.as_str() == text).ok_or_else(|| UnknownPeriod(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_its_day_week_and_month() {
        let at: Timestamp = "2023-03-01T23:59:00Z".parse().unwrap(); // a Wednesday
        let starts = Period::ALL.map(|period| period.start(at).unwrap().to_string());
        assert_eq!(starts, ["2023-03-01T00:00:00Z", "2023-02-27T00:00:00Z", "2023-03-01T00:00:00Z"]);
        assert_eq!(Period::Day.start(Timestamp::default()), None);
    }

    #[test]
    fn the_period_fits_the_time_that_is_shown() {
        let days = |days: i64| {
            Period::fitting(Timestamp::from_millis(1), Timestamp::from_millis(1 + days * Period::DAY_MILLIS))
        };
        assert_eq!(
            [days(0), days(31), days(100), days(1_000)],
            [Period::Day, Period::Day, Period::Week, Period::Month]
        );
        for period in Period::ALL {
            assert_eq!(period.to_string().parse(), Ok(period));
        }
    }
}
