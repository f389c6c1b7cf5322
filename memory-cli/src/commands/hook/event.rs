//! The event of a hook, as an agent writes it to standard input.

use std::{
    io::{self, IsTerminal, Read},
    path::PathBuf,
};

use anyhow::Context as _;
use memory_core::mend_surrogates;
use serde::Deserialize;

use super::super::capture::Part;
use crate::failure::Usage;

/// Bytes of an event; that of a tool's use repeats what the tool gave.
const LARGEST: u64 = 64 << 20;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Kind {
    SessionStart,
    UserPromptSubmit,
    PostToolUse,
    PreCompact,
    SubagentStop,
    Stop,
    SessionEnd,
    /// Another event, at which the transcript is read as well.
    #[serde(other)]
    Other,
}

/// The members that are used; what an event repeats of the transcript is not.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "hook_event_name")]
    pub(super) kind: Kind,
    transcript_path: Option<PathBuf>,
    /// Of a subagent that ended.
    agent_transcript_path: Option<PathBuf>,
    /// The directory in which the session is.
    pub(super) cwd: Option<String>,
    /// How a session started: `startup`, `resume`, `clear` or `compact`.
    pub(super) source: Option<String>,
}

impl Event {
    /// Reads it from standard input.
    pub(super) fn read() -> anyhow::Result<Self> {
        let mut input = io::stdin().lock();
        if input.is_terminal() {
            let why = "an agent calls this with an event on standard input: `memory hook install` has it do so";
            return Err(Usage(why.to_owned()).into());
        }
        let mut bytes = Vec::new();
        input.by_ref().take(LARGEST + 1).read_to_end(&mut bytes).context("cannot read the event")?;
        if bytes.len() as u64 > LARGEST {
            return Err(Usage(format!("the event is larger than {} MiB", LARGEST >> 20)).into());
        }
        mend_surrogates(&mut bytes);
        let parsed = serde_json::from_slice(&bytes);
        parsed.map_err(|error| Usage(format!("standard input is not an event of a hook: {error}")).into())
    }

    /// The transcripts that may have something new, and how much of each is taken; that of the session is the first.
    pub(super) fn transcripts(&self) -> Vec<(PathBuf, Part)> {
        let named = [&self.transcript_path, &self.agent_transcript_path].into_iter().flatten();
        let mut paths: Vec<_> = named.filter(|path| !path.as_os_str().is_empty()).collect();
        paths.dedup();
        let part = |path: &PathBuf| match self.kind {
            Kind::PreCompact | Kind::Stop | Kind::SessionEnd => Part::All,
            // The session goes on where its subagent ends.
            Kind::SubagentStop if self.agent_transcript_path.as_ref() == Some(path) => Part::All,
            // What may go on is taken where nothing comes for a while.
            _ => Part::Settled,
        };
        paths.into_iter().map(|path| (path.clone(), part(path))).collect()
    }
}
