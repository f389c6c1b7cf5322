//! The layout of tables: a word, a number, a date or an id is never broken.

use comfy_table::{ColumnConstraint, ContentArrangement, ContentLineStyle, Table, TableStyle, Width};
use textwrap::{Options, WordSeparator, WordSplitter, core::display_width};

/// Lines between columns, so that no wrapped field passes for a line of its own.
const COLUMNS: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction('┆'))
    .content_lines(ContentLineStyle::none().junction('┆'));
/// Characters between two columns.
const BETWEEN: usize = 3;
/// Characters of a field that is never wrapped, and the least width of a column of longer ones.
const NARROW: usize = 24;

/// The rows of a table.
pub(super) struct Rows<'a> {
    pub(super) header: &'a [&'a str],
    pub(super) rows: Vec<Vec<String>>,
    /// Columns that a narrow screen has no room for, the least important first.
    pub(super) least: &'a [&'a str],
}

impl Rows<'_> {
    /// The table as text. A screen of `width` columns has no column of `least` that does not fit, and records below one
    /// another where the rest does not; any other output has all of the table, and its longest texts wrapped.
    pub(super) fn lay_out(&self, width: usize, is_screen: bool) -> String {
        let mut columns: Vec<usize> = (0..self.header.len()).collect();
        let mut least = self.least.iter().filter(|_| is_screen && self.rows.len() > 1);
        loop {
            if let Some(widths) = self.widths(&columns, width) {
                return self.table(&columns, &widths);
            }
            match least.next() {
                Some(name) => columns.retain(|column| self.header.get(*column) != Some(name)),
                None if is_screen => return self.records(width),
                None => return self.table(&columns, &self.narrowest(&columns)),
            }
        }
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(column).map(String::as_str))
    }

    /// Width of the longest line of a column, without its header.
    fn longest(&self, column: usize) -> usize {
        self.cells(column).flat_map(str::lines).map(display_width).max().unwrap_or_default()
    }

    /// Width of the longest word of a column.
    fn longest_word(&self, column: usize) -> usize {
        let header = self.header.get(column).copied();
        header
            .into_iter()
            .chain(self.cells(column))
            .flat_map(str::split_whitespace)
            .map(display_width)
            .max()
            .unwrap_or(0)
    }

    /// Least widths of columns: short fields stay whole, and texts have some room.
    fn narrowest(&self, columns: &[usize]) -> Vec<usize> {
        let least = |column: &usize| self.longest(*column).min(NARROW).max(self.longest_word(*column));
        columns.iter().map(least).collect()
    }

    /// Widths of columns in a table that is at most `width` wide; `None` if there are none.
    fn widths(&self, columns: &[usize], width: usize) -> Option<Vec<usize>> {
        let mut widths = self.narrowest(columns);
        let taken = widths.iter().sum::<usize>() + BETWEEN * columns.len().saturating_sub(1);
        let mut left = width.checked_sub(taken)?;
        let header = |column: usize| self.header.get(column).map_or(0, |name| display_width(name));
        let wanted = |column: usize| self.longest(column).max(header(column));
        let mut wishes: Vec<_> = columns
            .iter()
            .zip(&mut widths)
            .map(|(column, width)| (wanted(*column).saturating_sub(*width), width))
            .collect();
        wishes.sort_by_key(|(wish, _)| *wish);
        let count = wishes.len();
        for (at, (wish, width)) in wishes.into_iter().enumerate() {
            let more = wish.min(left / (count - at));
            *width += more;
            left -= more;
        }
        Some(widths)
    }

    fn table(&self, columns: &[usize], widths: &[usize]) -> String {
        let pick = |row: &[String]| columns.iter().filter_map(|at| row.get(*at).cloned()).collect::<Vec<_>>();
        let mut table = Table::new();
        table.load_style(COLUMNS).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(columns.iter().filter_map(|at| self.header.get(*at).copied()));
        table.add_rows(self.rows.iter().map(|row| pick(row)));
        let total = widths.iter().sum::<usize>() + BETWEEN * widths.len() + 1;
        table.set_width(u16::try_from(total).unwrap_or(u16::MAX));
        for (at, (column, width)) in table.column_iter_mut().zip(widths).enumerate() {
            let padding = (u16::from(at > 0), 1);
            column.set_padding(padding);
            let width = u16::try_from(*width).unwrap_or(u16::MAX).saturating_add(padding.0 + padding.1);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    /// Each row as lines of a name and a value.
    fn records(&self, width: usize) -> String {
        let names = self.header.iter().map(|name| display_width(name)).max().unwrap_or_default();
        let record = |row: &Vec<String>| {
            let named = self.header.iter().zip(row).filter(|(_, value)| !value.is_empty());
            let lines = named.flat_map(|(name, value)| {
                let name = format!("{name:names$}  ");
                let indent = " ".repeat(names + 2);
                let wrapped = value.lines().flat_map(|line| whole_words(line, width.saturating_sub(names + 2)));
                let line = |(at, line): (usize, String)| format!("{}{line}", if at == 0 { &name } else { &indent });
                wrapped.enumerate().map(line).collect::<Vec<_>>()
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        self.rows.iter().map(record).collect::<Vec<_>>().join("\n\n")
    }
}

/// A line as lines of at most `width` columns, but for words that are longer.
pub(super) fn whole_words(line: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(1))
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(line, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const HEADER: [&str; 5] = ["conversation", "messages", "last said", "user/AI", "text"];

    fn rows(texts: &[&str]) -> Vec<Vec<String>> {
        let row = |(at, text): (usize, &&str)| {
            let id = format!("0198f2c4-5a1b-7c3d-9e8f-{at:012}");
            vec![
                id,
                "1,234,567".to_owned(),
                "2026-03-02 09:20".to_owned(),
                "4,490/4,489".to_owned(),
                (*text).to_owned(),
            ]
        };
        texts.iter().enumerate().map(row).collect()
    }

    /// Words as printed are words of the table, at every width, and no line is wider than the screen unless a word is.
    #[test]
    fn no_word_is_broken_at_any_width() {
        let url = "https://example.org/a/very/long/path/to/some/page.html?with=parameters&and=more";
        let all = rows(&["The night train leaves Rome at 19:42 from platform 9.", url, "", "日本語 のテキスト"]);
        for count in 1..=all.len() {
            let table = Rows { header: &HEADER, rows: all[..count].to_vec(), least: &["user/AI", "messages"] };
            let given = HEADER.into_iter().chain(table.rows.iter().flatten().map(String::as_str));
            let given: BTreeSet<_> = given.flat_map(str::split_whitespace).chain(["┆"]).collect();
            for width in 20..=160 {
                for is_screen in [true, false] {
                    let text = table.lay_out(width, is_screen);
                    for word in text.split_whitespace() {
                        assert!(given.contains(word), "{word} at {width}:\n{text}");
                    }
                    for line in text.lines().filter(|_| is_screen) {
                        let has_long_word = line.split(' ').any(|word| display_width(word) + 14 > width);
                        assert!(display_width(line) <= width || has_long_word, "{width}: {line}");
                    }
                    assert!(is_screen || given.iter().all(|word| text.contains(word)), "a pipe has all:\n{text}");
                }
            }
        }
    }

    #[test]
    fn a_narrow_screen_leaves_out_the_least_columns_and_one_row_is_a_record() {
        let table = Rows { header: &HEADER, rows: rows(&["a", "b"]), least: &["user/AI", "messages"] };
        assert!(table.lay_out(120, true).contains("user/AI"));
        let narrow = table.lay_out(80, true);
        assert!(!narrow.contains("user/AI") && narrow.contains("messages"), "{narrow}");
        let records = table.lay_out(50, true);
        assert!(records.contains("user/AI       4,490/4,489\n"), "{records}");
        let one = Rows { header: &HEADER, rows: rows(&["a"]), least: &["user/AI"] };
        assert!(one.lay_out(80, true).starts_with("conversation  0198f2c4-"), "nothing of a single row is left out");
    }
}
