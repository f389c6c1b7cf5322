//! `memory hook`: captures sessions of coding agents as they go, and reminds them of the state of earlier ones.

mod diff;
pub(crate) mod install;
mod program;
mod replace;
pub(super) mod settings;

use std::{
    io::{self, IsTerminal as _, Read as _},
    path::Path,
};

use anyhow::Context as _;
use clap::{Args as ClapArgs, Subcommand};
use memory_capture::{
    AgentEvent, Capture, Captured, Error as CaptureError, EventKind, Format, LookUp, TranscriptPart, expanded,
    is_named_as_transcript,
};
use memory_core::ConversationId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Access,
    failure::{self, Usage},
    globals::{Globals, quoted},
    terminal::To,
};

pub(super) use install::{settings_file, text_of};
pub(super) use program::{is_call, own_path, words};

/// Most bytes of an event; that of a tool's use repeats the tool's result.
const LARGEST_EVENT: u64 = 64 << 20;

/// Takes sessions of coding agents into the store as they go, without code and without a daemon.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer a hook of Claude Code, whose event comes on standard input
    ClaudeCode(Call),
    /// Answer a hook of Codex, whose event comes on standard input
    Codex(Call),
    /// Have an agent call this program: shows what changes in its settings, and asks
    Install(install::Args),
    /// Take that back; hooks of others and all other settings stay as they are
    Uninstall(install::Args),
}

impl Args {
    /// True without a command, for which help is printed.
    pub(crate) fn is_empty(&self) -> bool {
        self.command.is_none()
    }
}

/// Takes what is new in the transcript that an event names. It embeds and summarizes nothing: `memory index` embeds
/// later, and the next `memory context` writes summaries. At the start of a session it prints a reminder of where
/// things stood in the same directory.
#[derive(Debug, ClapArgs)]
struct Call {
    /// Fail where something goes wrong. Without this flag a failure is one line on standard error, and the agent goes
    /// on
    #[arg(long)]
    strict: bool,
    /// The most tokens of the reminder; 0 for none
    #[arg(long, value_name = "TOKENS", default_value_t = 400)]
    budget: u32,
}

/// An agent with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Agent {
    ClaudeCode,
    Codex,
}

impl Agent {
    pub(super) const fn as_str(self) -> &'static str {
        self.format().as_str()
    }

    const fn format(self) -> Format {
        match self {
            Self::ClaudeCode => Format::ClaudeCode,
            Self::Codex => Format::Codex,
        }
    }
}

/// True if a command line is a call by an agent, which no failure may stop: agents take some exit codes for a veto.
pub(crate) fn never_fails(args: &[std::ffi::OsString]) -> bool {
    let is_call = |pair: &[std::ffi::OsString]| matches!(pair, [hook, agent] if hook == "hook" && (agent == "claude-code" || agent == "codex"));
    args.windows(2).any(is_call) && !args.iter().any(|arg| arg == "--strict")
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    let (agent, call) = match &args.command {
        None => return Ok(()),
        Some(Command::Install(args)) => return install::install(args, globals),
        Some(Command::Uninstall(args)) => return install::uninstall(args, globals),
        Some(Command::ClaudeCode(call)) => (Agent::ClaudeCode, call),
        Some(Command::Codex(call)) => (Agent::Codex, call),
    };
    match answer(agent, call, globals).await {
        Err(error) if !call.strict => {
            // A closed standard error is not a failure either.
            drop(To::Errors.line(&format!("memory hook: {}", failure::in_a_line(&error))));
            Ok(())
        }
        answered => answered,
    }
}

/// Captures new messages, and reminds. The first failure is returned at the end, and stops nothing else.
async fn answer(agent: Agent, call: &Call, globals: &Globals) -> anyhow::Result<()> {
    let event = read_event()?;
    let is_start = event.kind == EventKind::SessionStart;
    let reminds = is_start && call.budget > 0;
    let mut failed = Vec::new();
    let open = |access| anyhow::Ok(Capture::open(globals.config(access)?)?);
    let capture = match open(Access::Write) {
        Ok(capture) => capture,
        Err(error) if reminds => {
            // A store that takes no writes may still be read.
            let Ok(capture) = open(Access::Read) else { return Err(error) };
            return remind(&capture, &event, None, call.budget, globals).await.and(Err(error));
        }
        Err(error) => return Err(error),
    };
    let mut session = None;
    for (number, (path, part)) in event.transcripts().into_iter().enumerate() {
        match take(&capture, agent, &path, part).await {
            Ok(captured) if number == 0 => session = captured.last,
            Ok(_) => {}
            Err(error) => failed.push(error),
        }
        if is_start {
            let left = capture.catch_up(&expanded(&path), agent.format()).await;
            failed.extend(left.into_iter().map(anyhow::Error::new));
        }
    }
    if reminds {
        failed.extend(remind(&capture, &event, session, call.budget, globals).await.err());
    }
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Reads the event from standard input.
fn read_event() -> anyhow::Result<AgentEvent> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        let why = "an agent calls this with an event on standard input: `memory hook install` has it do so";
        return Err(Usage(why.to_owned()).into());
    }
    let mut bytes = Vec::new();
    input.by_ref().take(LARGEST_EVENT + 1).read_to_end(&mut bytes).context("cannot read the event")?;
    if bytes.len() as u64 > LARGEST_EVENT {
        return Err(Usage(format!("the event is larger than {} MiB", LARGEST_EVENT >> 20)).into());
    }
    AgentEvent::from_json(bytes).map_err(|error| match error {
        CaptureError::Event(error) => Usage(format!("standard input is not an event of a hook: {error}")).into(),
        error => error.into(),
    })
}

/// Message to an agent at the start of a session, in the form of its hooks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReminderAnswer {
    hook_specific_output: HookOutput,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HookOutput {
    /// Name of the event: `SessionStart`.
    hook_event_name: &'static str,
    /// Text of the reminder.
    additional_context: String,
}

async fn remind(
    capture: &Capture,
    event: &AgentEvent,
    session: Option<ConversationId>,
    budget: u32,
    globals: &Globals,
) -> anyhow::Result<()> {
    let look_up = |id: &ConversationId| {
        let search = format!("`{} search -c {} \"QUESTION\"`", globals.command_line("memory"), quoted(id.as_str()));
        let at_length = format!(
            "To look up more of it: {search}. With `expand` in place of `search`, and a number in place of the question, \
             it prints that message word for word."
        );
        LookUp::new(at_length, search)
    };
    if let Some(text) = capture.reminder(event, session, budget, &look_up).await? {
        let output = HookOutput { hook_event_name: "SessionStart", additional_context: text };
        To::Output.json_line(&ReminderAnswer { hook_specific_output: output })?;
    }
    Ok(())
}

async fn take(capture: &Capture, agent: Agent, path: &Path, part: TranscriptPart) -> anyhow::Result<Captured> {
    let path = expanded(path);
    if !path.is_absolute() || !is_named_as_transcript(&path) {
        let why = "a transcript is an absolute path that ends in .jsonl";
        return Err(Usage(format!("{}: {why}", path.display())).into());
    }
    Ok(capture.take(&path, agent.format(), part).await?)
}
