//! Words of time in the languages that are read.

mod east_asian;
mod germanic;
mod near_east;
mod romance;

use super::{
    Time, Unit,
    lexicon::{Sense, Table},
};

/// All languages, English first: a word of several languages is read as the first of them reads it.
pub(super) const TABLES: [&Table; 14] = [
    &germanic::ENGLISH,
    &germanic::GERMAN,
    &germanic::DUTCH,
    &romance::FRENCH,
    &romance::SPANISH,
    &romance::ITALIAN,
    &romance::PORTUGUESE,
    &near_east::TURKISH,
    &near_east::RUSSIAN,
    &near_east::ARABIC,
    &near_east::HINDI,
    &east_asian::CHINESE,
    &east_asian::JAPANESE,
    &east_asian::KOREAN,
];

/// A table without words.
const NONE: Table = Table {
    scripts: (&[], None),
    months: [""; 12],
    weekdays: [""; 7],
    units: [""; 7],
    numbers: &[],
    rows: &[],
    endings: "",
    frequent: "",
    traits: &[],
    not_after_weekday: "",
    not_before_count: "",
    before_count: "",
};

const fn day(back: i32) -> Sense {
    Sense::Named(Time::DaysBack(back))
}

const fn week(back: i32) -> Sense {
    calendar(Unit::Week, back)
}

const fn month(back: i32) -> Sense {
    calendar(Unit::Month, back)
}

const fn year(back: i32) -> Sense {
    calendar(Unit::Year, back)
}

const fn calendar(unit: Unit, back: i32) -> Sense {
    Sense::Named(Time::Calendar { unit, back })
}

/// "Eight days ago", which is a week.
const fn weeks_ago(count: i32) -> Sense {
    Sense::Named(Time::Ago { unit: Unit::Week, least: count, most: count })
}

const fn units(unit: Unit, count: i32) -> Sense {
    Sense::Units { unit, least: count, most: count }
}

const fn few(unit: Unit) -> Sense {
    Sense::Units { unit, least: 2, most: 6 }
}
