//! Classifies lines of Markdown, JSON and tables, and strips their markup.

use memory_core::text::floor_char_boundary;

/// A line by kind, with its text without the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Only blanks, or a horizontal rule.
    Blank,
    /// Opens or closes a code block: the fence character and its count.
    Fence(char, usize),
    /// `# Title`
    Heading(&'a str),
    /// An item of a list.
    Item(&'a str),
    /// `| a | b |`
    Row(&'a str),
    /// Part of a JSON value.
    Data(&'a str),
    /// Running text.
    Text(&'a str),
}

/// The kind of `line`.
pub(crate) fn classify(line: &str) -> Line<'_> {
    let mut line = line.trim();
    while let Some(quoted) = line.strip_prefix('>') {
        line = quoted.trim_start();
    }
    let Some(first) = line.chars().next() else { return Line::Blank };
    match first {
        '`' | '~' => {
            let count = line.chars().take_while(|&c| c == first).count();
            // A fence is followed by at most a language; "```x```" within a line is inline code.
            if count >= 3 && !line.trim_start_matches(first).contains(first) {
                Line::Fence(first, count)
            } else {
                Line::Text(line)
            }
        }
        '#' => {
            let title = line.trim_start_matches('#');
            let depth = line.len() - title.len();
            if depth <= 6 && title.is_empty() {
                Line::Blank
            } else if depth <= 6 && title.starts_with(char::is_whitespace) {
                Line::Heading(title.trim().trim_end_matches('#').trim_end())
            } else {
                Line::Text(line)
            }
        }
        '|' if line.len() > 1 => {
            if line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t')) {
                Line::Blank
            } else {
                Line::Row(line)
            }
        }
        '{' | '}' => Line::Data(line),
        ']' if line.len() <= 2 => Line::Data(line),
        '[' if matches!(line.as_bytes().get(1), None | Some(b'{' | b'[' | b'"')) => Line::Data(line),
        '"' if line.contains("\":") || line.ends_with("\",") => Line::Data(line),
        '-' | '*' | '+' | '•' | '_' | '=' => {
            if line.chars().all(|c| c == first || c == ' ') && line.len() >= 3 {
                return Line::Blank;
            }
            match line.strip_prefix(['-', '*', '+', '•']) {
                Some(item) if first == '•' || item.starts_with(char::is_whitespace) => {
                    Line::Item(checked(item.trim()))
                }
                _ => Line::Text(line),
            }
        }
        '0'..='9' => match numbered(line) {
            Some(item) => Line::Item(item),
            None => Line::Text(line),
        },
        _ => Line::Text(line),
    }
}

/// A list item without the box of a task list.
fn checked(item: &str) -> &str {
    ["[ ] ", "[x] ", "[X] "].iter().find_map(|open| item.strip_prefix(open)).unwrap_or(item)
}

/// The text after `12. ` or `12) `.
fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if line.len() - rest.len() > 3 {
        return None;
    }
    let item = rest.strip_prefix(['.', ')'])?;
    item.starts_with(char::is_whitespace).then(|| item.trim())
}

/// Appends `text` to `out` as one line, without emphasis, inline code marks and link targets, with blanks folded.
pub(crate) fn push_plain(text: &str, out: &mut String) {
    let mut rest = text;
    let is_mark = |byte: u8| matches!(byte, b'*' | b'`' | b'~' | b'[' | b'!' | b'_' | b'\\');
    while let Some(at) = rest.bytes().position(is_mark) {
        let (head, tail) = rest.split_at(at);
        push_folded(head, out);
        let before = head.chars().next_back();
        rest = match inline(tail, before) {
            Inline::Skip(bytes) => tail.get(bytes..).unwrap_or_default(),
            Inline::Words { words, after } => {
                push_folded(words, out);
                after
            }
            Inline::Keep(bytes) => {
                let (kept, after) = tail.split_at_checked(bytes).unwrap_or((tail, ""));
                push_folded(kept, out);
                after
            }
        };
    }
    push_folded(rest, out);
}

/// Action for the mark at the beginning of a text.
enum Inline<'a> {
    /// Skip this many bytes.
    Skip(usize),
    /// Write the words, which have no markup, and continue after them.
    Words { words: &'a str, after: &'a str },
    /// Write this many bytes unchanged.
    Keep(usize),
}

fn inline(tail: &str, before: Option<char>) -> Inline<'_> {
    let run = |mark: char| tail.len() - tail.trim_start_matches(mark).len();
    let after_run = |bytes: usize| tail.get(bytes..).and_then(|rest| rest.chars().next());
    let stands_free = |bytes: usize| {
        let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
        blank(before) && blank(after_run(bytes))
    };
    if tail.starts_with('*') {
        let bytes = run('*');
        // A single star between blanks, or between figures, is a multiplication sign.
        let times = before.is_some_and(char::is_numeric) && after_run(bytes).is_some_and(char::is_numeric);
        return if bytes == 1 && (stands_free(bytes) || times) { Inline::Keep(1) } else { Inline::Skip(bytes) };
    }
    if tail.starts_with('`') {
        // "it`s" is an apostrophe.
        let within = before.is_some_and(char::is_alphabetic) && after_run(1).is_some_and(char::is_lowercase);
        if within && tail.get(1..).is_some_and(|rest| !rest.contains('`')) {
            return Inline::Keep(1);
        }
        return Inline::Skip(run('`'));
    }
    if tail.starts_with("~~") {
        return Inline::Skip(run('~'));
    }
    if tail.starts_with("__") {
        // `__init__` is a name; `__bold words__` is not.
        let bytes = run('_');
        let opens = after_run(bytes).is_some_and(char::is_alphanumeric) && !before.is_some_and(char::is_alphanumeric);
        let name = tail.split_whitespace().next().is_some_and(|word| opens && word.len() > 4 && word.ends_with("__"));
        return if name {
            Inline::Keep(tail.find(char::is_whitespace).unwrap_or(tail.len()))
        } else {
            Inline::Skip(bytes)
        };
    }
    if let Some(escaped) = tail.strip_prefix('\\') {
        return match escaped.chars().next() {
            // A separator of speakers is escaped by the caller.
            Some('|') => Inline::Words { words: "/", after: escaped.get(1..).unwrap_or_default() },
            Some(c) if c.is_ascii_punctuation() && c != '\\' => Inline::Words {
                words: escaped.get(..1).unwrap_or_default(),
                after: escaped.get(1..).unwrap_or_default(),
            },
            // A letter may follow in a path or a formula; at the end of a line a backslash only breaks it.
            Some(c) if c.is_alphanumeric() => Inline::Keep(1),
            _ => Inline::Skip(1),
        };
    }
    let image = tail.strip_prefix('!').unwrap_or(tail);
    if let Some((words, after)) = link(image) {
        return Inline::Words { words, after };
    }
    Inline::Keep(1)
}

/// The words of the `[words](target)` at the beginning of `text`, and the text after it.
fn link(text: &str) -> Option<(&str, &str)> {
    const LONGEST: usize = 400;
    let near = text.get(..floor_char_boundary(text, LONGEST))?;
    let close = near.find("](")?;
    let words = near.get(1..close).filter(|words| text.starts_with('[') && !words.contains(['[', '`', '*']))?;
    let target = text.get(close + 2..)?;
    let length = target.get(..floor_char_boundary(target, LONGEST * 4))?.find([')', ' '])?;
    let end = length + target.get(length..)?.find(')')?;
    Some((words, target.get(end + 1..)?))
}

/// Appends `text` with every run of blanks folded into one space, and none at the beginning of `out`.
pub(crate) fn push_folded(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = next_to_fold(rest) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        rest = tail.trim_start_matches(is_blank);
    }
    out.push_str(rest);
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// The position of the first blank that may have to be folded: any but a single space between words.
fn next_to_fold(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        from += bytes.get(from..)?.iter().position(|byte| !byte.is_ascii_graphic())?;
        if from > 0 && bytes.get(from) == Some(&b' ') && bytes.get(from + 1).is_some_and(u8::is_ascii_graphic) {
            from += 1;
            continue;
        }
        let c = text.get(from..)?.chars().next()?;
        if is_blank(c) {
            return Some(from);
        }
        from += c.len_utf8();
    }
}

/// Appends a line of JSON as `key: value, key: value`.
pub(crate) fn push_data(line: &str, out: &mut String) {
    let mut chars = line.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => match chars.next() {
                Some('n' | 'r' | 't') => push_folded(" ", out),
                Some(escaped) => out.push(escaped),
                None => {}
            },
            '"' => quoted = !quoted,
            _ if quoted => out.push(c),
            '{' | '}' | '[' | ']' => {}
            ',' | ':' => {
                if !out.trim_end().is_empty() && !out.ends_with(", ") {
                    out.push(c);
                    out.push(' ');
                }
            }
            _ if c.is_whitespace() || c.is_control() => {}
            _ => out.push(c),
        }
    }
    let end = out.trim_end_matches([' ', ',', ':']).len();
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        let mut out = String::new();
        push_plain(text, &mut out);
        out
    }

    fn data(text: &str) -> String {
        let mut out = String::new();
        push_data(text, &mut out);
        out
    }

    #[test]
    fn lines_are_told_apart() {
        assert_eq!(classify("## Plan ##"), Line::Heading("Plan"));
        assert_eq!(classify("#123 is fixed"), Line::Text("#123 is fixed"));
        assert_eq!(classify("> > quoted"), Line::Text("quoted"));
        assert_eq!(classify("- [x] done"), Line::Item("done"));
        assert_eq!(classify("12) twelfth"), Line::Item("twelfth"));
        assert_eq!(classify("2024. was a year"), Line::Text("2024. was a year"));
        assert_eq!(classify("- - -"), Line::Blank);
        assert_eq!(classify("|---|:-:|"), Line::Blank);
        assert_eq!(classify("| a | b |"), Line::Row("| a | b |"));
        assert_eq!(classify("```rust"), Line::Fence('`', 3));
        assert_eq!(classify("```x``` inline"), Line::Text("```x``` inline"));
        assert_eq!(classify("{\"a\": 1,"), Line::Data("{\"a\": 1,"));
        assert_eq!(classify("[shared image: a cat]"), Line::Text("[shared image: a cat]"));
    }

    #[test]
    fn markup_goes_and_words_stay() {
        assert_eq!(plain("**Bold** and *soft*, `code`, ~~gone~~"), "Bold and soft, code, gone");
        assert_eq!(plain("see [the docs](http://x.org/a) now"), "see the docs now");
        assert_eq!(plain("![a cat](cat.png)!"), "a cat!");
        assert_eq!(plain("2 * 3 = 6, 4*5"), "2 * 3 = 6, 4*5");
        assert_eq!(plain("snake_case and __init__ and __loud words__"), "snake_case and __init__ and loud words");
        assert_eq!(plain("a\t\tb\u{7}c"), "a b c");
        assert_eq!(plain("\\*kept\\*"), "*kept*");
        assert_eq!(plain(r"a \| Ben: b\"), "a / Ben: b");
        assert_eq!(plain(r"C:\temp and \(x\)"), r"C:\temp and (x)");
    }

    #[test]
    fn data_becomes_keys_and_values() {
        assert_eq!(data(r#"{"name":"Ada \"A\"","age":36,"tags":["x","y"]}"#), "name: Ada \"A\", age: 36, tags: x, y");
        assert_eq!(data("},"), "");
    }
}
