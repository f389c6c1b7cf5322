//! Markdown of a model as lines for a terminal, also while it arrives.
//!
//! Every text is escaped before marks of highlights are added, so that none can steer the terminal.

mod wrapping;

use memory_core::text::one_line;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use textwrap::core::display_width;

pub(crate) use self::wrapping::{wrap, wrap_after};

use crate::terminal::HIGHLIGHT;

/// Lines for a terminal of `width` columns, with marks of highlights. A block that grows keeps its first lines, unless
/// a mark that was open is closed.
fn rendered(text: &str, width: usize) -> String {
    let mut page = Page { width: width.max(20), ..Page::default() };
    for event in
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
    {
        page.take(event);
    }
    page.flush();
    page.lines.join("\n")
}

/// Indent of code.
const CODE: &str = "    ";
/// Characters between two columns of a table.
const BETWEEN: &str = " │ ";
/// Least columns of a cell that is wrapped.
const NARROWEST: usize = 12;

/// Lines being written.
#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<String>,
    /// Inline text of the present block.
    inline: String,
    /// Beginnings of lines, for each enclosing quote or item: of its next line, and of those after it.
    margins: Vec<[String; 2]>,
    /// Next numbers of the enclosing lists; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// Number of enclosing elements that are bold.
    bold: u32,
    /// Address of the enclosing link, and the place in the inline text where its words begin.
    link: Option<(String, usize)>,
    /// True in a block of code.
    is_code: bool,
    /// True before the first block of a quote.
    begins_quote: bool,
    /// Rows of the table.
    table: Option<Vec<Vec<String>>>,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => {
                for line in text.lines() {
                    self.code(&one_line(line));
                }
            }
            Event::Text(text) | Event::InlineHtml(text) => self.say(&text),
            Event::Html(text) => {
                text.lines().for_each(|line| self.say(line));
                self.flush();
            }
            Event::Code(text) => self.say(&format!("`{text}`")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.say(&format!("${text}$")),
            Event::FootnoteReference(name) => self.say(&format!("[^{name}]")),
            Event::SoftBreak => self.inline.push(' '),
            Event::HardBreak => self.inline.push('\n'),
            Event::Rule => self.line(&"─".repeat(self.width.min(40))),
            Event::TaskListMarker(is_done) => self.say(if is_done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.part(),
            Tag::Heading { level, .. } => {
                self.part();
                self.bold += 1;
                self.say(&format!("{} ", "#".repeat(level as usize)));
            }
            Tag::BlockQuote(_) => {
                self.part();
                self.margins.push(["│ ".to_owned(), "│ ".to_owned()]);
                self.begins_quote = true;
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.part();
                self.is_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.line(&format!("    [{}]", one_line(&language)));
                }
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let blank = " ".repeat(mark.chars().count());
                self.margins.push([mark, blank]);
            }
            Tag::Table(_) => {
                self.part();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(|rows| rows.push(Vec::new())),
            Tag::Strong => self.bold += 1,
            // Not every terminal has italics.
            Tag::Emphasis => self.inline.push('*'),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), self.inline.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.flush();
                self.bold -= 1;
            }
            TagEnd::Paragraph => self.flush(),
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
            }
            TagEnd::Item => {
                self.flush();
                // An item without words still has its mark.
                if self.margins.last().is_some_and(|[next, after]| next != after) {
                    self.line("");
                }
                self.margins.pop();
            }
            TagEnd::CodeBlock => self.is_code = false,
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                self.table.iter_mut().filter_map(|rows| rows.last_mut()).for_each(|row| row.push(cell.clone()));
            }
            TagEnd::Table => self.rows(),
            TagEnd::Strong => self.bold -= 1,
            TagEnd::Emphasis => self.inline.push('*'),
            TagEnd::Link | TagEnd::Image => {
                if let Some((address, begins)) = self.link.take()
                    && self.inline.get(begins..).is_none_or(|words| plain(words) != address)
                {
                    self.say(&format!(" ({address})"));
                }
            }
            _ => {}
        }
    }

    /// Adds words. Each bold word has marks of its own, since a highlight ends with its line.
    fn say(&mut self, text: &str) {
        let [begin, end] = HIGHLIGHT;
        if self.bold == 0 {
            self.inline.push_str(&one_line(text));
            return;
        }
        for part in text.split_inclusive(' ') {
            let word = part.trim_end_matches(' ');
            if !word.is_empty() {
                self.inline.push(begin);
                self.inline.push_str(&one_line(word));
                self.inline.push(end);
            }
            self.inline.push_str(part.get(word.len()..).unwrap_or_default());
        }
    }

    /// Separates a block from the one before, unless it begins an item or a quote.
    fn part(&mut self) {
        if std::mem::take(&mut self.begins_quote) {
            return;
        }
        if !self.lines.is_empty() && self.margins.iter().all(|[next, after]| next == after) && self.lists.is_empty() {
            self.line("");
        }
    }

    /// Writes the inline text in lines.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        for text in inline.split('\n').filter(|text| !text.trim().is_empty()) {
            wrap(text.trim_start(), self.room()).iter().for_each(|line| self.line(line));
        }
    }

    /// Columns between the margins and the end of a line.
    fn room(&self) -> usize {
        let margin: usize = self.margins.iter().map(|[next, _]| next.chars().count()).sum();
        self.width.saturating_sub(margin).max(10)
    }

    /// Writes a line of code, whose further lines have its indent.
    fn code(&mut self, line: &str) {
        let room = self.room().saturating_sub(CODE.len());
        let indent = line.len() - line.trim_start_matches(' ').len();
        let indent = " ".repeat((indent + 2).min(room / 2));
        let (mut rest, mut begins) = (line, "");
        while !rest.is_empty() || begins.is_empty() {
            let first = wrapping::pieces(rest, room.saturating_sub(begins.len())).swap_remove(0);
            self.line(&format!("{CODE}{begins}{first}"));
            rest = rest.get(first.len()..).unwrap_or_default();
            begins = &indent;
        }
    }

    /// Writes a line behind the margins.
    fn line(&mut self, text: &str) {
        let mut line = String::new();
        for [next, after] in &mut self.margins {
            line.push_str(next);
            next.clone_from(after);
        }
        line.push_str(text);
        self.lines.push(line.trim_end().to_owned());
    }

    /// Writes the table. Its columns are as wide as their widest cells, or share the line; where they would be too
    /// narrow, each cell has lines of its own after its header.
    fn rows(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| display_width(cell)).max();
        let wanted: Vec<_> = (0..columns).map(|at| widest(at).unwrap_or_default()).collect();
        let room = self.room().saturating_sub(BETWEEN.chars().count() * columns.saturating_sub(1));
        let Some(widths) = shares(&wanted, room) else { return self.records(&rows) };
        for (number, row) in rows.iter().enumerate() {
            let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| wrap(cell, *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            for at in 0..height {
                let padded = |(cell, width): (&Vec<String>, &usize)| {
                    let text = cell.get(at).map_or("", String::as_str);
                    format!("{text}{}", " ".repeat(width.saturating_sub(display_width(text))))
                };
                let line: Vec<_> = cells.iter().zip(&widths).map(padded).collect();
                self.line(&line.join(BETWEEN));
            }
            if number == 0 {
                let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                self.line(&rule.join("─┼─"));
            }
        }
    }

    /// Writes each row as lines of a header and a value.
    fn records(&mut self, rows: &[Vec<String>]) {
        let Some((header, rows)) = rows.split_first() else { return };
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                self.line("");
            }
            for (name, value) in header.iter().zip(row).filter(|(_, value)| !value.is_empty()) {
                wrap_after("", "  ", &format!("{name}: {value}"), self.room()).iter().for_each(|line| self.line(line));
            }
        }
    }
}

/// Widths of columns that have at most `room` together; `None` if one would be narrower than its words.
fn shares(wanted: &[usize], room: usize) -> Option<Vec<usize>> {
    let mut widths = vec![0; wanted.len()];
    let mut by_width: Vec<_> = wanted.iter().copied().enumerate().collect();
    by_width.sort_by_key(|(_, wanted)| *wanted);
    let mut left = room;
    for (done, (at, wanted)) in by_width.iter().enumerate() {
        let share = left / (by_width.len() - done);
        let width = (*wanted).min(share);
        if width < *wanted && width < NARROWEST {
            return None;
        }
        left -= width;
        *widths.get_mut(*at)? = width;
    }
    Some(widths)
}

/// A text without marks.
fn plain(text: &str) -> String {
    text.replace(HIGHLIGHT, "")
}

/// Markdown that arrives in parts: a block is shown as far as its words are settled.
#[derive(Debug)]
pub(crate) struct Streamed {
    width: usize,
    /// The block that is not complete.
    block: String,
    /// Lines of that block that were returned.
    shown: String,
    /// True if a block was shown before.
    follows: bool,
}

impl Streamed {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, block: String::new(), shown: String::new(), follows: false }
    }

    /// Adds a part; returns the text to print after what was printed.
    pub(crate) fn push(&mut self, part: &str) -> String {
        self.block.push_str(part);
        let mut out = String::new();
        while let Some(end) = end_of_block(&self.block) {
            let rest = self.block.split_off(end);
            let block = std::mem::replace(&mut self.block, rest);
            out.push_str(&self.grown(rendered(&block, self.width)));
            self.shown.clear();
            self.follows = true;
        }
        let settled = rendered(settled(&self.block), self.width);
        out.push_str(&self.grown(settled));
        out
    }

    /// The rest of the text.
    pub(crate) fn finish(&mut self) -> String {
        let block = std::mem::take(&mut self.block);
        let rest = self.grown(rendered(&block, self.width));
        *self = Self::new(self.width);
        rest
    }

    /// The part of `lines` that was not returned yet.
    fn grown(&mut self, lines: String) -> String {
        if lines.len() <= self.shown.len() && self.shown.starts_with(&lines) {
            return String::new();
        }
        let before = if self.shown.is_empty() && std::mem::take(&mut self.follows) { "\n\n" } else { "" };
        let new = match lines.strip_prefix(self.shown.as_str()) {
            Some(new) => format!("{before}{new}"),
            // A mark was closed late, which changes words that were shown: they are shown again.
            None => format!("\n{lines}"),
        };
        self.shown = lines;
        new
    }
}

/// True if a line opens or closes a block of code.
fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// The end of the first complete block: an empty line outside of code, before a line that is not indented.
fn end_of_block(text: &str) -> Option<usize> {
    let (mut at, mut is_code, mut has_words, mut is_empty) = (0, false, false, false);
    for line in text.split_inclusive('\n') {
        let begins = line.chars().next().is_some_and(|first| !first.is_whitespace());
        if is_empty && has_words && !is_code && begins {
            return Some(at);
        }
        is_code ^= is_fence(line);
        is_empty = line.trim().is_empty() && line.ends_with('\n');
        has_words |= !line.trim().is_empty();
        at += line.len();
    }
    None
}

/// The beginning of a block that what follows will not change: whole words, outside of marks that are still open.
fn settled(block: &str) -> &str {
    let is_code = block.lines().filter(|line| is_fence(line)).count() % 2 == 1;
    let cut = |end: Option<usize>| end.and_then(|end| block.get(..end)).unwrap_or_default();
    if is_code || block.trim_start().starts_with(['`', '~']) {
        return cut(block.rfind('\n'));
    }
    // Columns are as wide as their widest cells.
    if block.trim_start().starts_with('|') {
        return "";
    }
    let end = block.rfind(char::is_whitespace).unwrap_or_default();
    let end = open_mark(cut(Some(end))).map_or(end, |open| open.min(end));
    let text = cut(Some(end)).trim_end();
    // A line of marks may become an item, a rule, or the underline of a heading.
    let is_marks = |line: &str| line.chars().all(|c| c.is_ascii_digit() || " -=*+#>.)_~|`".contains(c));
    match text.rsplit_once('\n') {
        Some((before, last)) if is_marks(last) => before.trim_end(),
        None if is_marks(text) => "",
        _ => text,
    }
}

/// The place of the first mark of emphasis, code or a link that is open at the end.
fn open_mark(text: &str) -> Option<usize> {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let in_code = open.last().is_some_and(|(mark, _)| *mark == '`');
        let is_mark = matches!(c, '*' | '_' | '~' | '`');
        // Several of a mark are one.
        while is_mark && chars.next_if(|(_, next)| *next == c).is_some() {}
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let closes = open.last().is_some_and(|(mark, _)| *mark == c);
        match c {
            '`' if in_code => drop(open.pop()),
            _ if in_code => {}
            '`' => open.push((c, at)),
            '*' | '_' | '~' if closes && !before.is_whitespace() => drop(open.pop()),
            '*' | '~' if !next.is_whitespace() => open.push((c, at)),
            '_' if !next.is_whitespace() && !before.is_alphanumeric() => open.push((c, at)),
            '[' => open.push((']', at)),
            ']' if closes => {
                open.pop();
                if next == '(' {
                    chars.next();
                    open.push((')', at));
                }
            }
            ')' if closes => drop(open.pop()),
            '\\' => drop(chars.next()),
            _ => {}
        }
        before = c;
    }
    open.first().map(|(_, at)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with `<b>` where a highlight stands.
    fn lines(text: &str, width: usize) -> String {
        let [begin, end] = HIGHLIGHT;
        rendered(text, width).replace(begin, "<").replace(end, ">")
    }

    #[test]
    fn markdown_is_laid_out() {
        let text = "# Rome\n\nA **fine city**, see [here](https://x.example) and `ls -l`.\n\n1. one\n2. two\n   - inner\n\n> \
                    said\n\n```sh\nls  -l\n```\n\n---\n\n| a | b |\n|---|---|\n| 1 | long |\n";
        let shown = "<#> <Rome>\n\nA <fine> <city>, see here (https://x.example)\nand `ls -l`.\n1. one\n2. two\n   • inner\n\n│ said\n\n    \
                     [sh]\n    ls  -l\n────────────────────────────────────────\n\na │ b\n──┼─────\n1 │ long";
        assert_eq!(lines(text, 44), shown);
    }

    #[test]
    fn headings_italics_and_wrapped_code_keep_their_marks() {
        let text = "# A\n\n## B\n\nan *aside* here\n\n```\n  let line = one + two + three;\n```\n";
        let shown = "<#> <A>\n\n<##> <B>\n\nan *aside* here\n\n      let line = one +\n         two + three;";
        assert_eq!(lines(text, 22), shown);
    }

    #[test]
    fn a_wide_table_wraps_its_cells_and_a_narrow_screen_has_a_line_for_each() {
        let text = "| name | what it does |\n|---|---|\n| alpha | takes a long explanation of it |\n| b | c |\n";
        let wrapped = "name  │ what it does\n──────┼──────────────────\nalpha │ takes a long\n      │ explanation of it\nb     │ c";
        assert_eq!(lines(text, 25), wrapped);
        let records =
            "name: alphabetical\nwhat it does:\n  takes a long\n  explanation of it\n\nname: b\nwhat it does: c";
        assert_eq!(lines(&text.replace("alpha", "alphabetical"), 20), records);
        let wide =
            "| a | b | c |\n|---|---|---|\n| one two three four five | six seven eight nine ten | eleven twelve |\n";
        for width in 20..80 {
            assert!(rendered(wide, width).lines().all(|line| display_width(line) <= width), "{width}");
        }
    }

    #[test]
    fn nothing_of_a_model_steers_the_terminal() {
        let hostile = "a\u{1b}[2Jb **c\u{9b}d** `e\u{202e}` \u{2061}f\u{2062}\n\n```x\u{1b}\ng\u{1b}]0;t\u{7}\n```\n\n|\u{1b}|\n|--|\n";
        let [begin, end] = HIGHLIGHT;
        let shown = rendered(hostile, 60);
        let is_hidden = |c: char| memory_core::text::is_hidden(c) && ![begin, end, '\n'].contains(&c);
        assert!(!shown.chars().any(is_hidden), "{shown:?}");
        assert_eq!(shown.matches(begin).count(), 1, "only the bold word: {shown:?}");
    }

    #[test]
    fn what_arrives_in_parts_is_shown_as_the_whole_is() {
        let texts = [
            "# Title\n\nSome **bold words** and *others*, `code here` and a [link to it](https://x.example/a) in one line.\n\n- \
             one item that is longer than the line is wide\n- two\n\n1. first\n2. second **bold**\n\nEnd.",
            "Two:\n\n1. first item of a list\n2. second one\n   - inner item\n   - and another\n\nA **bold phrase of many words** stays.",
            "Code:\n\n```rust\nfn main() {\n\n    let a = 1;\n}\n```\n\nAfter it, 2 * 3 * 4 is 24.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> \
             quoted words\n> and more\n\nsnake_case_name stays.",
        ];
        for text in texts {
            for size in [1, 3, 7, 1_000] {
                let mut streamed = Streamed::new(40);
                let chars: Vec<char> = text.chars().collect();
                let mut out = String::new();
                for part in chars.chunks(size) {
                    out.push_str(&streamed.push(&part.iter().collect::<String>()));
                }
                out.push_str(&streamed.finish());
                let blocks: Vec<_> = blocks(text).iter().map(|block| rendered(block, 40)).collect();
                assert_eq!(out, blocks.join("\n\n"), "{size}");
            }
        }
    }

    fn blocks(text: &str) -> Vec<String> {
        let (mut rest, mut blocks) = (text.to_owned(), Vec::new());
        while let Some(end) = end_of_block(&rest) {
            let after = rest.split_off(end);
            blocks.push(std::mem::replace(&mut rest, after));
        }
        blocks.push(rest);
        blocks
    }

    #[test]
    fn words_are_shown_before_their_line_ends() {
        let mut streamed = Streamed::new(40);
        assert_eq!(streamed.push("The train leaves"), "The train");
        assert_eq!(streamed.push(" at **seven"), " leaves at");
        assert!(streamed.push("** or eight.").contains("seven"));
    }
}
