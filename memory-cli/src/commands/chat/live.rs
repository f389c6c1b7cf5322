//! A turn on the screen: the answer as it arrives, calls of tools in a line each, and what it took.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use memory::{
    Level, Prompt,
    ledger::{EntryStatus, LedgerRequest},
    port::ChatEvent,
};
use memory_agent::{AgentEvent, AgentEvents, CallDone, Ended, Turn};
use memory_core::text::one_line;
use memory_hooks::{Conversation, EntryId, LedgerEntry};

use crate::{
    failure,
    markdown::Streamed,
    output::{self, counted, grouped, shorten},
    terminal::{self, To},
};

/// Mark of the program's own lines, which no text of a model has.
const OURS: char = '▸';
/// Most columns of an answer, since longer lines are hard to read.
const WIDEST: usize = 100;
/// Most facts that are named after a turn.
const MOST_FACTS: usize = 3;
/// Most characters of a fact.
const FACT: usize = 100;

/// The answer on the screen.
#[derive(Debug)]
pub(crate) struct Live {
    /// True on a terminal, where Markdown is rendered; otherwise the model's text stays as it is.
    is_terminal: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    streamed: Streamed,
    /// Line before the first step.
    note: Option<&'static str>,
    /// True if the last line has no end yet.
    is_open: bool,
}

/// Columns of a line on the screen, the last of which stays free.
pub(super) fn width() -> usize {
    usize::from(output::width()).saturating_sub(1).min(WIDEST)
}

impl Live {
    pub(crate) fn new() -> Self {
        Self::begun(None)
    }

    /// The same, with a line before the first step.
    pub(super) fn after(note: &'static str) -> Self {
        Self::begun(Some(note))
    }

    fn begun(note: Option<&'static str>) -> Self {
        let state = State { streamed: Streamed::new(width()), note, is_open: false };
        Self { is_terminal: To::Output.is_terminal(), state: Mutex::new(state) }
    }

    fn take(&self, event: AgentEvent<'_>) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(note) = state.note.take() {
            ours(note)?;
        }
        match event {
            AgentEvent::Part(ChatEvent::Text(part)) => {
                let part = part.replace(OURS, ">");
                let text = if self.is_terminal { state.streamed.push(&part) } else { part };
                state.is_open |= !text.is_empty();
                terminal::part(&text)
            }
            AgentEvent::Appended { message, .. } => {
                state.close(self.is_terminal)?;
                let ends = [("interrupted", "[interrupted]"), ("cut", "[cut off]")];
                let mut ends = ends.iter().filter(|(member, _)| message.metadata.contains_key(*member));
                ends.try_for_each(|(_, end)| ours(end))
            }
            AgentEvent::Overflow { window, .. } => {
                state.close(self.is_terminal)?;
                let window = grouped(u64::from(window));
                ours(&format!("the prompt did not fit the window of {window} tokens: it is made smaller"))
            }
            AgentEvent::Called(call) => ours(&called(call, width())),
            _ => Ok(()),
        }
    }
}

impl State {
    /// Ends the answer and its line.
    fn close(&mut self, is_terminal: bool) -> io::Result<()> {
        if is_terminal {
            let rest = self.streamed.finish();
            self.is_open |= !rest.is_empty();
            terminal::part(&rest)?;
        }
        if std::mem::take(&mut self.is_open) { To::Output.line("") } else { Ok(()) }
    }
}

impl AgentEvents for Live {
    fn event(&self, event: AgentEvent<'_>) {
        // The next line of the command itself reports a closed output.
        drop(self.take(event));
    }
}

/// Prints a line of the program in as many lines as it takes.
pub(super) fn ours(text: &str) -> io::Result<()> {
    let begin = format!("{OURS} ");
    let options = textwrap::Options::new(width()).initial_indent(&begin).subsequent_indent("  ");
    textwrap::wrap(&one_line(text), options).iter().try_for_each(|line| To::Output.line(line))
}

/// `search_memory(query: night train): 12 lines, !expand 14`.
fn called(call: &CallDone, width: usize) -> String {
    let input: serde_json::Value = serde_json::from_str(&call.input).unwrap_or_default();
    let value = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let input = input
        .as_object()
        .map(|input| input.iter().map(|(name, of)| format!("{name}: {}", value(of))).collect::<Vec<_>>().join(", "));
    let lines = counted(u64::from(call.lines), "line", "lines");
    let outcome = if call.is_error { "failed".to_owned() } else { lines };
    let end = format!("): {outcome}, !expand {}", call.node);
    let room = width.saturating_sub(call.name.chars().count() + end.chars().count() + 4);
    format!("{}({}{end}", call.name, shorten(&input.unwrap_or_default(), room))
}

/// Prints what a turn took, and what was learned in it.
pub(super) fn after(window: u32, levels: [u64; 4], turn: &Turn, learned: &[LedgerEntry]) -> io::Result<()> {
    if let Some(failure) = &turn.failure {
        let why = failure::line_of(&**failure);
        ours(&format!("the answer broke off, and what came is kept; !again has it go on: {why}"))?;
    }
    if turn.ended == Ended::Requests {
        ours("the turn has its maximum of requests: say how to go on")?;
    }
    if turn.ended == Ended::Length {
        ours("the answer has its maximum of tokens")?;
    }
    if let Some(prompt) = &turn.prompt {
        ours(&status(prompt, window, levels, turn).join(" · "))?;
    }
    for entry in learned.iter().take(MOST_FACTS) {
        ours(&noted(entry))?;
    }
    if learned.len() > MOST_FACTS {
        ours(&format!("and {} more: !facts", learned.len() - MOST_FACTS))?;
    }
    To::Output.line("")
}

/// Parts of the line after a turn: of its last request, as the provider counts, or by the memory's own count after a `≈`.
fn status(prompt: &Prompt, window: u32, levels: [u64; 4], turn: &Turn) -> Vec<String> {
    let Turn { usage, last, is_estimated, .. } = turn;
    let about = if *is_estimated { "≈" } else { "" };
    let mut parts =
        vec![format!("sent {about}{} of {} tokens", grouped(last.prompt_tokens), grouped(u64::from(window)))];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of 100")]
    let percent = |share: f64| (share * 100.0).round() as u32;
    parts.extend(last.cached_share().filter(|share| *share > 0.0).map(|share| format!("{} % cached", percent(share))));
    let names = Level::ALL.iter().map(|level| level.to_string().to_lowercase());
    let levels: Vec<_> = names
        .zip(levels)
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{} {name}", grouped(count)))
        .collect();
    parts.push(levels.join(", "));
    // "Memory used" would be taken for that of the machine.
    parts.extend(prompt.used().sentence().map(|used| used.replacen("memory used", "from memory", 1)));
    parts.extend(last.cost.map(|cost| format!("cost {about}{cost:.4}")));
    if usage.requests > 1 {
        let sum = usage.cost.map(|cost| format!(", cost {cost:.4} in all")).unwrap_or_default();
        parts.push(format!("{} requests{sum}", grouped(usage.requests)));
    }
    parts
}

/// The words of a line of the log, ` WARN memory_agent::agent: the words`.
pub(super) fn warning(line: &str) -> String {
    let line = line.trim_start();
    let words = line.split_once(' ').filter(|(level, _)| ["WARN", "ERROR"].contains(level));
    let words = words.and_then(|(_, rest)| rest.split_once(": ")).filter(|(target, _)| !target.contains(' '));
    words.map_or(line, |(_, words)| words).to_owned()
}

/// `noted preference 5.1: I want window seats. (!forget 5.1, !facts correct 5.1 TEXT)`.
fn noted(entry: &LedgerEntry) -> String {
    let (id, kind, text) = (entry.id, entry.kind.as_str(), shorten(&entry.text, FACT));
    format!("noted {kind} {id}: {text} (!forget {id}, !facts correct {id} TEXT)")
}

/// Entries of the ledger that the messages of a turn have added.
pub(in super::super) async fn learned(conversation: &Conversation, turn: &Turn) -> anyhow::Result<Vec<LedgerEntry>> {
    let Some(nodes) = turn.nodes else { return Ok(Vec::new()) };
    let is_new = |entry: &LedgerEntry| match entry.id {
        EntryId::Said { node, .. } => nodes.contains(node) && entry.status == EntryStatus::Current,
        EntryId::Recorded(_) => false,
    };
    let ledger = conversation.ledger(&LedgerRequest::default()).await?;
    Ok(ledger.entries.into_iter().filter(is_new).collect())
}
