//! Resolution of words and a clock to a range of time.

use jiff::{
    Span, ToSpan,
    civil::{Date, DateTime},
    tz::TimeZone,
};

use super::{Phrase, Time, Unit, Which};
use crate::{Timestamp, time::TimeRange};

/// The range of a phrase; `None` if the date does not exist or the range is empty.
pub(super) fn range(phrase: Phrase, clock: Timestamp) -> Option<TimeRange> {
    let now = jiff::Timestamp::from_millisecond(clock.as_millis()).ok()?.to_zoned(TimeZone::UTC).datetime();
    let of = |time: Time| stretch(time, now);
    let range = |since: Option<DateTime>, before: Option<DateTime>| {
        let at = |edge: Option<DateTime>| edge.map(timestamp).transpose();
        TimeRange::new(at(since).ok()?, at(before).ok()?).ok()
    };
    match phrase {
        Phrase::During(time) => of(time).and_then(|(begin, end)| range(Some(begin), Some(end))),
        Phrase::Since(time) => of(time).and_then(|(begin, _)| range(Some(begin), None)),
        Phrase::After(time) => of(time).and_then(|(_, end)| range(Some(end), None)),
        Phrase::Before(time) => of(time).and_then(|(begin, _)| range(None, Some(begin))),
        Phrase::Until(time) => of(time).and_then(|(_, end)| range(None, Some(end))),
        Phrase::Between(one, other) => {
            let ((begin, _), (_, end)) = (of(one)?, of(other)?);
            range(Some(begin), Some(end))
        }
    }
}

fn timestamp(at: DateTime) -> Result<Timestamp, jiff::Error> {
    Ok(Timestamp::from_millis(at.to_zoned(TimeZone::UTC)?.timestamp().as_millisecond()))
}

/// The beginning and the end of a time.
pub(super) fn stretch(time: Time, now: DateTime) -> Option<(DateTime, DateTime)> {
    let today = now.date();
    match time {
        Time::DaysBack(days) => days_from(today.checked_sub(days.days()).ok()?, 1.days()),
        Time::LastNight => Some((today.yesterday().ok()?.at(18, 0, 0, 0), today.at(6, 0, 0, 0))),
        Time::Calendar { unit, back } => calendar(unit, back, now),
        Time::Past { unit, count } => {
            // The message at the clock's time is included.
            let end = now.checked_add(1.millisecond()).ok()?;
            Some((now.checked_sub(span(unit, count)?).ok()?, end))
        }
        Time::Ago { unit: Unit::Day, least, most } => {
            days_from(today.checked_sub(most.days()).ok()?, (most - least + 1).days())
        }
        Time::Ago { unit, least, most } => {
            let tolerance = tolerance(unit);
            let (begin, end) = (now.checked_sub(span(unit, most)?).ok()?, now.checked_sub(span(unit, least)?).ok()?);
            let (begin, end) = (begin.checked_sub(tolerance).ok()?, end.checked_add(tolerance).ok()?);
            Some(match unit {
                Unit::Minute | Unit::Hour => (begin, end),
                // The time of day is ignored.
                _ => (midnight(begin.date()), midnight(end.date().tomorrow().ok()?)),
            })
        }
        Time::Weekend { is_last } => {
            let saturday = monday(today)?.checked_add(5.days()).ok()?;
            let has_begun = saturday <= today && !is_last;
            let saturday = if has_begun { saturday } else { saturday.checked_sub(7.days()).ok()? };
            days_from(saturday, 2.days())
        }
        Time::Weekday { day, which } => {
            let today_is = today.weekday().to_monday_one_offset();
            let back = match which {
                Which::Back(weeks) => 7 * i32::from(weeks) + i32::from(today_is - day),
                Which::Latest => (today_is - day).rem_euclid(7).into(),
                Which::Last => i32::from((today_is - day - 1).rem_euclid(7)) + 1,
                Which::Next => -1 - i32::from((day - today_is - 1).rem_euclid(7)),
            };
            days_from(today.checked_sub(back.days()).ok()?, 1.days())
        }
        Time::Month { month, day, year: Some(year), .. } => month_of(year, month, day),
        Time::Month { month, day, year: None, which: Which::Back(years) } => {
            month_of(today.year().checked_sub(years)?, month, day)
        }
        Time::Month { month, day, year: None, which } => {
            let this_year = month_of(today.year(), month, day);
            let is_past = |stretch: &(DateTime, DateTime)| match which {
                Which::Latest => stretch.0 <= now,
                Which::Last => stretch.1 <= now,
                Which::Next | Which::Back(_) => true,
            };
            this_year.filter(is_past).or_else(|| {
                // 29 February may be several years back.
                (1..=8).find_map(|back| month_of(today.year() - back, month, day))
            })
        }
        Time::Year(year) => days_from(Date::new(year, 1, 1).ok()?, 1.year()),
    }
}

fn calendar(unit: Unit, back: i32, now: DateTime) -> Option<(DateTime, DateTime)> {
    let today = now.date();
    let first = match unit {
        Unit::Minute | Unit::Hour | Unit::Day => today,
        Unit::Week => monday(today)?,
        Unit::Month => today.first_of_month(),
        Unit::Quarter => Date::new(today.year(), (today.month() - 1) / 3 * 3 + 1, 1).ok()?,
        Unit::Year => today.first_of_year(),
    };
    let unit = if matches!(unit, Unit::Minute | Unit::Hour) { Unit::Day } else { unit };
    days_from(first.checked_sub(span(unit, back)?).ok()?, span(unit, 1)?)
}

/// A month of a year, or a day of it.
fn month_of(year: i16, month: i8, day: Option<i8>) -> Option<(DateTime, DateTime)> {
    match day {
        Some(day) => days_from(Date::new(year, month, day).ok()?, 1.days()),
        None => days_from(Date::new(year, month, 1).ok()?, 1.months()),
    }
}

/// Whole days, starting with `first`.
fn days_from(first: Date, length: Span) -> Option<(DateTime, DateTime)> {
    Some((midnight(first), midnight(first.checked_add(length).ok()?)))
}

fn midnight(date: Date) -> DateTime {
    date.at(0, 0, 0, 0)
}

fn monday(date: Date) -> Option<Date> {
    date.checked_sub(i32::from(date.weekday().to_monday_zero_offset()).days()).ok()
}

fn span(unit: Unit, count: i32) -> Option<Span> {
    let span = Span::new();
    match unit {
        Unit::Minute => span.try_minutes(count),
        Unit::Hour => span.try_hours(count),
        Unit::Day => span.try_days(count),
        Unit::Week => span.try_weeks(count),
        Unit::Month => span.try_months(count),
        Unit::Quarter => span.try_months(count.checked_mul(3)?),
        Unit::Year => span.try_years(count),
    }
    .ok()
}

/// The tolerance of `a week ago`, to either side.
fn tolerance(unit: Unit) -> Span {
    match unit {
        Unit::Minute => 1.minute(),
        Unit::Hour => 30.minutes(),
        Unit::Day => 12.hours(),
        Unit::Week => 3.days(),
        Unit::Month => 15.days(),
        Unit::Quarter => 45.days(),
        Unit::Year => 6.months(),
    }
}
