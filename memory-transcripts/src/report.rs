//! What was read, what was not, and why.

use std::{collections::BTreeMap, fmt};

use memory_core::one_line;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Distinct names of skipped records that are kept; the rest are counted together. A hostile file may have any number.
const NAMES: usize = 64;
/// Characters of such a name that are kept.
const NAME: usize = 60;
/// The name of what is counted together.
const OTHERS: &str = "(others)";

/// What a reader met so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// Records read: lines, elements of a list, files of a directory or rows.
    pub records: u64,
    /// Conversations given.
    pub conversations: u64,
    /// Of these, forks of another.
    pub forks: u64,
    /// Messages given.
    pub messages: u64,
    /// Summaries given.
    pub summaries: u64,
    /// Halves of characters that U+FFFD stands for: escapes of a surrogate without the other one.
    pub mended: u64,
    /// Records that gave no message, by reason and name.
    #[serde(serialize_with = "values")]
    #[schemars(with = "Vec<Skipped>")]
    skipped: BTreeMap<(Why, String), Skipped>,
}

fn values<S: Serializer>(skipped: &BTreeMap<(Why, String), Skipped>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(skipped.values())
}

/// Records of one name that gave no message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Skipped {
    /// The name of the record's type, shortened.
    pub what: String,
    /// Why.
    pub why: Why,
    /// How many.
    pub count: u64,
    /// Where the first of them stands.
    pub first: String,
}

/// Why a record gave no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// Its type is not known.
    Unknown,
    /// It cannot be read.
    Broken,
    /// It is what a model was shown in place of history, such as a summary.
    View,
    /// It is a note of the program: settings, progress, instructions that nobody wrote.
    Note,
    /// It repeats another record.
    Repeated,
    /// It holds no words.
    Empty,
    /// It is a summary of other than messages in a row, so that it can stand for none.
    Unfit,
    /// It is a part of a message for which messages have no place, such as sound.
    NoPlace,
    /// It is the end of what is still being written. It is read once it is complete.
    Unfinished,
    /// The file was not looked into: it is a link, or not named as a transcript is.
    OtherFile,
}

impl Why {
    /// The reason in kebab-case; it never changes.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Broken => "broken",
            Self::View => "view",
            Self::Note => "note",
            Self::Repeated => "repeated",
            Self::Empty => "empty",
            Self::Unfit => "unfit",
            Self::NoPlace => "no-place",
            Self::Unfinished => "unfinished",
            Self::OtherFile => "other-file",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "of an unknown type",
            Self::Broken => "unreadable",
            Self::View => "shown to the model in place of history",
            Self::Note => "a note of the program",
            Self::Repeated => "a repetition",
            Self::Empty => "without words",
            Self::Unfit => "not taken over",
            Self::NoPlace => "of a kind that messages have no place for",
            Self::Unfinished => "not complete yet",
            Self::OtherFile => "not looked into, since it is not named as a transcript",
        })
    }
}

impl Report {
    /// What gave no message, by reason and name.
    pub fn skipped(&self) -> impl Iterator<Item = &Skipped> {
        self.skipped.values()
    }

    /// Adds what another reader met.
    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.conversations += other.conversations;
        self.forks += other.forks;
        self.messages += other.messages;
        self.summaries += other.summaries;
        self.mended += other.mended;
        for skipped in other.skipped() {
            self.count(skipped.why, &skipped.what, skipped.count, || skipped.first.clone());
        }
    }

    pub(crate) fn skip(&mut self, why: Why, what: &str, place: impl FnOnce() -> String) {
        self.count(why, what, 1, place);
    }

    pub(crate) fn count(&mut self, why: Why, what: &str, count: u64, place: impl FnOnce() -> String) {
        let shown = one_line(what);
        let mut name: String = shown.chars().take(NAME).collect();
        let is_new = !self.skipped.contains_key(&(why, name.clone()));
        let names = || self.skipped.keys().filter(|(_, name)| name != OTHERS).count();
        if is_new && name != OTHERS && names() >= NAMES {
            OTHERS.clone_into(&mut name);
        }
        let new = || Skipped { what: name.clone(), why, count: 0, first: place() };
        self.skipped.entry((why, name.clone())).or_insert_with(new).count += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_their_number_is_bounded() {
        let mut report = Report::default();
        for number in 0..1_000 {
            report.skip(Why::Unknown, &format!("x{number}\n"), || format!("line {number}"));
        }
        assert_eq!(report.skipped().count(), NAMES + 1);
        assert_eq!(report.skipped().map(|skipped| skipped.count).sum::<u64>(), 1_000);
        assert!(report.skipped().all(|skipped| !skipped.what.contains('\n')));
        let mut sum = Report::default();
        sum.add(&report);
        assert_eq!(sum, report);
    }
}
