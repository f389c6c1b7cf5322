//! Events that coding agents give their hooks.

use std::path::PathBuf;

use memory::text::mend_surrogates;
use serde::Deserialize;

use crate::{Error, TranscriptPart};

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum EventKind {
    /// A session starts or continues.
    SessionStart,
    /// The user said something.
    UserPromptSubmit,
    /// A tool answered.
    PostToolUse,
    /// The agent is about to compact its session.
    PreCompact,
    /// A subagent ended.
    SubagentStop,
    /// The model's answer ended.
    Stop,
    /// The session ended.
    SessionEnd,
    /// Another event, which also makes the transcript be read.
    #[serde(other)]
    Other,
}

/// An event that Claude Code or Codex writes to the standard input of a hook.
///
/// Only the needed members are read; the transcript has the messages that an event repeats.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct AgentEvent {
    /// Kind of the event.
    #[serde(rename = "hook_event_name")]
    pub kind: EventKind,
    transcript_path: Option<PathBuf>,
    /// Transcript of a subagent that ended.
    agent_transcript_path: Option<PathBuf>,
    /// Directory of the session.
    pub cwd: Option<String>,
    /// Start of the session: `startup`, `resume`, `clear` or `compact`.
    pub source: Option<String>,
}

impl AgentEvent {
    /// The event that `json` states. Halves of characters in it become U+FFFD.
    ///
    /// # Errors
    /// [`Error::Event`] if the text is not an event.
    pub fn from_json(mut json: Vec<u8>) -> Result<Self, Error> {
        mend_surrogates(&mut json);
        serde_json::from_slice(&json).map_err(Error::Event)
    }

    /// Transcripts that may have new messages, each with the part to capture; the session's comes first.
    #[must_use]
    pub fn transcripts(&self) -> Vec<(PathBuf, TranscriptPart)> {
        let named = [&self.transcript_path, &self.agent_transcript_path].into_iter().flatten();
        let mut paths: Vec<_> = named.filter(|path| !path.as_os_str().is_empty()).collect();
        paths.dedup();
        let part = |path: &PathBuf| match self.kind {
            EventKind::PreCompact | EventKind::Stop | EventKind::SessionEnd => TranscriptPart::All,
            // The session continues where its subagent ends.
            EventKind::SubagentStop if self.agent_transcript_path.as_ref() == Some(path) => TranscriptPart::All,
            // An answer that may continue is captured once nothing came for a while.
            _ => TranscriptPart::Settled,
        };
        paths.into_iter().map(|path| (path.clone(), part(path))).collect()
    }
}
