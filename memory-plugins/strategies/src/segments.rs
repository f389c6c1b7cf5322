//! Splits messages into segments: the sentences, titles, rows and code lines that a summary may quote.

use crate::{
    markup::{Line, classify, push_data, push_folded, push_plain},
    said::said_parts,
    sentences::{pieces, whole_sentences},
};

/// A sentence, title, row or line of code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    /// One line without markup, trimmed, never blank.
    pub text: String,
    /// Its kind.
    pub kind: Kind,
    /// The index of its source.
    pub source: usize,
    /// True if it begins its sentence, and true if it ends it; both, unless the sentence is very long.
    pub begins: bool,
    pub ends: bool,
    /// The label at its beginning: a heading, or the emphasized beginning of an item.
    pub label: Option<Label>,
}

/// A label of a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// End of the label in the text of its segment.
    pub end: usize,
    /// 0 for a heading, 1 for an item, 2 for an item within another.
    pub depth: u8,
}

/// The kind of a segment in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A sentence of running text or of a list.
    Sentence,
    /// A title.
    Heading,
    /// A row of a table.
    Row,
    /// A line or a part of a line of JSON.
    Data,
    /// A line of a code block.
    Code,
    /// The keywords at the end of a merged summary.
    Keywords,
}

/// A line of at least this length was probably wrapped by an editor, and continues in the next one.
const WRAPPED: usize = 60;

/// Appends the segments of what is said in `text`, in order.
pub(crate) fn cut(source: usize, text: &str, out: &mut Vec<Segment>) {
    said_parts(text).into_iter().for_each(|part| cut_part(source, part, out));
}

fn cut_part(source: usize, text: &str, out: &mut Vec<Segment>) {
    let mut cutter = SegmentCutter { source, out, paragraph: String::new(), line: String::new(), label: None };
    let mut fence: Option<(char, usize)> = None;
    let mut last_length = 0;
    let mut table = Table::default();
    for line in text.split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}']) {
        if let Some((mark, count)) = fence {
            if let Line::Fence(other, length) = classify(line) {
                if other == mark && length >= count && line.trim().chars().all(|c| c == mark) {
                    fence = None;
                }
            } else {
                cutter.whole(line, Kind::Code, push_folded);
            }
            continue;
        }
        let classified = classify(line);
        if !matches!(classified, Line::Text(_)) {
            cutter.end_paragraph();
        }
        if !matches!(classified, Line::Row(_)) && !is_rule_of_table(line) {
            cutter.end_table(&mut table);
        }
        match classified {
            Line::Blank => {}
            Line::Fence(mark, count) => fence = Some((mark, count)),
            Line::Heading(title) => cutter.whole(title, Kind::Heading, push_plain),
            Line::Row(row) => cutter.row(row, &mut table),
            Line::Data(data) => cutter.whole(data, Kind::Data, push_data),
            Line::Item(item) => {
                cutter.label = label(line, item);
                cutter.join(item);
            }
            Line::Text(text) => {
                let wrapped = last_length >= WRAPPED || text.starts_with(char::is_lowercase);
                if !wrapped || cutter.paragraph.ends_with(['.', '!', '?', ':', '。', '！', '？']) {
                    cutter.end_paragraph();
                }
                cutter.join(text);
            }
        }
        last_length = line.len();
    }
    cutter.end_paragraph();
    cutter.end_table(&mut table);
}

/// The label of an item: "**Blue Line**: two hours".
fn label(line: &str, item: &str) -> Option<Label> {
    let (inner, behind) = item.strip_prefix("**")?.split_once("**")?;
    let is_marked = behind.trim().is_empty() || behind.trim_start().starts_with([':', '-', '–', '—', '(']);
    let mut plain = String::new();
    push_plain(inner, &mut plain);
    let depth = if line.starts_with([' ', '\t']) { 2 } else { 1 };
    (is_marked || inner.trim_end().ends_with([':', '.'])).then_some(Label { end: plain.trim_end().len(), depth })
}

/// The table that is being read.
#[derive(Debug, Default)]
struct Table {
    /// Names of its columns: the first row.
    columns: Vec<String>,
    has_rows: bool,
}

/// The cells of a row, without markup.
fn cells(row: &str) -> Vec<String> {
    let plain = |cell: &str| {
        let mut plain = String::new();
        push_plain(cell.trim(), &mut plain);
        plain.trim().to_owned()
    };
    row.trim().trim_matches('|').split('|').map(plain).collect()
}

/// True for the line between the columns of a table and its rows.
fn is_rule_of_table(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

struct SegmentCutter<'a> {
    source: usize,
    out: &'a mut Vec<Segment>,
    paragraph: String,
    line: String,
    /// Label of the paragraph.
    label: Option<Label>,
}

impl SegmentCutter<'_> {
    /// Adds a line of running text to the paragraph.
    fn join(&mut self, text: &str) {
        if !self.paragraph.is_empty() && !self.paragraph.ends_with(' ') {
            self.paragraph.push(' ');
        }
        push_plain(text, &mut self.paragraph);
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        self.push_all(&paragraph, Kind::Sentence);
        self.paragraph = paragraph;
        self.paragraph.clear();
    }

    /// Makes `text`, cleaned by `push`, a segment of its own.
    fn whole(&mut self, text: &str, kind: Kind, push: fn(&str, &mut String)) {
        let mut line = std::mem::take(&mut self.line);
        push(text, &mut line);
        if kind == Kind::Heading {
            self.label = Some(Label { end: line.len(), depth: 0 });
        }
        self.push_all(&line, kind);
        line.clear();
        self.line = line;
    }

    /// Makes a row with the names of its columns a segment; the first row is those names.
    fn row(&mut self, row: &str, table: &mut Table) {
        let cells = cells(row);
        if table.columns.is_empty() {
            table.columns = cells;
            return;
        }
        table.has_rows = true;
        // A row of other columns means nothing.
        if cells.len() == table.columns.len() {
            let named = table.columns.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty());
            let named =
                named.map(|(name, cell)| if name.is_empty() { cell.clone() } else { format!("{name}: {cell}") });
            let text = named.collect::<Vec<_>>().join(", ");
            self.push_all(&text, Kind::Row);
        }
    }

    /// Ends a table; one of a single row has only that.
    fn end_table(&mut self, table: &mut Table) {
        let Table { columns, has_rows } = std::mem::take(table);
        if !has_rows && !columns.is_empty() {
            self.push_all(&columns.join(", "), Kind::Row);
        }
    }

    fn push_all(&mut self, text: &str, kind: Kind) {
        let mut label = self.label.take();
        for sentence in whole_sentences(text) {
            let mut pieces = pieces(sentence).map(str::trim).peekable();
            let mut begins = true;
            while let Some(piece) = pieces.next() {
                let ends = pieces.peek().is_none();
                if piece.chars().any(char::is_alphanumeric) {
                    let label = label.take().filter(|label| label.end <= piece.len());
                    self.out.push(Segment { text: piece.to_owned(), kind, source: self.source, begins, ends, label });
                }
                begins = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(Kind, &str)]) {
        let mut out = Vec::new();
        cut(0, text, &mut out);
        let found: Vec<_> = out.iter().map(|segment| (segment.kind, segment.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_message_of_all_kinds() {
        check(
            "# Plan\n\nWe start on **Monday**. Bring:\n- pens\n- paper. And ink.\n\n| City | Cost |\n|---|---|\n| Bonn | 30 |\n\n```rust\nfn main() {\n}\n```\n{\"id\": 7}\n",
            &[
                (Kind::Heading, "Plan"),
                (Kind::Sentence, "We start on Monday."),
                (Kind::Sentence, "Bring:"),
                (Kind::Sentence, "pens"),
                (Kind::Sentence, "paper."),
                (Kind::Sentence, "And ink."),
                (Kind::Row, "City: Bonn, Cost: 30"),
                (Kind::Code, "fn main() {"),
                (Kind::Data, "id: 7"),
            ],
        );
    }

    #[test]
    fn wrapped_lines_are_joined_and_short_ones_are_not() {
        let wrapped = "This line was broken by an editor at the seventieth column of the\npage. Done.";
        check(
            wrapped,
            &[
                (Kind::Sentence, "This line was broken by an editor at the seventieth column of the page."),
                (Kind::Sentence, "Done."),
            ],
        );
        check("Yes\nTomorrow at 9", &[(Kind::Sentence, "Yes"), (Kind::Sentence, "Tomorrow at 9")]);
    }

    #[test]
    fn a_fence_left_open_is_code_to_the_end() {
        check("```\nlet x = 1;\n", &[(Kind::Code, "let x = 1;")]);
    }
}
