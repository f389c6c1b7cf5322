//! Messages of other conversations, each conversation under a heading.

use std::fmt::Write as _;

use memory_core::Timestamp;

use super::{Part, Writer, escape, offset, speakers};
use crate::render::{Elsewhere, is_line_break};

impl Writer<'_> {
    /// Writes messages of other conversations, those of one together.
    pub(super) fn elsewhere(&mut self, parts: &[Part]) {
        for (index, group) in parts.chunk_by(|a, b| a.conversation() == b.conversation()).enumerate() {
            let Some(elsewhere) = group.first().and_then(|part| part.elsewhere.as_ref()) else { continue };
            self.begin();
            self.offset = offset(group);
            self.mark = mark(index);
            self.above = heading(&self.mark, elsewhere, self.offset, group);
            self.write(group);
        }
    }
}

/// `A` to `Z`, then `AA`, `AB`, like the columns of a spreadsheet.
fn mark(index: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(index % 26).unwrap_or_default());
    match index / 26 {
        0 => letter.to_string(),
        more => mark(more - 1) + &letter.to_string(),
    }
}

/// `[Conversation A, "Trains"]: id trip, 2023-05-21 to 2023-06-02, speakers Anna (user), Ben (assistant)`.
///
/// The heading begins as the label of a message does, so that no line of a text can pass for it.
fn heading(mark: &str, elsewhere: &Elsewhere, offset: i32, group: &[Part]) -> String {
    let title = elsewhere.title.as_ref().map(|title| format!(", \"{}\"", escape(title))).unwrap_or_default();
    let id: String = elsewhere
        .conversation
        .as_str()
        .chars()
        .map(|c| if c.is_control() || is_line_break(c) { ' ' } else { c })
        .collect();
    let mut out = format!("[Conversation {mark}{title}]: id {}", escape(&id));
    let days = elsewhere.times.map(|at: Timestamp| at.civil(offset));
    let _ = match days {
        [Some(first), Some(last)] if !first.is_same_day(&last) => write!(out, ", {} to {}", first.date(), last.date()),
        [Some(day), _] | [_, Some(day)] => write!(out, ", {}", day.date()),
        [None, None] => Ok(()),
    };
    if let Some(speakers) = speakers(group) {
        let _ = write!(out, ", speakers {speakers}");
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_are_marked_by_letters() {
        assert_eq!(
            [0, 1, 25, 26, 27, 51, 52, 701, 702].map(mark),
            ["A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]
        );
    }
}
