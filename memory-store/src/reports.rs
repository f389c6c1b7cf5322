//! The wire form of reports.

use std::{
    fmt::Display,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use memory_core::NodeRange;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::ConversationLabel;

/// A file with what is wrong with it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Fault {
    /// The file.
    path: String,
    /// The fault.
    why: String,
}

/// Lost messages of a conversation.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Loss {
    /// Its name, or its number where the name is lost.
    conversation: ConversationLabel,
    /// The messages.
    nodes: NodeRange,
}

/// A path as text. What is not UTF-8 in it is replaced: a report is for reading.
pub(crate) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

pub(crate) fn paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.display().to_string()))
}

pub(crate) fn in_words<S: Serializer, T: Display>(all: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(ToString::to_string))
}

pub(crate) fn faults<S: Serializer>(faults: &[(PathBuf, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let fault = |(path, why): &(PathBuf, String)| Fault { path: path.display().to_string(), why: why.clone() };
    serializer.collect_seq(faults.iter().map(fault))
}

pub(crate) fn losses<S: Serializer>(
    losses: &[(ConversationLabel, NodeRange)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let loss = |(label, nodes): &(ConversationLabel, NodeRange)| Loss { conversation: label.clone(), nodes: *nodes };
    serializer.collect_seq(losses.iter().map(loss))
}

pub(crate) fn runs<S: Serializer>(runs: &[RangeInclusive<u64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(runs.iter().map(|run| [run.start(), run.end()]))
}
