//! Points in time.

use std::{fmt, str::FromStr};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is no point in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no time: expected RFC 3339, as in 2026-03-02T09:14:00Z, or a date")]
pub struct InvalidTimestamp(pub String);

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }
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

    /// Reads RFC 3339, or a date with or without a time of day, which is then taken as UTC.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
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
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn prints_what_it_reads() {
        let time = Timestamp(1_772_442_840_123);
        assert_eq!(time.to_string().parse(), Ok(time));
    }
}
