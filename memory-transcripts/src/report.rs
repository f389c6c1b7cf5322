//! Counts of what was read, what was skipped, and why.

use std::{collections::BTreeMap, fmt};

use memory_core::text::one_line;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Maximum distinct names of skipped records; further ones are counted together, since a hostile file may have any
/// number.
const NAMES: usize = 64;
/// Maximum characters of such a name.
const NAME: usize = 60;
/// Name for records that are counted together.
const OTHERS: &str = "(others)";

/// Counts of what a reader has met so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// Records read: lines, elements of a list, files of a directory or rows.
    pub records: u64,
    /// Conversations returned.
    pub conversations: u64,
    /// Forks among these conversations.
    pub forks: u64,
    /// Messages returned.
    pub messages: u64,
    /// Summaries returned.
    pub summaries: u64,
    /// Escaped surrogates without their other half; each was replaced by U+FFFD.
    pub mended: u64,
    /// Records that gave no message, by reason and name.
    #[serde(serialize_with = "values")]
    #[schemars(with = "Vec<Skipped>")]
    skipped: BTreeMap<(Why, String), Skipped>,
}

fn values<S: Serializer>(skipped: &BTreeMap<(Why, String), Skipped>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(skipped.values())
}

/// Skipped records of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Skipped {
    /// The name of the record's type, shortened.
    pub what: String,
    /// Why.
    pub why: Why,
    /// Number of records.
    pub count: u64,
    /// Place of the first of them.
    pub first: String,
}

/// Why a record gave no message, or not all that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// The type is unknown.
    Unknown,
    /// The record cannot be read.
    Broken,
    /// A model was shown the record instead of history, as with a summary.
    View,
    /// A note of the program: settings, progress, generated instructions.
    Note,
    /// The record repeats another one.
    Repeated,
    /// The record has no content.
    Empty,
    /// A summary that stands for no run of messages, so that nothing can be replaced by it.
    Unfit,
    /// A message cannot hold this content, such as audio.
    NoPlace,
    /// The record was read in one of several ways that the file allows.
    Guessed,
    /// The record is still being written, and is read once it is complete.
    Unfinished,
    /// The file was not opened: a link, a directory too deep, or no name of a transcript.
    OtherFile,
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
            Self::Unfit => "of no messages in a row",
            Self::NoPlace => "of a kind that messages have no place for",
            Self::Guessed => "a guess, since another order of day and month fits as well",
            Self::Unfinished => "not complete yet",
            Self::OtherFile => "not opened",
        })
    }
}

impl Report {
    /// Skipped records, by reason and name.
    pub fn skipped(&self) -> impl Iterator<Item = &Skipped> {
        self.skipped.values()
    }

    /// Adds the counts of another reader.
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

    /// Counts a file that cannot be read to its end, and of which nothing is used.
    pub fn unreadable(&mut self, error: &crate::TranscriptError) {
        self.skip(Why::Broken, "file that cannot be read", || crate::error::with_cause(error));
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
