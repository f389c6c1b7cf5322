//! Output of commands: tables for people, JSON for programs, progress bars for long work.

mod table;

use std::{
    env, fmt, io,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
pub(crate) use memory_core::text::grouped;
use memory_core::{ConversationId, Timestamp, port::Progress, text::one_line};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    failure::Usage,
    news::News,
    terminal::{self, HIGHLIGHT, To},
};

/// Width of what goes to no terminal.
const WIDTH: u16 = 140;

/// Columns of the terminal of this process, or of what goes to none.
pub(crate) fn width() -> u16 {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| width.0);
    said.or_else(terminal).filter(|width| *width > 0).unwrap_or(WIDTH)
}

/// True if a person reads the output on a terminal.
pub(crate) fn is_screen() -> bool {
    To::Output.is_terminal()
}

/// Wraps a line for a screen between words; the further lines are indented as the text of the first.
pub(crate) fn wrapped(line: &str, is_screen: bool) -> String {
    if !is_screen {
        return line.to_owned();
    }
    let most = usize::from(width());
    if textwrap::core::display_width(line) < most {
        return line.to_owned();
    }
    let indent = " ".repeat(line.chars().take_while(|c| *c == ' ').count());
    let text = line.trim_start_matches(' ');
    let further = format!("{indent}{}", if text.starts_with("- ") { "  " } else { "" });
    let lines = table::whole_words(text, most.saturating_sub(further.len() + 1));
    let lines =
        lines.iter().enumerate().map(|(at, line)| format!("{}{line}", if at == 0 { &indent } else { &further }));
    lines.collect::<Vec<_>>().join("\n")
}

/// A count with its noun.
pub(crate) fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { several })
}

/// An answer about one conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Of<'a, T> {
    /// Name of the conversation.
    pub(crate) conversation: &'a ConversationId,
    #[serde(flatten)]
    pub(crate) answer: T,
}

/// An answer with notices.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Noted<'a, T> {
    #[serde(flatten)]
    pub(crate) answer: T,
    /// Notices about the answer.
    pub(crate) notices: &'a [News],
}

/// Form of a command's output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// True for one JSON value on standard output instead of tables and text.
    pub(crate) json: bool,
}

impl Output {
    /// Prints one line on standard output, whatever the text contains.
    ///
    /// # Errors
    /// If standard output is closed or full.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        To::Output.line(text)
    }

    /// Prints one line with highlights.
    pub(crate) fn marked(self, line: &Line) -> io::Result<()> {
        To::Output.marked(&wrapped(&line.0, is_screen()))
    }

    /// Prints a text that may have several lines, such as a message.
    pub(crate) fn text(self, text: &str) -> io::Result<()> {
        To::Output.lines(text)
    }

    /// Prints a table. No field adds a row.
    pub(crate) fn table<const N: usize, F: Into<Field>>(
        self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [F; N]>,
    ) -> io::Result<()> {
        self.table_without(header, rows, &[])
    }

    /// Prints a table, on a narrow screen without those of the `least` columns that do not fit; the first goes first.
    pub(crate) fn table_without<const N: usize, F: Into<Field>>(
        self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [F; N]>,
        least: &[&str],
    ) -> io::Result<()> {
        let rows = rows.into_iter().map(|row| row.map(|field| field.into().0).into()).collect();
        let rows = table::Rows { header: &header, rows, least };
        let (is_screen, width) = (is_screen(), width());
        // A pipe has the same table whatever the terminal of the process is.
        let width = if is_screen { width } else { width.max(WIDTH) };
        To::Output.marked(&rows.lay_out(usize::from(width), is_screen))
    }

    /// Prints exactly the text and nothing after it, for programs.
    pub(crate) fn exactly(self, text: &str) -> anyhow::Result<()> {
        if self.json {
            return Err(Usage("--json gives the exact text already: leave --raw out".to_owned()).into());
        }
        if To::Output.is_terminal() {
            let why = "--raw is for pipes and files: a terminal would obey what is in the text, so leave --raw out";
            return Err(Usage(why.to_owned()).into());
        }
        Ok(terminal::exactly(text.as_bytes())?)
    }

    /// Prints a JSON value on standard output; escapes keep its strings exact.
    pub(crate) fn value(self, value: &impl Serialize) -> io::Result<()> {
        To::Output.json(value)
    }

    /// Prints a note on a line of standard error.
    pub(crate) fn note(self, text: &str) {
        if !self.json {
            // A closed standard error is not a failure.
            drop(To::Errors.line(text));
        }
    }

    /// Progress of long work on standard error: a bar on a terminal, occasional lines elsewhere, nothing for JSON.
    pub(crate) fn bar(self, what: &'static str) -> Bar {
        if self.json {
            return Bar::Silent;
        }
        if !To::Errors.is_terminal() {
            return Bar::Lines { what, last: Mutex::new(Instant::now()) };
        }
        let bar = ProgressBar::hidden();
        let style = ProgressStyle::with_template("{msg:12} {bar:32} {pos}/{len} {rate} {eta}");
        if let Ok(style) = style {
            bar.set_style(style.with_key("rate", rate));
        }
        bar.set_message(what);
        Bar::Drawn { bar, since: Instant::now() }
    }
}

/// Time before a bar is drawn: short work and faults at its start show none.
const BEFORE_A_BAR: Duration = Duration::from_millis(300);
/// Time between two lines of progress, and before the first: short work shows none.
const BETWEEN_LINES: Duration = Duration::from_secs(3);

/// Progress of long work.
pub(crate) enum Bar {
    Drawn { bar: ProgressBar, since: Instant },
    Lines { what: &'static str, last: Mutex<Instant> },
    Silent,
}

impl Bar {
    pub(crate) fn finish(&self) {
        if let Self::Drawn { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

/// A failure leaves no bar on the screen.
impl Drop for Bar {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Steps a second, as in `1,138/s`.
fn rate(state: &ProgressState, to: &mut dyn fmt::Write) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    let rate = state.per_sec() as u64;
    // Writing to a string cannot fail.
    let _ = write!(to, "{}/s", grouped(rate));
}

impl Progress for Bar {
    fn report(&self, done: u64, total: u64) {
        match self {
            Self::Drawn { bar, since } => {
                if bar.is_hidden() && since.elapsed() >= BEFORE_A_BAR {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                // The total is unknown while the input is still being read.
                if total > 0 {
                    bar.set_length(total);
                }
                bar.set_position(done);
            }
            Self::Lines { what, last } => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() < BETWEEN_LINES {
                    return;
                }
                *last = Instant::now();
                let of = if total > 0 { format!(" of {}", grouped(total)) } else { String::new() };
                // A closed standard error is not a failure.
                drop(To::Errors.line(&format!("{what}: {}{of}", grouped(done))));
            }
            Self::Silent => {}
        }
    }
}

/// One line, parts of which are highlighted on a terminal. The line stays one line, whatever its texts contain.
#[derive(Debug, Default)]
pub(crate) struct Line(String);

impl Line {
    /// Adds a text.
    pub(crate) fn plain(mut self, text: &str) -> Self {
        self.0.push_str(&one_line(text));
        self
    }

    /// Adds a text that is highlighted.
    pub(crate) fn highlighted(mut self, text: &str) -> Self {
        let [begin, end] = HIGHLIGHT;
        self.0.push(begin);
        self.0.push_str(&one_line(text));
        self.0.push(end);
        self
    }
}

/// A field of a table.
#[derive(Debug)]
pub(crate) struct Field(String);

impl Field {
    /// A field of several lines.
    pub(crate) fn high(lines: impl IntoIterator<Item = Line>) -> Self {
        Self(lines.into_iter().map(|line| line.0).collect::<Vec<_>>().join("\n"))
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self(one_line(&text).into_owned())
    }
}

/// A text with one space for each run of white space.
pub(crate) fn single_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

/// The first `most` characters of a text on one line.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let line = single_spaced(text.trim());
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Bytes as megabytes, as in `83.5 MB`.
pub(crate) fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let megabytes = bytes as f64 / 1e6;
    format!("{megabytes:.1} MB")
}

/// A time, if it is known.
pub(crate) fn known(at: Timestamp) -> Option<String> {
    at.is_known().then(|| moment(at))
}

/// A time: to the minute of UTC on a screen, as in `2026-03-02 09:20`, and exactly elsewhere.
pub(crate) fn moment(at: Timestamp) -> String {
    if is_screen() { to_the_minute(at) } else { at.to_string() }
}

fn to_the_minute(at: Timestamp) -> String {
    let exact = at.to_string();
    // A time known only by its day is midnight.
    let digits = if at.as_millis() % 86_400_000 == 0 { "2026-03-02".len() } else { "2026-03-02T09:20".len() };
    let is_date = exact.as_bytes().get(10) == Some(&b'T');
    exact.get(..digits).filter(|_| is_date).map_or_else(|| exact.clone(), |minute| minute.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_is_one_line() {
        assert_eq!(shorten("a\n b  c", 10), "a b c");
        assert_eq!(shorten("日本語です", 2), "日本…");
        assert_eq!(shorten("a\u{2028}\u{85}b\u{b}c", 20), "a b c");
    }

    #[test]
    fn a_screen_shows_a_time_to_the_minute() {
        let shown = |text: &str| to_the_minute(text.parse().unwrap());
        assert_eq!(shown("2026-03-02T09:20:07.123Z"), "2026-03-02 09:20");
        assert_eq!(shown("2026-03-02"), "2026-03-02");
        assert_eq!(to_the_minute(Timestamp::from_millis(i64::MAX)), format!("{} ms", i64::MAX));
    }

    #[test]
    fn a_long_line_of_a_screen_is_wrapped_between_words() {
        let line = format!("  {}", "a-word ".repeat(60));
        let shown = wrapped(&line, true);
        assert!(
            shown.lines().count() > 1
                && shown.lines().all(|line| line.starts_with("  a-word") && line.ends_with("a-word"))
        );
        assert_eq!(wrapped(&line, false), line);
    }

    #[test]
    fn no_field_makes_a_row() {
        assert_eq!(Field::from("a\nb\u{202e}".to_owned()).0, r"a\nb\u{202e}");
        let lines = ["a\nb", "c"].map(|text| Line::default().plain(text).highlighted("\n\u{2061}"));
        assert_eq!(Field::high(lines).0, "a\\nb\u{2061}\\n\\u{2061}\u{2062}\nc\u{2061}\\n\\u{2061}\u{2062}");
    }
}
