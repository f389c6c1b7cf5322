//! Ranges of time.

use std::fmt;

use crate::{Timestamp, time::InvalidTimestamp};

/// A half-open range of time: the start is included, the end is excluded. Either end may be open.
///
/// ```
/// use memory_core::time::TimeRange;
///
/// let may = TimeRange::new(Some("2023-05-01".parse()?), Some("2023-06-01".parse()?))?;
/// assert!(may.contains("2023-05-07T09:00:00Z".parse()?));
/// assert!(!may.contains("2023-06-01".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimeRange {
    since: Option<Timestamp>,
    before: Option<Timestamp>,
}

/// Two times with no time between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no time lies between {since} and {before}")]
pub struct EmptyTimeRange {
    /// The start.
    pub since: Timestamp,
    /// The end.
    pub before: Timestamp,
}

/// An edge of a range of time, as a person states it.
///
/// Exhaustive: a zone is stated or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// A point in time.
    Zoned(Timestamp),
    /// A time without a zone, by the clock where something was said.
    Local(Timestamp),
}

impl Edge {
    /// The time that a text states, in RFC 3339 or as a date with or without a time of day.
    ///
    /// # Errors
    /// When the text is no time.
    pub fn since(text: &str) -> Result<Self, InvalidTimestamp> {
        text.parse().map(|at| Self::of(text, at))
    }

    /// The first instant after the time or the day that a text states.
    ///
    /// # Errors
    /// When the text is no time.
    pub fn until(text: &str) -> Result<Self, InvalidTimestamp> {
        TimeRange::end(text).map(|at| Self::of(text, at))
    }

    fn of(text: &str, at: Timestamp) -> Self {
        if text.parse::<jiff::Timestamp>().is_ok() { Self::Zoned(at) } else { Self::Local(at) }
    }
}

impl TimeRange {
    /// The first instant after a time that is given as a text, or after a day.
    ///
    /// # Errors
    /// When the text is no time.
    pub fn end(text: &str) -> Result<Timestamp, InvalidTimestamp> {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        let at: Timestamp = text.parse()?;
        let is_day = !text.contains(['T', 't', ' ', ':']);
        Ok(Timestamp::from_millis(at.as_millis().saturating_add(if is_day { DAY } else { 1 })))
    }

    /// All times.
    pub const ALL: Self = Self { since: None, before: None };

    /// The range from `since` up to, and excluding, `before`; `None` leaves an end open.
    ///
    /// # Errors
    /// When no time lies between them.
    pub fn new(since: Option<Timestamp>, before: Option<Timestamp>) -> Result<Self, EmptyTimeRange> {
        match (since, before) {
            (Some(since), Some(before)) if since >= before => Err(EmptyTimeRange { since, before }),
            _ => Ok(Self { since, before }),
        }
    }

    /// The start; `None` if it is open.
    #[must_use]
    pub const fn since(self) -> Option<Timestamp> {
        self.since
    }

    /// The end, which is excluded; `None` if it is open.
    #[must_use]
    pub const fn before(self) -> Option<Timestamp> {
        self.before
    }

    /// True if a time lies in the range.
    #[must_use]
    pub fn contains(self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.before.is_none_or(|before| at < before)
    }

    /// True if the range is unbounded.
    #[must_use]
    pub fn is_all(self) -> bool {
        self == Self::ALL
    }

    /// The intersection; `None` if it is empty.
    #[must_use]
    pub fn overlap(self, other: Self) -> Option<Self> {
        // `None` is the least of all `Option`s.
        let before = match (self.before, other.before) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self::new(self.since.max(other.since), before).ok()
    }
}

impl fmt::Display for TimeRange {
    /// `2023-05-01T00:00:00Z..2023-06-01T00:00:00Z`, an open end left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(since) = self.since {
            since.fmt(f)?;
        }
        f.write_str("..")?;
        self.before.map_or(Ok(()), |before| before.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_beginning_and_not_its_end() {
        let at = Timestamp::from_millis;
        let range = TimeRange::new(Some(at(10)), Some(at(20))).unwrap();
        assert_eq!([9, 10, 19, 20].map(|millis| range.contains(at(millis))), [false, true, true, false]);
        assert!(TimeRange::ALL.contains(at(i64::MIN)) && TimeRange::ALL.contains(at(i64::MAX)));
        let empty = TimeRange::new(Some(at(20)), Some(at(20))).unwrap_err();
        assert_eq!((empty.since, empty.before), (at(20), at(20)));
    }

    #[test]
    fn an_overlap_is_what_lies_in_both() {
        let range = |since: Option<i64>, before: Option<i64>| {
            TimeRange::new(since.map(Timestamp::from_millis), before.map(Timestamp::from_millis)).unwrap()
        };
        assert_eq!(range(Some(1), Some(5)).overlap(range(Some(3), None)), Some(range(Some(3), Some(5))));
        assert_eq!(range(None, Some(5)).overlap(range(Some(3), Some(9))), Some(range(Some(3), Some(5))));
        assert_eq!(range(Some(1), Some(5)).overlap(range(Some(5), None)), None);
        assert_eq!(TimeRange::ALL.overlap(TimeRange::ALL), Some(TimeRange::ALL));
    }
}
