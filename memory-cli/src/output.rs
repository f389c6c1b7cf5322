//! Tables for people, JSON for programs, bars on long work.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    time::Duration,
};

use comfy_table::{ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memory_core::Progress;
use serde_json::Value;

/// Where a command's words go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// One JSON value on standard output instead of tables and text.
    pub(crate) json: bool,
}

impl Output {
    /// Prints a line on standard output.
    ///
    /// # Errors
    /// When standard output is closed or full.
    pub(crate) fn line(self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        // What was said in a conversation must not steer the terminal that shows it. A pipe gets the bytes.
        if out.is_terminal() { writeln!(out, "{}", harmless(text)) } else { writeln!(out, "{text}") }
    }

    /// Prints a JSON value on standard output.
    pub(crate) fn value(self, value: &Value) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{value:#}")
    }

    /// Says something beside the result, on standard error.
    pub(crate) fn note(self, text: &str) {
        if !self.json {
            // A closed standard error is no reason to fail.
            drop(writeln!(io::stderr().lock(), "{text}"));
        }
    }

    /// A bar for long work; silent where nobody looks.
    pub(crate) fn bar(self, what: &str) -> Bar {
        let looked_at = io::stderr().is_terminal() && !self.json;
        let target = if looked_at { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{msg:12} {bar:32} {pos}/{len} {per_sec} {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar(bar)
    }
}

/// A progress bar.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn report(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

/// A table with a header.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    if !io::stdout().is_terminal() {
        table.set_width(140);
    }
    table.add_rows(rows);
    table
}

/// A text without control characters but for new lines and tabs.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(harmful) { Cow::Owned(text.replace(harmful, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// The first `most` characters of a text on one line.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = harmless(&line);
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.into_owned(),
    }
}

/// Bytes as megabytes, as in `83.5 MB`.
pub(crate) fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let megabytes = bytes as f64 / 1e6;
    format!("{megabytes:.1} MB")
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let check = |number, expected| assert_eq!(grouped(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(1_234_567, "1,234,567");
    }

    #[test]
    fn a_shortened_text_is_one_line() {
        assert_eq!(shorten("a\n b  c", 10), "a b c");
        assert_eq!(shorten("日本語です", 2), "日本…");
        assert_eq!(shorten("\u{1b}[31mred\u{7}", 20), "\u{fffd}[31mred\u{fffd}");
    }
}
