//! Errors for the shell: a line that states what to do, and an exit code that scripts can rely on.

use std::{error::Error, io::ErrorKind};

use memory::{OpenError, erasing::EraseError};
use memory_capture::Error as CaptureError;
use memory_core::{
    port::{EmbedError, RetrieveError, StoreError},
    text::one_line,
};
use memory_hooks::MemoryError;
use memory_search::FindError;
use memory_store::{ExchangeError, RescueError};
use memory_transcripts::TranscriptError;

use crate::import::ImportError;

/// A usage error of a command.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// A usage error that is shown over several lines, with a mark below it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Picture(pub(crate) String);

/// An error of several harmless lines, with which no usage is shown.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Listed {
    pub(crate) text: String,
    /// True if every listed error is "not found".
    pub(crate) is_missing: bool,
}

/// A requested item does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);

/// Data on disk differs from what was written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(pub(crate) String);

/// True if the error is of one transcript, which others need not have.
pub(crate) fn is_of_transcript(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| original(cause).is::<TranscriptError>())
}

/// Exit codes; clap exits with 2 by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Other = 1,
    Usage = 2,
    NotFound = 3,
    Damaged = 4,
    InUse = 5,
}

/// The exit code of an error: that of the first cause with a code.
pub(crate) fn code(error: &anyhow::Error) -> Code {
    error.chain().map(original).find_map(code_of).unwrap_or(Code::Other)
}

/// True if a store was encrypted or decrypted since it was opened, and what failed may be tried again.
pub(crate) fn must_open_again(error: &anyhow::Error) -> bool {
    error.chain().map(original).filter_map(store_error).any(memory_store::must_open_again)
}

/// The error inside a transparent error, which is not in the chain.
fn original<'a>(cause: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    if let Some(EraseError::Memory(error)) = cause.downcast_ref() {
        return error;
    }
    let boxed = || cause.downcast_ref::<Box<CaptureError>>().map(|error| &**error);
    match cause.downcast_ref().or_else(boxed) {
        Some(CaptureError::Store(error)) => error,
        Some(CaptureError::Memory(error)) => error,
        Some(CaptureError::Transcript(error)) => error,
        _ => cause,
    }
}

fn code_of(cause: &(dyn Error + 'static)) -> Option<Code> {
    if let Some(listed) = cause.downcast_ref::<Listed>() {
        return Some(if listed.is_missing { Code::NotFound } else { Code::Usage });
    }
    let open = cause.downcast_ref::<OpenError>();
    if cause.is::<Usage>()
        || cause.is::<Picture>()
        || matches!(cause.downcast_ref(), Some(EraseError::Pattern { .. }))
        || matches!(
            open,
            Some(
                OpenError::Strategy(_)
                    | OpenError::RemoteModel(_)
                    | OpenError::ChatModel(_)
                    | OpenError::Manager(_)
                    | OpenError::Zone(_)
            )
        )
    {
        return Some(Code::Usage);
    }
    match cause.downcast_ref() {
        Some(
            TranscriptError::UnknownFormat { .. }
            | TranscriptError::UnknownDatabase { .. }
            | TranscriptError::NoSqlite { .. }
            | TranscriptError::Unfit { .. }
            | TranscriptError::Speaker { .. },
        ) => return Some(Code::Usage),
        Some(TranscriptError::Locked { .. }) => return Some(Code::InUse),
        Some(TranscriptError::Damaged { .. }) => return Some(Code::Damaged),
        Some(TranscriptError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Some(Code::NotFound);
        }
        _ => {}
    }
    let is_missing =
        matches!(cause.downcast_ref(), Some(ImportError::Io { source, .. }) if source.kind() == ErrorKind::NotFound);
    if cause.is::<NotFound>() || is_missing {
        return Some(Code::NotFound);
    }
    if cause.is::<Damage>() {
        return Some(Code::Damaged);
    }
    let store = store_error(cause);
    if store.is_some_and(StoreError::is_not_found) {
        return Some(Code::NotFound);
    }
    if matches!(store, Some(StoreError::NameTaken { .. } | StoreError::UnfitName(_) | StoreError::Reserved { .. })) {
        return Some(Code::Usage);
    }
    let memory = cause.downcast_ref::<MemoryError>();
    if memory.is_some_and(|error| error.is_not_found() || matches!(error, MemoryError::Ambiguous { .. })) {
        return Some(Code::NotFound);
    }
    let is_damage = store.is_some_and(StoreError::is_damage)
        || memory.is_some_and(MemoryError::is_damage)
        || cause.downcast_ref::<RescueError>().is_some_and(RescueError::is_damage)
        || cause.downcast_ref::<ExchangeError>().is_some_and(ExchangeError::is_damage);
    if is_damage {
        return Some(Code::Damaged);
    }
    #[cfg(feature = "chat")]
    if matches!(cause.downcast_ref(), Some(memory_agent::AgentError::Answering { .. })) {
        return Some(Code::InUse);
    }
    matches!(store, Some(StoreError::Locked { .. })).then_some(Code::InUse)
}

/// The store's error, also inside errors that wrap it.
fn store_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a StoreError> {
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return Some(error);
    }
    if let Some(OpenError::Store(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(MemoryError::Store(error) | MemoryError::Retrieve(RetrieveError::Store(error))) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(RetrieveError::Store(error)) = cause.downcast_ref() {
        return Some(error);
    }
    if let Some(FindError::Store(error)) = cause.downcast_ref() {
        return Some(error);
    }
    match cause.downcast_ref() {
        Some(ExchangeError::Store(error)) => Some(error),
        _ => None,
    }
}

/// A hint after a model's failure, for commands that can do without a model.
pub(crate) fn way_round(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().any(|cause| cause.is::<EmbedError>()).then_some("search by words needs no model: add --words-only")
}

/// The messages of the error and its causes, unchanged.
pub(crate) fn exactly(error: &anyhow::Error) -> String {
    causes(error.as_ref()).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(BETWEEN_CAUSES)
}

/// The messages of the error and its causes on one line each, with text from outside escaped.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let line = |(cause, text): (&(dyn Error + 'static), String)| {
        if cause.is::<Picture>() || cause.is::<Listed>() { text } else { one_line(&text).into_owned() }
    };
    causes(error.as_ref()).into_iter().map(line).collect::<Vec<_>>().join(BETWEEN_CAUSES)
}

/// The messages of the error and its causes as one line, for a notice.
pub(crate) fn in_a_line(error: &anyhow::Error) -> String {
    line_of(error.as_ref())
}

/// The same of an error of a library.
pub(crate) fn line_of(error: &(dyn Error + 'static)) -> String {
    let texts: Vec<_> = causes(error).into_iter().map(|(_, text)| one_line(&text).into_owned()).collect();
    texts.join(": ")
}

const BETWEEN_CAUSES: &str = "\n  caused by: ";

/// The error and its causes, each with its message.
pub(crate) fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<(&'a (dyn Error + 'static), String)> {
    let mut causes = Vec::new();
    for cause in anyhow::Chain::new(error) {
        // An error may quote a key from an address or an answer.
        let text = memory_embed::redacted(&cause.to_string()).into_owned();
        // A transparent error repeats its source.
        if causes.last().is_none_or(|(_, last)| *last != text) {
            causes.push((cause, text));
        }
    }
    causes
}
