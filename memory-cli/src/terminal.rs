//! The one way to standard output and standard error: all text is made harmless on the way.
//!
//! Other modules of this crate must not print; `clippy.toml` enforces it. The caller states whether a text is a field,
//! which never adds a line, or may have several lines. JSON keeps every string exact by escapes.
#![expect(clippy::disallowed_methods, reason = "the place where what is printed is made harmless")]

mod errors;
mod pager;
#[cfg(feature = "chat")]
mod warning;

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    env,
    io::{self, BufWriter, IsTerminal, Write},
    panic,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use memory_core::text::{lines, one_line, visible_json as harmless_json};
use memory_transcripts::exact;
use serde::Serialize;
use tracing_subscriber::fmt::MakeWriter;

use crate::output::{Output, wrapped};

pub(crate) use errors::flush as flush_errors;
pub(crate) use pager::{begin as begin_paging, end as end_paging};
#[cfg(feature = "chat")]
pub(crate) use warning::take_warnings;

/// The marks before and after a highlighted part of a text. They are hidden characters, so that they are escaped in
/// every text from outside, and have no width, so that a table can be laid out with them.
pub(crate) const HIGHLIGHT: [char; 2] = ['\u{2061}', '\u{2062}'];
/// Sequences that switch a terminal to bold characters and back.
const BOLD: [&str; 2] = ["\u{1b}[1m", "\u{1b}[22m"];

/// Lines for standard error that wait while the terminal is drawn on.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);
/// Most lines that wait.
const MOST_HELD: usize = 1_000;

/// Holds the output of standard error back while the whole terminal is drawn on, or writes it.
#[cfg(feature = "tui")]
pub(crate) fn hold_errors(is_drawn: bool) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if is_drawn {
        held.get_or_insert_default();
        return;
    }
    let texts = held.take().unwrap_or_default();
    drop(held);
    texts.iter().for_each(|text| drop(To::Errors.write(text)));
}

/// Events of the log that wait for the end of an answer.
#[cfg(feature = "chat")]
static EVENTS: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// The log, held back from a person as long as this lives.
#[cfg(feature = "chat")]
#[derive(Debug)]
pub(crate) struct HeldLog(());

#[cfg(feature = "chat")]
impl HeldLog {
    /// `None` where standard error is not the terminal of the answer.
    pub(crate) fn begin() -> Option<Self> {
        let is_here = To::Errors.is_terminal() && To::Output.is_terminal();
        is_here.then(Self::held)
    }

    /// `None` where standard error is for programs, or its reader has chosen what is logged.
    pub(crate) fn of_command(output: Output) -> Option<Self> {
        (!output.json && env::var_os("MEMORY_LOG").is_none()).then(Self::held)
    }

    fn held() -> Self {
        events().get_or_insert_default();
        Self(())
    }
}

#[cfg(feature = "chat")]
impl Drop for HeldLog {
    fn drop(&mut self) {
        let left = events().take().unwrap_or_default();
        for sentence in warning::sentences(&left, |_| false) {
            drop(To::Errors.line(&format!("warning: {sentence}")));
        }
    }
}

/// Takes the events of the log that wait.
#[cfg(feature = "chat")]
fn take_held_events() -> Vec<String> {
    events().as_mut().map(std::mem::take).unwrap_or_default()
}

#[cfg(feature = "chat")]
fn events() -> std::sync::MutexGuard<'static, Option<Vec<String>>> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if standard output and standard input are a terminal whose screen can be drawn on.
pub(crate) fn can_be_drawn_on() -> bool {
    let can_move = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    io::stdin().is_terminal() && To::Output.is_terminal() && (can_move || cfg!(windows))
}

/// True once the reader of standard output has closed it, as `head` does.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// True if the reader of standard output has closed it.
pub(crate) fn output_is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Notes a closed standard output in the result of a write.
fn noted<T>(written: io::Result<T>) -> io::Result<T> {
    if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        CLOSED.store(true, Ordering::Relaxed);
    }
    written
}

/// A standard stream. Writing to standard error never waits and never fails.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    Output,
    Errors,
}

impl To {
    fn write(self, text: &str) -> io::Result<()> {
        match self {
            Self::Output => {
                // Both streams may be one terminal, so earlier errors must come first.
                flush_errors();
                noted(pager::write(text))
            }
            Self::Errors => {
                let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
                match held.as_mut() {
                    None => errors::say(format!("{text}\n")),
                    Some(held) if held.len() < MOST_HELD => held.push(text.to_owned()),
                    Some(_) => {}
                }
                Ok(())
            }
        }
    }

    /// Writes one line, whatever the text contains; a terminal has it wrapped between words.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        self.write(&wrapped(&one_line(text), self.is_terminal()))
    }

    /// Writes a text that may have several lines. The caller removes line ends from parts that must be one line.
    pub(crate) fn lines(self, text: &str) -> io::Result<()> {
        self.write(&lines(text))
    }

    /// Writes a text that may have several lines and parts between the marks of [`HIGHLIGHT`]. They are bold on a
    /// terminal, unless the user wants no highlights.
    pub(crate) fn marked(self, text: &str) -> io::Result<()> {
        self.write(&marked(text, self.is_terminal() && wants_highlights()))
    }

    /// Writes a JSON value over several lines.
    pub(crate) fn json(self, value: &impl Serialize) -> io::Result<()> {
        self.write(&harmless_json(&exact::pretty(value)?))
    }

    /// Writes a JSON value on one line.
    pub(crate) fn json_line(self, value: &impl Serialize) -> io::Result<()> {
        self.write(&harmless_json(&exact::line(value)?))
    }

    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Errors => io::stderr().is_terminal(),
        }
    }
}

/// True if neither `NO_COLOR` (<https://no-color.org>) nor `TERM=dumb` is set.
pub(crate) fn wants_highlights() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The harmless text, with its marked parts in bold or without the marks. A highlight ends with its line at the latest:
/// if a table wraps a word, the next line begins with other fields.
fn marked(text: &str, is_bold: bool) -> String {
    let [begin, end] = HIGHLIGHT;
    let [on, off] = if is_bold { BOLD } else { [""; 2] };
    let mut out = String::with_capacity(text.len());
    let mut is_open = false;
    for piece in text.split_inclusive([begin, end, '\n']) {
        let body = piece.trim_end_matches([begin, end, '\n']);
        out.push_str(&lines(body));
        if std::mem::take(&mut is_open) {
            out.push_str(off);
        }
        if piece.ends_with('\n') {
            out.push('\n');
        } else if piece.ends_with(begin) {
            out.push_str(on);
            is_open = true;
        }
    }
    if is_open {
        out.push_str(off);
    }
    out
}

/// Writes a part of a text to standard output at once, with highlights between the marks of [`HIGHLIGHT`] and without a
/// line end.
#[cfg(feature = "chat")]
pub(crate) fn part(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    flush_errors();
    let text = marked(text, To::Output.is_terminal() && wants_highlights());
    let mut out = io::stdout().lock();
    noted(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Has a terminal mark the begin and the end of pasted text, or no more.
#[cfg(all(feature = "chat", unix))]
pub(crate) fn mark_pastes(is_on: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(if is_on { b"\x1b[?2004h" } else { b"\x1b[?2004l" })?;
    out.flush()
}

/// Writes exactly these bytes to standard output, which must not be a terminal.
pub(crate) fn exactly(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        return Err(io::Error::other("a terminal is given nothing that could steer it"));
    }
    noted(out.write_all(bytes).and_then(|()| out.flush()))
}

/// A writer of JSON lines to standard output: unchanged, or on a terminal with escapes that parse to the same values.
pub(crate) fn json_lines() -> Box<dyn Write> {
    let out = io::stdout();
    if out.is_terminal() { Box::new(Shown(Vec::new())) } else { Box::new(BufWriter::new(Piped(out))) }
}

/// Standard output that is not a terminal.
struct Piped(io::Stdout);

impl Write for Piped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        noted(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        noted(self.0.flush())
    }
}

struct Shown(Vec<u8>);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (line, rest) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => bytes.split_at(end + 1),
            None => (bytes, [].as_slice()),
        };
        self.0.extend_from_slice(line);
        if let Some(line) = self.0.strip_suffix(b"\n") {
            To::Output.write(&harmless_json(&String::from_utf8_lossy(line)))?;
            self.0.clear();
        }
        Ok(bytes.len() - rest.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// The log's writer: one event a line on standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    pub(crate) json: bool,
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for Log {
    /// The subscriber writes each event by one call.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let text = memory_embed::redacted(text.strip_suffix('\n').unwrap_or(&text));
        let text = text.as_ref();
        #[cfg(feature = "chat")]
        if let Some(held) = events().as_mut() {
            if held.len() < MOST_HELD {
                held.push(one_line(text).into_owned());
            }
            return Ok(event.len());
        }
        To::Errors.write(&if self.json { harmless_json(text) } else { one_line(text) })?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints panics of this program through this module.
pub(crate) fn catch_panics() {
    panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let said = panic.payload_as_str().unwrap_or("no words");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let name = thread.name().unwrap_or("<unnamed>");
        drop(To::Errors.line(&format!("thread '{name}' panicked at {place}: {said}")));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            drop(To::Errors.lines(&trace.to_string()));
        }
        // The process may end with the panic.
        flush_errors();
    }));
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use memory_core::text::is_hidden;

    use super::*;

    #[test]
    fn what_is_marked_is_bold_up_to_the_end_of_its_line() {
        let [begin, end] = HIGHLIGHT;
        let text = format!("a {begin}b{end} c\u{1b}[2J{begin}d\n│ e{end}f {begin}{end}{begin}g");
        assert_eq!(
            marked(&text, true),
            "a \u{1b}[1mb\u{1b}[22m c\\u{1b}[2J\u{1b}[1md\u{1b}[22m\n│ ef \u{1b}[1m\u{1b}[22m\u{1b}[1mg\u{1b}[22m"
        );
        assert_eq!(marked(&text, false), "a b c\\u{1b}[2Jd\n│ ef g");
        assert_eq!(one_line(&format!("{begin}x{end}")), r"\u{2061}x\u{2062}", "nobody else can set a mark");
    }

    #[test]
    fn json_reads_back_as_it_was_and_holds_nothing_hidden() {
        let every: String =
            ('\0'..=char::MAX).filter(|c| is_hidden(*c)).chain("\"\\é日🏔👩\u{200d}👧".chars()).collect();
        let value = serde_json::json!({every.as_str(): [every.as_str(), 1.5, null], "plain": "text"});
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = harmless_json(&text);
            assert!(!shown.chars().any(|c| c != '\n' && is_hidden(c)));
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
        assert_eq!(harmless_json("{\"a\": \"\u{202e}\u{e0041}\u{9b}\"}"), r#"{"a": "\u202e\udb40\udc41\u009b"}"#);
        assert!(matches!(harmless_json("{\n \"a\": 1}"), Cow::Borrowed(_)));
    }
}
