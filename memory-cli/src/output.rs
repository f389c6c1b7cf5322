//! Output of commands: tables for people, JSON for programs, progress bars for long work.

use std::{
    env, io,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use comfy_table::{ColumnConstraint, ContentArrangement, ContentLineStyle, Table, TableStyle};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub(crate) use memory_core::text::grouped;
use memory_core::{ConversationId, Timestamp, port::Progress, text::one_line};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    failure::Usage,
    news::News,
    terminal::{self, HIGHLIGHT, To},
};

/// Lines between columns, so that no wrapped field passes for a line of its own.
const COLUMNS: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction('┆'))
    .content_lines(ContentLineStyle::none().junction('┆'));
/// Width of tables that go to no terminal.
const WIDTH: u16 = 140;
/// Characters of a field that is never wrapped where texts find room next to it.
const NARROW: usize = 24;

/// Columns of the terminal, or of what goes to none.
pub(crate) fn width() -> u16 {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.or_else(|| Table::new().width()).filter(|width| *width > 0).unwrap_or(WIDTH)
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
        To::Output.marked(&line.0)
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
        let rows: Vec<[String; N]> = rows.into_iter().map(|row| row.map(|field| field.into().0)).collect();
        let mut table = Table::new();
        table.load_style(COLUMNS).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
        let width = width();
        table.set_width(width);
        let longest = |column: usize| {
            let fields = rows.iter().filter_map(|row| row.get(column)).flat_map(|field| field.lines());
            let header = header.get(column).map_or(0, |name| name.len());
            fields.map(|line| line.chars().count()).max().unwrap_or_default().max(header)
        };
        let widths: Vec<usize> = (0..N).map(longest).collect();
        table.add_rows(rows);
        // Numbers and names stay whole, and texts share the rest, unless too little is left.
        let is_narrow = |width: &&usize| **width <= NARROW;
        let texts = widths.len() - widths.iter().filter(is_narrow).count();
        let taken: usize = widths.iter().filter(is_narrow).map(|width| width + 3).sum();
        let has_room = taken + texts * NARROW <= usize::from(width);
        for (at, (column, width)) in table.column_iter_mut().zip(&widths).enumerate() {
            column.set_padding((u16::from(at > 0), 1));
            if *width <= NARROW && has_room {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let lines = table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
        To::Output.marked(&lines)
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
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg:12} {bar:32} {pos}/{len} {per_sec} {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(what);
        Bar::Drawn(bar)
    }
}

/// Time between two lines of progress, and before the first: short work shows none.
const BETWEEN_LINES: Duration = Duration::from_secs(3);

/// Progress of long work.
pub(crate) enum Bar {
    Drawn(ProgressBar),
    Lines { what: &'static str, last: Mutex<Instant> },
    Silent,
}

impl Bar {
    pub(crate) fn finish(&self) {
        if let Self::Drawn(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn report(&self, done: u64, total: u64) {
        match self {
            Self::Drawn(bar) => {
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
    at.is_known().then(|| at.to_string())
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
    fn no_field_makes_a_row() {
        assert_eq!(Field::from("a\nb\u{202e}".to_owned()).0, r"a\nb\u{202e}");
        let lines = ["a\nb", "c"].map(|text| Line::default().plain(text).highlighted("\n\u{2061}"));
        assert_eq!(Field::high(lines).0, "a\\nb\u{2061}\\n\\u{2061}\u{2062}\nc\u{2061}\\n\\u{2061}\u{2062}");
    }
}
