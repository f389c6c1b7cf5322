//! Words of a language by what they mean in a time.

use std::{cmp::Reverse, collections::HashSet, sync::LazyLock};

use super::{
    Time, Unit,
    tables::TABLES,
    text::{Script, Text, folded},
};

/// The words of a language.
///
/// Each text lists words and groups of words, separated by ` | `. Marks before a word:
///
/// | mark | the word counts only |
/// |---|---|
/// | `~` | where the rest of the text is in this language for certain |
/// | `^` | with a capital |
/// | `?` | after a preposition of time, or with a day or a year, as any month of another language than English |
/// | `!` | with a day or a year |
#[derive(Debug)]
pub(super) struct Table {
    /// Scripts of which a text has one, and one it has not.
    pub(super) scripts: (&'static [Script], Option<Script>),
    pub(super) months: [&'static str; 12],
    /// From Monday.
    pub(super) weekdays: [&'static str; 7],
    /// One and several of each of [`UNITS`], separated by ` / `.
    pub(super) units: [&'static str; 7],
    /// From one.
    pub(super) numbers: &'static [&'static str],
    pub(super) rows: &'static [(Sense, &'static str)],
    /// Endings that any word may have.
    pub(super) endings: &'static str,
    /// Frequent words by which the language is known among those of its script.
    pub(super) frequent: &'static str,
    pub(super) traits: &'static [Trait],
    /// First letters of words that do not follow a day of the week.
    pub(super) not_after_weekday: &'static str,
    /// Endings of the text before which a count back is not one from the clock: "two days before the exam".
    pub(super) not_before_count: &'static str,
    /// Letters of which the text before a count back ends with one, if it does not end with a space; any if empty.
    pub(super) before_count: &'static str,
}

/// A trait of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    /// Words follow each other without spaces.
    Glued,
    /// The number of a month or a day may be written in the characters of its script.
    HanNumbers,
    /// A month by itself is a time, and so are a year of any number after a preposition, and this day of a week.
    English,
    /// A unit without a number before "ago" is one.
    BareUnit,
    /// A count back has no other meaning.
    SureCounts,
    /// A named day is another noun before a word that begins with the article.
    AdjectivesBehind,
    /// A count after "last" names days up to the clock with a word for "during" behind it, else a day of a month.
    SpanWord,
}

/// Meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// A whole time.
    Named(Time),
    Month(i8),
    Weekday(i8),
    /// A day of the week that only follows a week.
    ShortWeekday(i8),
    Unit {
        unit: Unit,
        is_plural: bool,
    },
    /// Units that have their number in them.
    Units {
        unit: Unit,
        least: i32,
        most: i32,
    },
    Number(i32),
    Few,
    /// First day of a month.
    First,
    Weekend,
    /// "Last" before a noun, or "the one before the last".
    Last(i16),
    LastBehind(i16),
    This,
    Next,
    NextBehind,
    /// "Past" before a count.
    Past,
    /// "Past" that needs a count behind it.
    PastCount,
    /// "Past" between a count and its unit.
    PastWithin,
    /// "During" behind a count.
    Span,
    /// "Ago" before a count.
    AgoFirst,
    Ago,
    Preposition(Preposition),
    /// A preposition that follows.
    Behind(Preposition),
    /// A preposition that is joined to the word before it.
    Suffix(Preposition),
    Between,
    And,
    From,
    To,
    Article,
    /// Joint of a day, a month and a year.
    Of,
    /// Word that makes "the last week" before it a part of something: "the last week of May".
    PartOf,
    /// "Year" next to its number.
    YearWord,
    MonthWord,
    DayWord,
    /// Word that changes the time behind it: "every", "about".
    Not,
    /// Word that makes the day of the week behind it a habit.
    Habit,
    /// Word that changes the count back before it.
    NotBehind,
    /// Word that makes the day of the week before it a habit.
    HabitBehind,
    /// Words that look like a time and are none.
    Decoy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preposition {
    Since,
    After,
    Before,
    Until,
    During,
}

/// Words that one needs next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A preposition, a day or a year.
    Lead,
    /// A day or a year.
    Date,
}

/// A word with a meaning.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) phrase: String,
    pub(super) sense: Sense,
    pub(super) is_unsure: bool,
    pub(super) needs_capital: bool,
    pub(super) needs: Needs,
}

/// The words of a language, folded.
#[derive(Debug)]
pub(super) struct Lexicon {
    pub(super) table: &'static Table,
    /// By [`bucket`], the longest first.
    entries: Vec<Vec<Entry>>,
    /// The longest first.
    pub(super) endings: Vec<String>,
    pub(super) not_before_count: Vec<String>,
    known: HashSet<String>,
}

const UNITS: [Unit; 7] = [Unit::Minute, Unit::Hour, Unit::Day, Unit::Week, Unit::Month, Unit::Quarter, Unit::Year];

/// All languages, in the order of [`TABLES`].
pub(super) static LEXICONS: LazyLock<Vec<Lexicon>> = LazyLock::new(|| TABLES.into_iter().map(Lexicon::of).collect());

/// The languages that a text may be in, with the number and the certainty of each; English first.
pub(super) fn languages(text: &Text) -> Vec<(usize, &'static Lexicon, bool)> {
    let fits = |(_, lexicon): &(usize, &Lexicon)| {
        let (scripts, other) = lexicon.table.scripts;
        let is_any = scripts.is_empty() || scripts.iter().any(|script| text.has(*script));
        is_any && other.is_none_or(|other| !text.has(other))
    };
    let fitting: Vec<_> = LEXICONS.iter().enumerate().filter(fits).collect();
    let is_certain = |(number, lexicon): &(usize, &'static Lexicon)| {
        let score = text.known_in(*number);
        let is_most = fitting.iter().all(|(other, _)| other == number || text.known_in(*other) < score);
        (*number, *lexicon, score >= 2 && is_most)
    };
    fitting.iter().map(is_certain).collect()
}

impl Lexicon {
    fn of(table: &'static Table) -> Self {
        let list = |text: &str| -> Vec<String> {
            let mut list: Vec<_> = text.split('|').map(str::trim).filter(|word| !word.is_empty()).map(ending).collect();
            list.sort_by_key(|word| Reverse(word.len()));
            list
        };
        let mut lexicon = Self {
            table,
            entries: std::iter::repeat_with(Vec::new).take(BUCKETS).collect(),
            endings: list(table.endings),
            not_before_count: list(table.not_before_count),
            known: table.frequent.split_whitespace().map(str::to_owned).collect(),
        };
        for (month, words) in (1..).zip(table.months) {
            lexicon.add(Sense::Month(month), words);
        }
        for (day, words) in (1..).zip(table.weekdays) {
            lexicon.add(Sense::Weekday(day), words);
        }
        for (unit, words) in UNITS.into_iter().zip(table.units) {
            let (one, several) = words.split_once('/').unwrap_or((words, ""));
            lexicon.add(Sense::Unit { unit, is_plural: false }, one);
            lexicon.add(Sense::Unit { unit, is_plural: true }, several);
        }
        for (number, words) in (1..).zip(table.numbers) {
            lexicon.add(Sense::Number(number), words);
        }
        for (sense, words) in table.rows {
            lexicon.add(*sense, words);
        }
        for entries in &mut lexicon.entries {
            entries.sort_by_key(|entry| (Reverse(entry.phrase.len()), entry.sense == Sense::Decoy));
        }
        lexicon
    }

    fn add(&mut self, sense: Sense, words: &str) {
        for marked in words.split('|').map(str::trim).filter(|word| !word.is_empty()) {
            let word = marked.trim_start_matches(['~', '^', '?', '!']);
            let has = |mark: char| marked.strip_suffix(word).is_some_and(|marks| marks.contains(mark));
            let phrase = folded(word);
            let needs = match (has('!'), has('?')) {
                (true, _) => Needs::Date,
                (false, true) => Needs::Lead,
                (false, false) => Needs::Nothing,
            };
            let mut letters = phrase.chars();
            let Some(first) = letters.next() else { continue };
            let bucket = bucket(first, letters.next());
            self.known.extend(Some(phrase.clone()).filter(|phrase| !phrase.contains(' ')));
            let entry = Entry { phrase, sense, is_unsure: has('~'), needs_capital: has('^'), needs };
            if let Some(entries) = self.entries.get_mut(bucket) {
                entries.push(entry);
            }
        }
    }

    /// Entries that a text begins with, the longest first.
    pub(super) fn entries(&self, text: &str) -> impl Iterator<Item = &Entry> {
        let mut letters = text.chars();
        let buckets = letters.next().map(|first| [bucket(first, letters.next()), bucket(first, None)]);
        let of = |bucket| self.entries.get(bucket).map_or(&[] as &[Entry], Vec::as_slice);
        buckets.into_iter().flatten().flat_map(of).filter(move |entry| text.starts_with(&*entry.phrase))
    }

    pub(super) fn has(&self, of: Trait) -> bool {
        self.table.traits.contains(&of)
    }

    pub(super) fn knows(&self, word: &str) -> bool {
        self.known.contains(word)
    }

    /// The words by which the language is known.
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(String::as_str)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }
}

/// Number of lists of words; a hash by more than two letters costs more than it saves.
const BUCKETS: usize = 512;

/// The list of the words that begin with two letters, or have one.
fn bucket(first: char, second: Option<char>) -> usize {
    (31 * u32::from(first) + second.map_or(0, u32::from)) as usize % BUCKETS
}

/// An ending, in which an apostrophe is followed by a space as in a text.
fn ending(written: &str) -> String {
    written.replace('\'', "' ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_table_can_be_met_in_a_text() {
        for lexicon in LEXICONS.iter() {
            for entry in lexicon.entries.iter().flatten() {
                let begins = entry.phrase.starts_with(|c: char| c == '\'' || c.is_whitespace());
                assert!(!begins && !entry.phrase.contains("  "), "{entry:?}");
                assert_eq!(folded(&entry.phrase.replace("' ", "'")), entry.phrase);
            }
        }
    }
}
