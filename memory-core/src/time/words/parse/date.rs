//! Reading of days, months and years of the calendar.

use super::{Read, Reader, is_numeral};
use crate::time::words::{
    Time, Which,
    lexicon::{Needs, Sense, Trait},
};

impl Reader<'_> {
    /// `7 May 2023`, `May 7th`, `the 7th of May`, `March 2022`, `2023年5月7日`, `2023-05-07`; `March` alone if led.
    pub(super) fn date(&self, at: usize, is_led: bool) -> Read<Time> {
        let which = Which::Latest;
        if self.text.begins_word(at)
            && let Some(token) = self.text.rest(at).split(' ').next()
            && let Some((year, month, day)) = numeric_date(token)
        {
            return Some((Time::Month { month, day, year: Some(year), which }, at + token.len()));
        }
        if self.has(Trait::Glued) {
            return self.marked_date(at, is_led);
        }
        let before = self.day(at).filter(|_| self.has(Trait::English) || !self.text.is_joined(at));
        let behind = before.map(|(_, end)| self.next(end));
        let behind = behind.map_or(at, |at| self.skip(at, Sense::Of).unwrap_or(at));
        let (month, mut end, needs) = self.entry(behind, |sense| match sense {
            Sense::Month(month) => Some(month),
            _ => None,
        })?;
        let mut day = before.map(|(day, _)| day);
        if day.is_none()
            && self.has(Trait::English)
            && let Some((number, behind)) = self.day(self.next(end))
        {
            (day, end) = (Some(number), behind);
        }
        let next = self.next(end);
        let year = self.year_number(self.skip(next, Sense::Of).unwrap_or(next)).or_else(|| self.year_number(next));
        if let Some((_, behind)) = year {
            let word = self.read(self.next(behind), |sense| (sense == Sense::YearWord).then_some(()));
            end = word.map_or(behind, |(_, end)| end);
        }
        let year = year.map(|(year, _)| year);
        let is_sure = day.is_some() || year.is_some() || (needs != Needs::Date && is_led);
        let is_month = needs == Needs::Nothing && self.has(Trait::English) && !self.is_foreign;
        (is_sure || is_month).then_some((Time::Month { month, day, year, which }, end))
    }

    /// A date whose numbers are followed by the words for year, month and day.
    fn marked_date(&self, at: usize, is_led: bool) -> Read<Time> {
        let year = self.marked(at, 2_999, Sense::YearWord).filter(|(year, _)| *year >= 1900);
        let begin = year.map_or(at, |(_, end)| self.next(end));
        let begin = self.skip(begin, Sense::Of).filter(|_| year.is_some()).unwrap_or(begin);
        let year = year.and_then(|(year, end)| Some((i16::try_from(year).ok()?, end)));
        let Some((month, end)) = self.marked(begin, 12, Sense::MonthWord) else {
            return year.map(|(year, end)| (Time::Year(year), end));
        };
        let day = self.marked(self.next(end), 31, Sense::DayWord);
        // "三月" is also a name, and "三月" of a child its age.
        let is_plain = self.text.rest(begin).starts_with(|c: char| c.is_ascii_digit());
        let is_sure = is_plain || is_led || year.is_some() || day.is_some();
        let time = Time::Month {
            month: i8::try_from(month).ok()?,
            day: day.and_then(|(day, _)| i8::try_from(day).ok()),
            year: year.map(|(year, _)| year),
            which: Which::Latest,
        };
        is_sure.then_some((time, day.map_or(end, |(_, end)| end)))
    }

    /// A number up to `most` and the word that marks it as a year, a month or a day.
    fn marked(&self, at: usize, most: i32, mark: Sense) -> Read<i32> {
        let (number, end) = self.number(at).filter(|(number, _)| (1..=most).contains(number))?;
        let (_, end) = self.read(self.next(end), |sense| (sense == mark).then_some(()))?;
        // "第3月曜日"
        (!self.text.rest(end).starts_with('曜')).then_some((number, end))
    }

    /// Another day of the month of a day: "5月3日から5日まで".
    pub(super) fn later_day(&self, first: Time, at: usize) -> Read<Time> {
        let (day, end) = self.marked(at, 31, Sense::DayWord)?;
        Some((first.on_day(i8::try_from(day).ok()?)?, end))
    }

    /// A month of any name before a preposition: "पिछले साल मार्च में".
    pub(super) fn month_before_preposition(&self, at: usize) -> Read<Time> {
        let (month, end) = self.read(at, |sense| match sense {
            Sense::Month(month) => Some(month),
            _ => None,
        })?;
        self.behind(end)?;
        Some((Time::Month { month, day: None, year: None, which: Which::Latest }, end))
    }

    /// A day of a month: `7`, `7th`.
    pub(super) fn day(&self, at: usize) -> Read<i8> {
        if let Some(first) = self.read(at, |sense| (sense == Sense::First).then_some(1)) {
            return Some(first);
        }
        let token = self.text.rest(at).split(' ').next()?;
        let length = token.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, ending) = token.split_at_checked(length)?;
        let is_day = ["", "st", "nd", "rd", "th", "er", "º", "ª", "e", "de"].contains(&ending);
        let day = digits.parse().ok().filter(|day| is_day && length <= 2 && (1..=31).contains(day))?;
        Some((day, at + token.len()))
    }

    pub(super) fn weekday(&self, at: usize, is_led: bool) -> Read<Time> {
        let (day, end, needs) = self.entry(at, |sense| match sense {
            Sense::Weekday(day) => Some(day),
            _ => None,
        })?;
        let is_sure = match needs {
            Needs::Nothing => true,
            Needs::Lead => is_led,
            Needs::Date => false,
        };
        // "两周一次"
        let is_counted = self.is_unspaced() && self.text.before(at).ends_with(is_numeral);
        let is_sure = is_sure && !is_counted && self.may_end_weekday(end);
        is_sure.then_some((Time::Weekday { day, which: Which::Latest }, end))
    }

    fn year_number(&self, at: usize) -> Read<i16> {
        let (number, end) = self.digits(at)?;
        let year = i16::try_from(number).ok().filter(|year| (1900..=2999).contains(year))?;
        (end == at + 4).then_some((year, end))
    }

    pub(super) fn year(&self, at: usize, is_led: bool) -> Read<Time> {
        let year_word = |at: usize| self.read(at, |sense| (sense == Sense::YearWord).then_some(()));
        if let Some((_, end)) = year_word(at) {
            let (year, end) = self.year_number(self.next(end))?;
            return Some((Time::Year(year), end));
        }
        let (year, end) = self.year_number(at).filter(|_| !self.text.is_joined(at) && !self.text.joins(at))?;
        if let Some((_, end)) = year_word(self.next(end)) {
            return Some((Time::Year(year), end));
        }
        // `in 2000 km` is a quantity, not a year.
        let counts = self.unit(self.next(end)).is_some();
        let is_english = self.has(Trait::English) && !self.is_foreign;
        let is_sure =
            (is_english && year % 50 != 0) || ((is_english || year % 50 != 0) && self.may_follow_year(at, end));
        (is_led && !counts && is_sure).then_some((Time::Year(year), end))
    }

    /// False before a word that may be what a number counts.
    fn may_follow_year(&self, at: usize, end: usize) -> bool {
        let rest = self.text.rest(self.next(end));
        let is_known = || rest.split(' ').next().is_some_and(|word| self.lexicon.knows(word));
        rest.is_empty() || self.text.stops(at) || self.behind(end).is_some() || is_known()
    }
}

fn year_number(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2999).contains(year))
}

/// A date in numbers: year, month and day. `2023-05-07`, `2023-05`, `7.5.2023` (day first), and `7/30/2023` or
/// `30/7/2023` where one number can only be the day; `7/5/2023` means one day in the States and another elsewhere.
pub(in crate::time::words) fn numeric_date(word: &str) -> Option<(i16, i8, Option<i8>)> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
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
