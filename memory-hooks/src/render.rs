//! Rendering of views, recalled words and questions for a model.

mod excerpts;
#[cfg(test)]
mod forged;
mod marks;
#[cfg(test)]
mod testing;
mod written;

use std::{
    ops::Range,
    sync::{Arc, LazyLock},
};

use memory_core::{
    ConversationId, Level, Node, NodeId, NodeRange, NoteId, Role, Summary, SummaryId, Timestamp,
    text::{Look, lines},
};
use regex::Regex;

pub(crate) use self::{
    excerpts::{bare_line, dated_line, gap_line},
    marks::{escape_names, without_name},
};
use crate::{
    LedgerEntry, Piece, PieceKind, SourceClass, kept_out::Redactor, run_facts::RunFacts, snapshot_cache::Snapshot,
};

/// A layout of a prompt. A view names its layout, so that it can be shown again. Any change of the output, even by one
/// byte, needs a new layout, and the old one stays for the views that were recorded with it. Numbers below 8 were never
/// released; those from 12 on are sums of what holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout(u32);

/// Parts of a layout's number beyond [`Layout::QUESTION`].
const EXPANDS: u32 = 1;
const RUNNING: u32 = 2;
const SAYS_NONE: u32 = 4;
const NAMES_RULES: u32 = 8;
const WHOLE_SENTENCES: u32 = 16;
const STATES: u32 = 32;

impl Layout {
    const QUESTION: u32 = 12;
    /// The number of the newest layout.
    pub(crate) const NEWEST: u32 =
        Self::QUESTION + EXPANDS + RUNNING + SAYS_NONE + NAMES_RULES + WHOLE_SENTENCES + STATES;

    /// The layout of a prompt for a question. With `expands` the reader has a tool that gives whole messages.
    pub(crate) const fn for_question(expands: bool) -> Self {
        Self(Self::QUESTION + WHOLE_SENTENCES + if expands { EXPANDS } else { 0 })
    }

    /// The layout of a running agent's prompts: recalled words stand before the message of the user that they were
    /// recalled for, and a question only for a side question.
    pub(crate) const fn running(expands: bool) -> Self {
        Self(Self::for_question(expands).0 + RUNNING)
    }

    /// The same layout for a question that nothing bears on, which the prompt then says.
    pub(crate) const fn saying_none(self) -> Self {
        if self.has(SAYS_NONE) { self } else { Self(self.0 + SAYS_NONE) }
    }

    /// The same layout, for a reader that knows the line of [`Part::further_rule`], if `parts` have one.
    pub(crate) fn naming_rules(self, parts: &[Part]) -> Self {
        let is_new = !self.has(NAMES_RULES) && parts.iter().any(Part::is_further_rule);
        if is_new { Self(self.0 + NAMES_RULES) } else { self }
    }

    /// The same layout, whose lead of standing lines does not speak of instructions alone, if `parts` have others.
    pub(crate) fn stating(self, parts: &[Part]) -> Self {
        let is_new = !self.has(STATES) && parts.iter().any(Part::is_statement);
        if is_new { Self(self.0 + STATES) } else { self }
    }

    /// True if standing lines are not instructions alone.
    pub(crate) const fn states(self) -> bool {
        self.has(STATES)
    }

    const fn has(self, part: u32) -> bool {
        self.0 >= Self::QUESTION && (self.0 - Self::QUESTION) & part != 0
    }

    /// True for the layouts 8 to 11, of question and running prompts in turn, each without and with a time from the
    /// caller.
    pub(crate) const fn is_first(self) -> bool {
        self.0 < Self::QUESTION
    }

    /// True if recalled words may stand between messages.
    pub(crate) const fn is_running(self) -> bool {
        self.has(RUNNING) || matches!(self.0, 10 | 11)
    }

    /// True if the present is the time of the view, and not that of the last message.
    pub(crate) const fn asks_when(self) -> bool {
        !matches!(self.0, 8 | 10)
    }

    /// True if the reader has a tool that gives whole messages.
    pub(crate) const fn expands(self) -> bool {
        self.is_first() || self.has(EXPANDS)
    }

    /// True if texts are cut between sentences, not for a few tokens, and without the reminders of harnesses.
    pub(crate) const fn has_whole_sentences(self) -> bool {
        self.has(WHOLE_SENTENCES)
    }

    /// Number of the layout in recorded views.
    pub(crate) const fn version(self) -> u32 {
        self.0
    }

    pub(crate) fn of_version(version: u32) -> Option<Self> {
        (8..=Self::NEWEST).contains(&version).then_some(Self(version))
    }

    /// Writes a prompt: the parts of the history, the recalled parts, the question. In the layouts of a running agent
    /// recalled parts may stand between parts of the history, and an empty question is none.
    pub(crate) fn write(self, parts: &[Part], tail: &Tail<'_>, count: &dyn Fn(&str) -> u32) -> Written {
        if self.is_running() {
            written::write_running(self, parts, tail, count)
        } else {
            written::write(self, parts, tail, count)
        }
    }

    /// Only the recorded entries.
    pub(crate) fn entry_lines(self, parts: &[Part]) -> Vec<String> {
        written::entries(self, parts)
    }

    /// Only the standing lines.
    pub(crate) fn standing_lines(self, parts: &[Part]) -> Vec<String> {
        written::standing(self, parts)
    }
}

/// Longest speaker's name, in characters.
const LONGEST_NAME: usize = 64;

pub(crate) const RECALL_LEAD: &str = "Earlier messages that bear on the question, word for word:";
/// Lead of messages from other conversations, which begins like the lead of recalled words, too.
pub(crate) const ELSEWHERE_LEAD: &str = "Earlier messages that bear on the question, from other conversations, word for \
                                         word. \"Message A3\" is message 3 of conversation A. The same name there may be \
                                         another person:";
/// Leads of standing lines, the one of the first layouts last. They begin like the lead of recalled words, with which
/// no line of the conversation's text may begin.
pub(crate) const STANDING_LEAD: &str = "Earlier messages that bear on every answer: instructions of the user that still \
                                        hold, the newest where they contradict each other:";
pub(crate) const STATEMENTS_LEAD: &str =
    "Earlier messages that bear on the answer: rules, decisions and other statements that still hold:";
const FIRST_STANDING_LEAD: &str =
    "Earlier messages that bear on every answer, the newest where they contradict each other:";
/// Lead of recorded entries, protected in the same way.
const ENTRIES_LEAD: &str = "Earlier messages that bear on the question. What was recorded of them, and still holds:";
/// Lead of the numbers of rules that found no room, protected in the same way.
const FURTHER_LEAD: &str = "Earlier messages that bear on every answer. Further rules:";
/// The line in place of recalled words if there are none.
const NONE_RECALLED: &str = "Earlier messages that bear on the question: none but those above.";
pub(crate) const FENCE_OPEN: &str = "---Previous Context---";
pub(crate) const FENCE_CLOSE: &str = "---End Previous Context---";
pub(crate) const QUESTION: &str = "Current question: ";

/// Reason for showing a rule.
const RULE: &str = "standing: instruction";

/// Another conversation than the prompt's own, as its heading states it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elsewhere {
    pub(crate) conversation: ConversationId,
    /// Title as shown: on one line, of bounded length.
    pub(crate) title: Option<String>,
    /// Times of the first and the last message; a time may be unknown.
    pub(crate) times: [Timestamp; 2],
}

impl Elsewhere {
    pub(crate) fn new(conversation: ConversationId, title: Option<&str>, times: [Timestamp; 2]) -> Self {
        Self { conversation, title: title.and_then(written::title), times }
    }
}

/// A piece of a prompt before rendering.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) kind: PieceKind,
    /// Other conversation that the part was recalled from.
    pub(crate) elsewhere: Option<Arc<Elsewhere>>,
    pub(crate) nodes: NodeRange,
    pub(crate) source: Option<SourceClass>,
    pub(crate) reason: String,
    /// Later message that changes what a recalled one says.
    pub(crate) changed_by: Option<NodeId>,
    pub(crate) body: Body,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    /// A message, verbatim except for shortened parts.
    Message(Box<Node>),
    /// A summary without excluded content, the times of its first and last message, and the role that said its message
    /// if there is only one.
    Summary { summary: Box<Summary>, from: Timestamp, to: Timestamp, said_as: Option<Role> },
    /// A byte range of a message's text, without excluded content.
    Excerpt { node: Box<Node>, bytes: Range<usize>, text: String },
    /// A recorded entry of the ledger, without excluded content, and its note.
    Entry { entry: Box<LedgerEntry>, note: NoteId },
    /// Nothing, since the messages cannot be read.
    Lost,
    /// Nothing, since the manager leaves the messages out.
    Omitted,
    /// Nothing, since the messages are disabled.
    Disabled,
}

impl Part {
    /// A message verbatim.
    pub(crate) fn message(kind: PieceKind, node: Node, reason: String) -> Self {
        let (nodes, source) = (NodeRange::single(node.id), Some(SourceClass::of(&node.message)));
        Self { kind, elsewhere: None, nodes, source, reason, changed_by: None, body: Body::Message(Box::new(node)) }
    }

    /// A message recalled from another conversation.
    pub(crate) fn elsewhere(from: &Arc<Elsewhere>, node: Node, reason: String) -> Self {
        Self { elsewhere: Some(Arc::clone(from)), ..Self::message(PieceKind::Recalled, node, reason) }
    }

    /// The other conversation that the part was recalled from, if any.
    pub(crate) fn conversation(&self) -> Option<&ConversationId> {
        self.elsewhere.as_ref().map(|elsewhere| &elsewhere.conversation)
    }

    /// A line in place of messages that cannot be read.
    pub(crate) fn lost(nodes: NodeRange, reason: &str) -> Self {
        let reason = reason.to_owned();
        let kind = PieceKind::Lost;
        Self { kind, elsewhere: None, nodes, source: None, reason, changed_by: None, body: Body::Lost }
    }

    /// A line in place of messages that are left out.
    pub(crate) fn omitted(nodes: NodeRange, reason: &str) -> Self {
        Self { kind: PieceKind::Omitted, body: Body::Omitted, ..Self::lost(nodes, reason) }
    }

    /// A line in place of messages that are disabled.
    pub(crate) fn disabled(nodes: NodeRange, reason: &str) -> Self {
        Self { kind: PieceKind::Disabled, body: Body::Disabled, ..Self::lost(nodes, reason) }
    }

    /// A byte range of a message's text as a standing line; `None` if the text has no such part.
    pub(crate) fn standing(node: Node, bytes: Range<usize>, redactor: &Redactor, reason: String) -> Option<Self> {
        let text = redactor.redact(node.message.text().get(bytes.clone())?);
        Some(Self { kind: PieceKind::Standing, ..Self::excerpt_of(node, bytes, text, reason) })
    }

    /// A message with a rule that found no room, shown only by its number. No other standing line is empty.
    pub(crate) fn further_rule(node: Node) -> Self {
        let why = format!("{RULE}, by number");
        Self { kind: PieceKind::Standing, ..Self::excerpt_of(node, 0..0, String::new(), why) }
    }

    /// True for a standing line that is no instruction.
    fn is_statement(&self) -> bool {
        self.kind == PieceKind::Standing && !self.reason.starts_with(RULE)
    }

    fn is_further_rule(&self) -> bool {
        self.kind == PieceKind::Standing && self.excerpt().is_some_and(|bytes| bytes.is_empty())
    }

    /// A byte range of a recalled message's text; `None` if the text has no such part.
    pub(crate) fn recalled(node: Node, bytes: Range<usize>, reason: String) -> Option<Self> {
        let text = node.message.text().get(bytes.clone())?.to_owned();
        Some(Self::excerpt_of(node, bytes, text, reason))
    }

    fn excerpt_of(node: Node, bytes: Range<usize>, text: String, reason: String) -> Self {
        let (nodes, source) = (NodeRange::single(node.id), Some(SourceClass::of(&node.message)));
        let body = Body::Excerpt { node: Box::new(node), bytes, text };
        Self { kind: PieceKind::Recalled, elsewhere: None, nodes, source, reason, changed_by: None, body }
    }

    /// A recorded entry.
    pub(crate) fn entry(entry: LedgerEntry, note: NoteId, reason: String) -> Self {
        let nodes = entry.sources.first().copied().unwrap_or(NodeRange::single(NodeId::FIRST));
        let body = Body::Entry { entry: Box::new(entry), note };
        Self { kind: PieceKind::Entry, elsewhere: None, nodes, source: None, reason, changed_by: None, body }
    }

    fn summary(&self) -> Option<SummaryId> {
        match &self.body {
            Body::Summary { summary, .. } => Some(summary.id),
            _ => None,
        }
    }

    fn excerpt(&self) -> Option<Range<usize>> {
        match &self.body {
            Body::Excerpt { bytes, .. } => Some(bytes.clone()),
            _ => None,
        }
    }

    fn speaker(&self) -> Option<String> {
        match &self.body {
            Body::Message(node) | Body::Excerpt { node, .. } => Some(label(&node.message)),
            Body::Entry { entry, .. } => Some(entry.by.to_string()),
            Body::Summary { .. } | Body::Lost | Body::Omitted | Body::Disabled => None,
        }
    }

    pub(crate) fn times(&self) -> Option<[Timestamp; 2]> {
        let times = match &self.body {
            Body::Message(node) | Body::Excerpt { node, .. } => [node.at; 2],
            Body::Summary { from, to, .. } => [*from, *to],
            Body::Entry { entry, .. } => [entry.since?; 2],
            Body::Lost | Body::Omitted | Body::Disabled => return None,
        };
        Some(times).filter(|times| times.iter().all(|at| at.is_known()))
    }

    fn level(&self) -> Option<Level> {
        match &self.body {
            Body::Summary { summary, .. } => Some(summary.body.level),
            _ => None,
        }
    }

    /// The rendered piece.
    fn piece(&self, text: String, count: &dyn Fn(&str) -> u32) -> Piece {
        let entry = match &self.body {
            Body::Entry { entry, note } => Some((entry, *note)),
            _ => None,
        };
        Piece {
            kind: self.kind,
            conversation: self.conversation().cloned(),
            nodes: Some(self.nodes).filter(|_| entry.is_none_or(|(entry, _)| !entry.sources.is_empty())),
            summary: self.summary(),
            excerpt: self.excerpt(),
            entry: entry.map(|(entry, _)| entry.id),
            note: entry.map(|(_, note)| note),
            changed_by: self.changed_by,
            speaker: self.speaker(),
            times: self.times(),
            source: self.source,
            tokens: count(&text),
            reason: self.reason.clone(),
            text,
        }
    }
}

/// A summary as shown. Excluded content is removed here too, since a message, or one that repeats it, may have been
/// marked after it was summarized.
pub(crate) fn summary_part(
    snapshot: &Snapshot,
    redactor: &Redactor,
    mut summary: Summary,
    reason: impl Fn(&Summary) -> String,
) -> Part {
    let span = summary.body.span;
    let reason = reason(&summary);
    summary.body.text = redactor.redact(&summary.body.text);
    let RunFacts { from, to, source } = snapshot.run_facts.of(&snapshot.tree, span);
    let kind = PieceKind::Summary(summary.body.level);
    let said_as = said_as(snapshot, span);
    let body = Body::Summary { summary: Box::new(summary), from, to, said_as };
    Part { kind, elsewhere: None, nodes: span, source, reason, changed_by: None, body }
}

/// Role that said the one message of `span`, as far as its outline states it; `None` for several messages.
pub(crate) fn said_as(snapshot: &Snapshot, span: NodeRange) -> Option<Role> {
    let outline = snapshot.tree.node(span.first()).filter(|_| span.count() == 1)?;
    Some(if SourceClass::of_outline(outline) == SourceClass::Tool { Role::Tool } else { outline.role })
}

/// The present if the caller gave none: the last time in the shown conversations.
pub(crate) fn present(own: Timestamp, parts: &[Part]) -> Timestamp {
    let others = parts.iter().filter_map(|part| part.elsewhere.as_ref()).flat_map(|from| from.times);
    others.fold(own, Timestamp::max)
}

/// The end of a prompt, after the history and the recalled words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail<'a> {
    /// The question, verbatim.
    pub(crate) question: &'a str,
    /// The present: the time of the question, or else of the last message.
    pub(crate) now: Timestamp,
}

/// The rendered output.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The pieces with their text.
    pub(crate) pieces: Vec<Piece>,
    /// The whole text in parts. Each ends with a line end, except the last, so that their tokens add up.
    pub(crate) lines: Vec<String>,
}

/// The lines around recalled words, to count their cost.
pub(crate) fn recall_frame() -> String {
    format!("{RECALL_LEAD}\n{FENCE_OPEN}\n{FENCE_CLOSE}\n")
}

/// The lines around words recalled from other conversations, to count their cost.
pub(crate) fn elsewhere_frame() -> String {
    format!("\n{ELSEWHERE_LEAD}\n{FENCE_OPEN}\n{FENCE_CLOSE}\n")
}

/// Text of the conversation as data, in the newest layout.
pub(crate) fn escape(text: &str) -> String {
    written::escape(text)
}

/// Text of the conversation as data in a reminder: nothing in it can pose as a line of a prompt, of the reminder, or of
/// those that a hook puts around it.
pub(crate) fn escape_in_reminder(text: &str) -> String {
    escape_lines(text, &REMINDER)
}

static REMINDER: LazyLock<Regex> = LazyLock::new(|| {
    let sections = r"goal\s*:|rules\s*:|decided\s*:|open\s*:|about\s*:|last\s+exchange\s*:|where\s[^\n]*stood\s+after";
    let item = r"-{1,2}\s[^\n]*\(\s*message\s+\d";
    let around = r"to\s+look\s+up|more\s*:|notes\s+(?:from|of)|an\s+earlier\s+session|this\s+session|`?memory`?\s+has";
    own_lines(&format!("{}|{sections}|{item}|{around}", written::MARKS))
});

/// Text of a conversation as data for a model: nothing in it can pose as a fence or a label of the layout, and
/// invisible characters are escaped.
#[must_use]
pub fn quoted(text: &str) -> String {
    lines(&escape(text)).into_owned()
}

/// Quoted lines between the fences that set recalled words apart in every prompt.
#[must_use]
pub fn fenced(inside: &str) -> String {
    format!("{FENCE_OPEN}\n{}\n{FENCE_CLOSE}", inside.trim_end_matches('\n'))
}

/// Label of the speaker.
pub(crate) fn label(message: &memory_core::Message) -> String {
    written::label(message)
}

/// The question with the lines that precede it in a prompt of `parts`, to count their cost.
pub(crate) fn question_lines(tail: &Tail<'_>, parts: &[Part]) -> String {
    written::question(tail, parts)
}

/// Escapes text of the conversation, which is data: a backslash precedes text that looks like `own`, the layout's own
/// lines: a fence anywhere, any other at the beginning of a line.
///
/// A text is read by its look, so that full-width signs, other dashes and other alphabets disguise nothing.
fn escape_lines(text: &str, own: &Regex) -> String {
    let look = Look::of(text);
    let marks =
        own.captures_iter(look.text()).filter_map(|found| found.name("mark").or_else(|| found.name("anywhere")));
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut written = 0;
    for mark in marks.map(|mark| look.place(mark.start())) {
        escaped.push_str(text.get(written..mark).unwrap_or_default());
        escaped.push('\\');
        written = mark;
    }
    escaped.push_str(text.get(written..).unwrap_or_default());
    escaped
}

/// A layout's own lines, those that `marks` begins and those that all have, for a reader who ignores case, spaces and
/// invisible characters.
#[expect(clippy::expect_used, reason = "constant patterns, compiled by tests")]
fn own_lines(marks: &str) -> Regex {
    let line_breaks = r"\n\x0b\x0c\r\x{85}\x{2028}\x{2029}";
    let lead = r"earlier\s+messages\s+that\s+bear\s+on|conversation\s+so\s+far,";
    let fence = r"-{2,}\s*(?:end\s*)?previous\s+context";
    let pattern = format!(
        r"(?i)(?P<before>(?:^|[{line_breaks}])[\s\p{{C}}]*)(?P<mark>{marks}|{lead}|{fence})|(?P<anywhere>{fence})"
    );
    Regex::new(&pattern).expect("the pattern is valid")
}

/// Ends the last line.
fn end_line(lines: &mut [String]) {
    lines.iter_mut().next_back().into_iter().for_each(|last| last.push('\n'));
}

/// Every character at which Unicode breaks a line.
fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
