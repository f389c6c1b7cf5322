//! A turn on the screen: the answer as it arrives, and calls of tools in a line each.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use memory::port::ChatEvent;
use memory_agent::{AgentEvent, AgentEvents, CallDone, Ended};
use memory_core::text::one_line;

use super::waiting::Waiting;
use crate::{
    markdown::{Streamed, wrap_after},
    output::{self, counted, grouped, shorten},
    terminal::{self, To},
};

/// Mark of the program's own lines, which no text of a model has.
const OURS: char = '▸';
/// Most columns of an answer, since longer lines are hard to read.
const WIDEST: usize = 100;

/// The answer on the screen.
#[derive(Debug)]
pub(crate) struct Live {
    /// True on a terminal, where Markdown is rendered; otherwise the model's text stays as it is.
    is_terminal: bool,
    /// Stream of the program's own lines.
    own: To,
    /// Name of the model.
    model: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    streamed: Streamed,
    /// Line before the first step.
    note: Option<&'static str>,
    /// True if the last line has no end yet.
    is_open: bool,
    /// The line that says what is waited for.
    waiting: Option<Waiting>,
}

/// Columns of a line on the screen, the last of which stays free.
pub(super) fn width() -> usize {
    usize::from(output::width()).saturating_sub(1).min(WIDEST)
}

impl Live {
    pub(super) fn new(model: &str) -> Self {
        Self::begun(model, To::Output, None)
    }

    /// The same, with a line before the first step.
    pub(super) fn after(model: &str, note: &'static str) -> Self {
        Self::begun(model, To::Output, Some(note))
    }

    /// The same, with nothing but the answer on standard output.
    pub(crate) fn bare(model: &str) -> Self {
        Self::begun(model, To::Errors, None)
    }

    fn begun(model: &str, own: To, note: Option<&'static str>) -> Self {
        let state = State { streamed: Streamed::new(width()), note, is_open: false, waiting: None };
        Self { is_terminal: To::Output.is_terminal(), own, model: model.to_owned(), state: Mutex::new(state) }
    }

    fn take(&self, event: AgentEvent<'_>) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = |text: &str| ours_to(self.own, text);
        if let Some(note) = state.note.take() {
            ours(note)?;
        }
        match event {
            AgentEvent::Part(ChatEvent::Text(part)) => {
                let part = theirs(&part);
                let text = if self.is_terminal { state.streamed.push(&part) } else { part };
                if text.is_empty() {
                    return Ok(());
                }
                state.waiting = None;
                state.is_open = true;
                terminal::part(&text)
            }
            AgentEvent::Part(ChatEvent::Retry { after, .. }) => {
                state.waiting.iter().for_each(|waiting| waiting.again_after(after));
                Ok(())
            }
            AgentEvent::Asked(_) => {
                state.wait_for(&self.model, self.is_terminal);
                Ok(())
            }
            AgentEvent::Calling { name, .. } => {
                state.wait_for(name, self.is_terminal);
                Ok(())
            }
            AgentEvent::Appended { message, .. } => {
                state.close(self.is_terminal)?;
                Ended::of(message).and_then(Ended::mark).map_or(Ok(()), ours)
            }
            AgentEvent::Overflow { window, .. } => {
                state.close(self.is_terminal)?;
                let window = grouped(u64::from(window));
                ours(&format!("the prompt did not fit the window of {window} tokens: it is made smaller"))
            }
            AgentEvent::WithoutTools { why } => {
                state.close(self.is_terminal)?;
                ours(&format!("the model takes no tools, and is asked without them, as --no-tools does: {why}"))
            }
            AgentEvent::Called(call) => {
                state.waiting = None;
                ours(&called(call, width()))
            }
            _ => Ok(()),
        }
    }
}

/// Text of a model, which passes for no line of ours.
pub(super) fn theirs(text: &str) -> String {
    text.replace(OURS, ">")
}

impl State {
    /// Says what is waited for, on a terminal.
    fn wait_for(&mut self, name: &str, is_terminal: bool) {
        // The line before must go before the next one is drawn.
        self.waiting = None;
        self.waiting = is_terminal.then(|| Waiting::begin(name));
    }

    /// Ends the answer and its line.
    fn close(&mut self, is_terminal: bool) -> io::Result<()> {
        self.waiting = None;
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
    ours_to(To::Output, text)
}

fn ours_to(to: To, text: &str) -> io::Result<()> {
    let lines = wrap_after(&format!("{OURS} "), "  ", &one_line(text), width());
    lines.iter().try_for_each(|line| to.line(line))
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
