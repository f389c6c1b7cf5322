//! Reading of numbers, and of counts of units back from the clock.

use super::{HAN_DIGITS, Read, Reader, is_numeral};
use crate::time::words::{
    Time, Unit,
    lexicon::{Sense, Trait},
};

/// The largest count of units back: no conversation is older.
const MOST: i32 = 9_999;
/// Most letters of a number in words, of which more would only take time.
const LONGEST: usize = 16;
/// "A few".
const FEW: (i32, i32) = (2, 6);

impl Reader<'_> {
    /// `two days ago`, `a couple of weeks ago`, `a few months ago`, in either order.
    pub(super) fn back(&self, at: usize) -> Read<Time> {
        let ago = |(time, end): (Time, usize)| {
            let (_, end) = self.read(self.next(end), |sense| (sense == Sense::Ago).then_some(()))?;
            Some((time, end))
        };
        let first = self.skip(at, Sense::AgoFirst).and_then(|at| self.counted(at));
        first.or_else(|| self.counted(at).and_then(ago).filter(|_| self.may_count_from_now(at)))
    }

    /// False behind words that make a count another one: "the exam", "two or".
    fn may_count_from_now(&self, at: usize) -> bool {
        let (written, before) = (self.text.before(at), self.text.before(at).trim_end());
        let allowed = self.lexicon.table.before_count;
        let is_free = allowed.is_empty()
            || before.is_empty()
            || (written.ends_with(' ') && self.is_unspaced())
            || before.ends_with(|c| allowed.contains(c));
        // "Iki üç gün önce" is two or three days ago.
        let letters = before.chars().rev().take(LONGEST + 1).take_while(|c| *c != ' ');
        let last = before.len() - letters.map(char::len_utf8).sum::<usize>();
        let is_counted = last < before.len() && self.number(last).is_some_and(|(_, end)| end == before.len());
        is_free && !is_counted && !self.lexicon.not_before_count.iter().any(|ending| before.ends_with(&**ending))
    }

    /// A number of units.
    fn counted(&self, at: usize) -> Read<Time> {
        let few = || self.read(at, |sense| (sense == Sense::Few).then_some(())).map(|(_, end)| (FEW, end));
        let counts = few().or_else(|| self.count(at).map(|(count, end)| ((count, count), end)));
        if let Some(((least, most), end)) = counts
            && let Some((unit, end)) = self.unit(self.next(end))
        {
            return Some((Time::Ago { unit, least, most }, end));
        }
        self.read(at, |sense| match sense {
            Sense::Units { unit, least, most } => Some(Time::Ago { unit, least, most }),
            Sense::Unit { unit, is_plural: false } if self.has(Trait::BareUnit) => {
                Some(Time::Ago { unit, least: 1, most: 1 })
            }
            _ => None,
        })
    }

    pub(super) fn count(&self, at: usize) -> Read<i32> {
        self.number(at).filter(|(number, _)| (1..=MOST).contains(number))
    }

    pub(super) fn number(&self, at: usize) -> Read<i32> {
        let word = || {
            self.read(at, |sense| match sense {
                Sense::Number(number) => Some(number),
                _ => None,
            })
        };
        word().or_else(|| self.digits(at)).or_else(|| self.han_number(at))
    }

    /// A number in digits, of at most nine.
    pub(super) fn digits(&self, at: usize) -> Read<i32> {
        let rest = self.text.rest(at);
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest.get(..length)?.parse().ok().filter(|_| length <= 9)?;
        self.may_end(at + length).then_some((number, at + length))
    }

    /// A number up to 99 in the characters of China and Japan.
    fn han_number(&self, at: usize) -> Read<i32> {
        let rest = self.text.rest(at);
        let letters = rest.chars().take(LONGEST).take_while(|c| is_numeral(*c) && !c.is_ascii_digit());
        let end = letters.map(char::len_utf8).sum::<usize>();
        let digit = |c: char| HAN_DIGITS.chars().zip(0..).find(|(digit, _)| *digit == c).map(|(_, number)| number);
        let one = |part: &str, of_none: i32| {
            let mut digits = part.chars();
            match (digits.next(), digits.next()) {
                (None, _) => Some(of_none),
                (Some(c), None) => digit(c),
                _ => None,
            }
        };
        let written = rest.get(..end).filter(|written| !written.is_empty() && self.has(Trait::HanNumbers))?;
        let number = match written.split_once('十') {
            Some((tens, ones)) => 10 * one(tens, 1)? + one(ones, 0)?,
            None => one(written, 0)?,
        };
        Some((number, at + end))
    }

    pub(super) fn unit(&self, at: usize) -> Read<Unit> {
        self.read(at, |sense| match sense {
            Sense::Unit { unit, .. } => Some(unit),
            _ => None,
        })
    }
}
