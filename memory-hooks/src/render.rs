//! How views, recalled words and questions are written out for a model.

#[cfg(test)]
mod testing;
mod v1;
mod v2;

use std::ops::Range;

use memory_core::{Level, Node, NodeRange, Summary, SummaryId, Timestamp};

pub(crate) use self::v1::{bare_line, gap_line, message_line};
use crate::{Piece, PieceKind, Source, kept_out::Redactor};

/// How a context is written out. A view names its layout, so that what was shown can be shown again: whoever changes a
/// byte of what is written out makes another one, and keeps this one for the views that were recorded with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A line a piece.
    One,
    /// Dates, speakers, shared numbers; it is as late as the last message.
    Two,
    /// The same, and it is when the view was shown, as the caller said.
    TwoAsked,
}

impl Layout {
    /// The newest that is known.
    pub(crate) const NEWEST: Self = Self::TwoAsked;

    /// The one that new contexts are written in, where the caller says when it is, and where not.
    pub(crate) const fn for_question(asked_at: Option<Timestamp>) -> Self {
        if asked_at.is_some() { Self::TwoAsked } else { Self::Two }
    }

    /// Its number, as views record it.
    pub(crate) const fn version(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::TwoAsked => 3,
        }
    }

    pub(crate) fn of_version(version: u32) -> Option<Self> {
        [Self::One, Self::Two, Self::TwoAsked].into_iter().find(|layout| layout.version() == version)
    }

    /// Writes a context out: the parts of the history, those that are recalled, the question.
    pub(crate) fn write(self, parts: &[Part], tail: &Tail<'_>, count: &dyn Fn(&str) -> u32) -> Written {
        match self {
            Self::One => v1::write(parts, tail, count),
            Self::Two | Self::TwoAsked => v2::write(parts, tail, count),
        }
    }
}

pub(crate) const RECALL_LEAD: &str = "Earlier messages that bear on the question, word for word:";
/// It begins like the lead of what is recalled, which no text of the conversation may begin a line with.
pub(crate) const STANDING_LEAD: &str =
    "Earlier messages that bear on every answer, the newest where they contradict each other:";
pub(crate) const FENCE_OPEN: &str = "---Previous Context---";
pub(crate) const FENCE_CLOSE: &str = "---End Previous Context---";
pub(crate) const QUESTION: &str = "Current question: ";

/// A piece of a context before it is written out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) kind: PieceKind,
    pub(crate) nodes: NodeRange,
    pub(crate) source: Option<Source>,
    pub(crate) why: String,
    pub(crate) body: Body,
}

/// What a part says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// A message, word for word but for what is too long.
    Message(Box<Node>),
    /// A summary, struck of what must not be repeated, and when the first and the last of its messages were said.
    Summary { summary: Box<Summary>, from: Timestamp, to: Timestamp },
    /// Some bytes of a message's text, struck of what must not be repeated.
    Excerpt { node: Box<Node>, bytes: Range<usize>, text: String },
    /// Nothing: it cannot be read.
    Lost,
}

impl Part {
    /// A message word for word.
    pub(crate) fn message(kind: PieceKind, node: Node, why: String) -> Self {
        let (nodes, source) = (NodeRange::single(node.id), Some(Source::of(&node.message)));
        Self { kind, nodes, source, why, body: Body::Message(Box::new(node)) }
    }

    /// A line in the place of messages that cannot be read.
    pub(crate) fn lost(nodes: NodeRange, why: &str) -> Self {
        Self { kind: PieceKind::Lost, nodes, source: None, why: why.to_owned(), body: Body::Lost }
    }

    /// Some bytes of a message's text as a standing line; `None` where the text has no such part.
    pub(crate) fn standing(node: Node, bytes: Range<usize>, redactor: &Redactor, why: String) -> Option<Self> {
        let text = redactor.redact(node.message.text().get(bytes.clone())?);
        let (nodes, source) = (NodeRange::single(node.id), Some(Source::of(&node.message)));
        let body = Body::Excerpt { node: Box::new(node), bytes, text };
        Some(Self { kind: PieceKind::Standing, nodes, source, why, body })
    }

    fn summary(&self) -> Option<SummaryId> {
        match &self.body {
            Body::Summary { summary, .. } => Some(summary.id),
            Body::Message(_) | Body::Excerpt { .. } | Body::Lost => None,
        }
    }

    fn excerpt(&self) -> Option<Range<usize>> {
        match &self.body {
            Body::Excerpt { bytes, .. } => Some(bytes.clone()),
            Body::Message(_) | Body::Summary { .. } | Body::Lost => None,
        }
    }

    fn level(&self) -> Option<Level> {
        match &self.body {
            Body::Summary { summary, .. } => Some(summary.body.level),
            Body::Message(_) | Body::Excerpt { .. } | Body::Lost => None,
        }
    }

    /// The piece that it is, written out like this.
    fn piece(&self, text: String, count: &dyn Fn(&str) -> u32) -> Piece {
        Piece {
            kind: self.kind,
            nodes: Some(self.nodes),
            summary: self.summary(),
            excerpt: self.excerpt(),
            source: self.source,
            tokens: count(&text),
            why: self.why.clone(),
            text,
        }
    }
}

/// What stands behind the history and the recalled words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail<'a> {
    /// The question, as it was asked.
    pub(crate) question: &'a str,
    /// When it is: when the question was asked, or else when the last message was said.
    pub(crate) now: Timestamp,
}

/// What was written out.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The pieces with their text.
    pub(crate) pieces: Vec<Piece>,
    /// The whole text in parts, each of which ends with a line end, but for the last: so their tokens add up.
    pub(crate) lines: Vec<String>,
}

/// The lines of the history alone, in the layout that is written now.
pub(crate) fn history_lines(parts: &[Part]) -> Vec<String> {
    v2::history(parts)
}

/// The lines of standing lines alone.
pub(crate) fn standing_lines(parts: &[Part]) -> Vec<String> {
    v2::standing(parts)
}

/// What stands around recalled words, for what it costs.
pub(crate) fn recall_frame() -> String {
    format!("{RECALL_LEAD}\n{FENCE_OPEN}\n{FENCE_CLOSE}\n")
}

/// The question with what stands before it in any case, for what it costs.
pub(crate) fn question_lines(tail: &Tail<'_>) -> String {
    v2::question(tail, None)
}

/// Leaves a line empty.
fn end_line(lines: &mut [String]) {
    lines.iter_mut().next_back().into_iter().for_each(|last| last.push('\n'));
}

/// Everything that Unicode breaks a line at.
fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
