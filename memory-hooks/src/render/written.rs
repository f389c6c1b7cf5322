//! Text of the layouts: dates where the day or the session changes, speakers on every message, numbers shared by runs.

mod elsewhere;

use std::{fmt::Write as _, ops::Range, sync::LazyLock};

use memory_core::{Json, Level, Message, Node, NodeId, NodeRange, Role, Timestamp, time::Civil};
use regex::Regex;

use super::{
    Body, ELSEWHERE_LEAD, ENTRIES_LEAD, FENCE_CLOSE, FENCE_OPEN, FIRST_STANDING_LEAD, FURTHER_LEAD, LONGEST_NAME,
    Layout, NONE_RECALLED, Part, QUESTION, RECALL_LEAD, SAYS_NONE, STANDING_LEAD, STATEMENTS_LEAD, Tail, Written,
    end_line, escape_lines, is_line_break, marks, own_lines,
};
use crate::{EntryId, LedgerEntry, Piece, PieceKind};

const VERBATIM_LEAD: &str = "Conversation so far, oldest first, word for word. A message without a number follows the one \
                             before it.";
const FIRST_SUMMARIZED_LEAD: &str = "Conversation so far, oldest first. \"Messages 3-40: …\" stands for those messages by parts of \
                               them, … for what is left out; expand_node(N) gives message N word for word. A message \
                               without a number follows the one before it.";

const SUMMARIZED_LEAD: &str = "Conversation so far, oldest first. A line that begins with \"Messages 3-40\" sums up those \
                               messages. A message without a number follows the one before it.";
const EXPANDED_LEAD: &str = "Conversation so far, oldest first. A line that begins with \"Messages 3-40\" sums up those \
                             messages; expand_node(N) gives message N word for word. A message without a number follows \
                             the one before it.";

/// Messages whose number is a multiple of this always show it, so that a reader need not count far.
const NUMBERED: u64 = 5;
/// A pause after which the time of day is shown again, in milliseconds.
const PAUSE: u64 = 30 * 60 * 1_000;
/// Most SUMMARYs in one line, and the longest that are joined, in characters.
const JOINED: usize = 8;
const SHORT: usize = 160;
/// Importance from which a SUMMARY is marked.
const IMPORTANT: f32 = 0.8;
/// Most speakers that are listed with their roles.
const SPEAKERS: usize = 12;

/// Renders a prompt.
pub(super) fn write(layout: Layout, parts: &[Part], tail: &Tail<'_>, count: &dyn Fn(&str) -> u32) -> Written {
    // Parts of other conversations come last and do not change the text before them.
    let (parts, elsewhere) = parts.split_at(parts.partition_point(|part| part.elsewhere.is_none()));
    let (history, beside) = parts.split_at(parts.partition_point(|part| part.kind.is_history()));
    let [standing, entries, recalled] = sections(beside);
    let offset = offset(parts);
    let mut writer = Writer::new(layout, offset, count);
    writer.lines.push(lead(layout, history));
    writer.write(history);
    for (lead, lines) in [(standing_lead(layout), standing), (ENTRIES_LEAD, entries)] {
        if !lines.is_empty() {
            end_line(&mut writer.lines);
            writer.lines.push(format!("{lead}\n"));
            writer.write(lines);
        }
    }
    if layout.has(SAYS_NONE) {
        end_line(&mut writer.lines);
        writer.lines.push(format!("{NONE_RECALLED}\n"));
    }
    if !recalled.is_empty() {
        end_line(&mut writer.lines);
        writer.lines.push(format!("{RECALL_LEAD}\n{FENCE_OPEN}\n"));
        writer.begin();
        writer.write(recalled);
        writer.lines.push(format!("{FENCE_CLOSE}\n"));
    }
    if !elsewhere.is_empty() {
        end_line(&mut writer.lines);
        writer.lines.push(format!("{ELSEWHERE_LEAD}\n{FENCE_OPEN}\n"));
        writer.elsewhere(elsewhere);
        writer.lines.push(format!("{FENCE_CLOSE}\n"));
    }
    end_line(&mut writer.lines);
    let question = question(tail, parts);
    writer.lines.push(question.clone());
    writer.pieces.push(Piece::question(question, count));
    Written { pieces: writer.pieces, lines: writer.lines }
}

/// Renders a prompt of a running agent, whose parts stand in the order of time: words recalled for a message stand
/// before it.
pub(super) fn write_running(layout: Layout, parts: &[Part], tail: &Tail<'_>, count: &dyn Fn(&str) -> u32) -> Written {
    let mut writer = Writer::new(layout, offset(parts), count);
    writer.lines.push(lead(layout, parts));
    for run in parts.chunk_by(|a, b| a.kind.is_history() == b.kind.is_history()) {
        if run.first().is_some_and(|part| part.kind.is_history()) {
            writer.write(run);
        } else {
            writer.beside(run);
        }
    }
    if !tail.question.is_empty() {
        end_line(&mut writer.lines);
        let question = question(tail, parts);
        writer.lines.push(question.clone());
        writer.pieces.push(Piece::question(question, count));
    }
    Written { pieces: writer.pieces, lines: writer.lines }
}

/// Only the standing lines, with the lines around them.
pub(super) fn standing(layout: Layout, parts: &[Part]) -> Vec<String> {
    below(layout, standing_lead(layout), parts)
}

/// Only the recorded entries, with the lines around them.
pub(super) fn entries(layout: Layout, parts: &[Part]) -> Vec<String> {
    below(layout, ENTRIES_LEAD, parts)
}

fn below(layout: Layout, lead: &str, parts: &[Part]) -> Vec<String> {
    let mut writer = Writer::new(layout, offset(parts), &|_| 0);
    writer.lines.push(format!("\n{lead}\n"));
    writer.write(parts);
    writer.lines
}

/// Standing lines, recorded entries and recalled messages, in this order in `parts`.
fn sections(parts: &[Part]) -> [&[Part]; 3] {
    let (standing, rest) = parts.split_at(parts.partition_point(|part| part.kind == PieceKind::Standing));
    let (entries, recalled) = rest.split_at(rest.partition_point(|part| part.kind == PieceKind::Entry));
    [standing, entries, recalled]
}

fn lead(layout: Layout, history: &[Part]) -> String {
    let is_summarized = history.iter().any(|part| matches!(part.body, Body::Summary { .. }));
    let lead = match (is_summarized, layout.is_first(), layout.expands()) {
        (false, ..) => VERBATIM_LEAD,
        (true, true, _) => FIRST_SUMMARIZED_LEAD,
        (true, false, true) => EXPANDED_LEAD,
        (true, false, false) => SUMMARIZED_LEAD,
    };
    format!("{lead}\n")
}

fn standing_lead(layout: Layout) -> &'static str {
    match layout {
        _ if layout.is_first() => FIRST_STANDING_LEAD,
        _ if layout.states() => STATEMENTS_LEAD,
        _ => STANDING_LEAD,
    }
}

/// The question, preceded by the roles of the speakers in `parts` and the present time.
pub(super) fn question(tail: &Tail<'_>, parts: &[Part]) -> String {
    let mut out = String::new();
    if let Some(speakers) = speakers(parts) {
        let _ = writeln!(out, "[Speakers: {speakers}]");
    }
    if let Some(now) = tail.now.civil(offset(parts)) {
        let _ = writeln!(out, "[Now: {now}]");
    }
    let _ = write!(out, "{QUESTION}{}", tail.question);
    out
}

/// `Anna (user), Ben (assistant)`, where names do not show the role.
fn speakers(parts: &[Part]) -> Option<String> {
    let mut cast: Vec<(String, Role)> = Vec::new();
    for part in parts {
        let Body::Message(node) = &part.body else { continue };
        let (Some(_), role) = (&node.message.speaker, node.message.said_as()) else { continue };
        let entry = (label(&node.message), role);
        if !cast.contains(&entry) && entry.0 != role.as_str() {
            cast.push(entry);
        }
    }
    let (_, first) = cast.first()?;
    let is_telling = cast.len() <= SPEAKERS && cast.iter().any(|(_, role)| role != first);
    let names = cast.iter().map(|(name, role)| format!("{name} ({role})"));
    is_telling.then(|| names.collect::<Vec<_>>().join(", "))
}

/// The first UTC offset of a message, for messages without one.
fn offset(parts: &[Part]) -> i32 {
    let own = |part: &Part| match &part.body {
        Body::Message(node) => node.message.utc_offset(),
        _ => None,
    };
    parts.iter().find_map(own).unwrap_or_default()
}

struct Writer<'a> {
    layout: Layout,
    offset: i32,
    count: &'a dyn Fn(&str) -> u32,
    pieces: Vec<Piece>,
    lines: Vec<String>,
    /// The last node that was written.
    last: Option<NodeId>,
    dated: Option<Dated>,
    /// Letters before the number of each message of another conversation; empty for the prompt's own.
    mark: String,
    /// The heading of a conversation, to stand above its first message.
    above: String,
}

/// The current day and session.
#[derive(Clone, Debug)]
struct Dated {
    day: Civil,
    at: Timestamp,
    session: Option<Json>,
}

impl<'a> Writer<'a> {
    fn new(layout: Layout, offset: i32, count: &'a dyn Fn(&str) -> u32) -> Self {
        let (pieces, lines, mark, above) = Default::default();
        Self { layout, offset, count, pieces, lines, last: None, dated: None, mark, above }
    }

    /// Forgets the current heading.
    fn begin(&mut self) {
        (self.last, self.dated) = (None, None);
    }

    fn write(&mut self, parts: &[Part]) {
        let mut rest = parts;
        while let Some((part, behind)) = rest.split_first() {
            rest = behind;
            match &part.body {
                Body::Message(node) => self.message(part, node),
                Body::Summary { summary, .. } if summary.body.level == Level::Summary => {
                    let joined = behind.iter().zip(std::iter::once(part).chain(behind));
                    let joined = joined.take_while(|(next, before)| self.joins(before, next)).take(JOINED - 1).count();
                    let (more, behind) = behind.split_at(joined);
                    rest = behind;
                    self.summaries(part, more);
                }
                Body::Summary { from, to, .. } => self.merged(part, *from, *to),
                Body::Excerpt { .. } if part.is_further_rule() => {
                    let more = behind.iter().take_while(|next| next.is_further_rule()).count();
                    let (more, behind) = behind.split_at(more);
                    rest = behind;
                    self.further_rules(part, more);
                }
                Body::Excerpt { node, bytes, text } => self.excerpt(part, node, bytes, text),
                Body::Entry { entry, .. } => self.entry(part, entry),
                Body::Lost => self.gap(part, "lost"),
                Body::Omitted => self.gap(part, "not shown"),
                Body::Disabled => self.gap(part, "disabled"),
            }
        }
    }

    /// A line that gives the reason for missing messages.
    fn gap(&mut self, part: &Part, why: &str) {
        self.last = None;
        self.line(part, format!("[{}: {why}]\n", capitalized(part.nodes)));
    }

    /// Standing lines and recalled messages between messages of the history, which keeps its day.
    fn beside(&mut self, parts: &[Part]) {
        let dated = self.dated.take();
        let [standing, entries, recalled] = sections(parts);
        for (lead, lines) in [(standing_lead(self.layout), standing), (ENTRIES_LEAD, entries)] {
            if !lines.is_empty() {
                self.lines.push(format!("{lead}\n"));
                self.write(lines);
            }
        }
        if !recalled.is_empty() {
            self.lines.push(format!("{RECALL_LEAD}\n{FENCE_OPEN}\n"));
            self.begin();
            self.write(recalled);
            self.lines.push(format!("{FENCE_CLOSE}\n"));
        }
        (self.last, self.dated) = (None, dated);
    }

    fn line(&mut self, part: &Part, text: String) {
        self.pieces.push(part.piece(text.clone(), self.count));
        self.lines.push(text);
    }

    fn message(&mut self, part: &Part, node: &Node) {
        let mut text = self.labelled(part, node);
        text.push_str(&escape(&node.message.text()));
        text.push('\n');
        self.line(part, text);
    }

    /// The label of a message, below its day if that changes. Every recalled message has its number, so that a reader
    /// can cite it.
    fn labelled(&mut self, part: &Part, node: &Node) -> String {
        let session = node.message.metadata.get("session").cloned();
        let day = self.heading(node.at, node.message.utc_offset(), session);
        let mut text = std::mem::take(&mut self.above) + &day;
        let follows = text.is_empty() && self.last.is_some_and(|last| last.next() == node.id);
        let is_cited = !self.layout.is_first() && part.kind == PieceKind::Recalled;
        let mut name = label(&node.message);
        if let Some(by) = part.changed_by {
            let _ = write!(name, "; changed by message {by}");
        }
        if !follows || is_cited || node.id.get().is_multiple_of(NUMBERED) {
            let _ = write!(text, "[Message {}{}, {name}]: ", self.mark, node.id);
        } else {
            let _ = write!(text, "[{name}]: ");
        }
        self.last = Some(node.id);
        text
    }

    /// A line for the day and the time of day, if they differ from the current heading.
    fn heading(&mut self, at: Timestamp, offset: Option<i32>, session: Option<Json>) -> String {
        let Some(day) = at.civil(offset.unwrap_or(self.offset)) else { return String::new() };
        let is_same = self.dated.as_ref().is_some_and(|above| {
            let pause = above.at.as_millis().abs_diff(at.as_millis());
            // The session of a summary is unknown.
            let goes_on = above.session.is_none() || session.is_none() || above.session == session;
            above.day.is_same_day(&day) && pause < PAUSE && goes_on
        });
        let session = session.or_else(|| self.dated.take().and_then(|above| above.session));
        self.dated = Some(Dated { day, at, session });
        if is_same { String::new() } else { format!("[{day}]\n") }
    }

    /// `[Message 12, tool]: … Mia, Graz, 4711 …`, below its day.
    fn recalled_excerpt(&mut self, part: &Part, node: &Node, bytes: &Range<usize>, text: &str) {
        let label = self.labelled(part, node);
        let opens = if bytes.start > 0 { "… " } else { "" };
        let closes = if bytes.end < node.message.text().len() { " …" } else { "" };
        self.line(part, format!("{label}{opens}{}{closes}\n", escape(text.trim_end_matches('\n'))));
    }

    /// `[Message 12, Anna, 2023-05-21]: …I prefer the train…`.
    fn excerpt(&mut self, part: &Part, node: &Node, bytes: &Range<usize>, text: &str) {
        if part.kind == PieceKind::Recalled {
            return self.recalled_excerpt(part, node, bytes, text);
        }
        let day = node.at.civil(node.message.utc_offset().unwrap_or(self.offset));
        let day = day.map(|day| format!(", {}", day.date())).unwrap_or_default();
        let said = node.message.text();
        let [before, behind] = [said.get(..bytes.start), said.get(bytes.end..)].map(Option::unwrap_or_default);
        let stands = |c: char| c.is_alphanumeric() || matches!(c, ',' | ';' | '(' | '—' | '–');
        let [before, behind] = [before.trim_end_matches(' '), behind.trim_start_matches(' ')];
        let opens = if before.ends_with(stands) { "…" } else { "" };
        let is_cut = !text.ends_with(['.', '!', '?']) && behind.starts_with(stands);
        let closes = if is_cut { "…" } else { "" };
        let name = label(&node.message);
        self.line(part, format!("[Message {}, {name}{day}]: {opens}{}{closes}\n", node.id, escape(text)));
    }

    /// `[Fact e7, person Ana, 2026-03-05, from message 2, in place of message 1]: The cat is eleven.`
    fn entry(&mut self, part: &Part, entry: &LedgerEntry) {
        let joined = |what: &str, all: Vec<String>| (!all.is_empty()).then(|| format!("{what} {}", all.join(", ")));
        let day = |at: Option<Timestamp>| Some(at?.civil(self.offset)?.date());
        let replaced = |before: &EntryId| match before {
            EntryId::Said { node, .. } => format!("message {node}"),
            EntryId::Recorded(_) => before.to_string(),
        };
        let label = [
            Some(format!("{} {}", capital(entry.kind.as_str()), entry.id)),
            Some(plain(&entry.by.to_string()).trim().to_owned()),
            day(entry.since),
            day(entry.until).map(|day| format!("until {day}")),
            joined("from message", entry.sources.iter().map(ToString::to_string).collect()),
            joined("in place of", entry.replaces.iter().map(replaced).collect()),
        ];
        let label = label.into_iter().flatten().collect::<Vec<_>>().join(", ");
        self.last = None;
        self.line(part, format!("[{label}]: {}\n", escape(&entry.text)));
    }

    /// `Further rules: messages 12, 40, 77.`, below the lead of all standing lines.
    fn further_rules(&mut self, first: &Part, more: &[Part]) {
        let unit = if more.is_empty() { "message" } else { "messages" };
        let mut line = String::new();
        let mut text = format!("{FURTHER_LEAD} {unit} ");
        for (index, part) in std::iter::once(first).chain(more).enumerate() {
            let end = if index == more.len() { ".\n" } else { ", " };
            let _ = write!(text, "{}{end}", part.nodes.first());
            line.push_str(&text);
            self.pieces.push(part.piece(std::mem::take(&mut text), self.count));
        }
        self.lines.push(line);
    }

    /// True if the SUMMARY of a message joins the line of the one before it.
    fn joins(&self, before: &Part, next: &Part) -> bool {
        let (Body::Summary { summary: a, from: earlier, .. }, Body::Summary { summary: b, from: later, .. }) =
            (&before.body, &next.body)
        else {
            return false;
        };
        let [a_day, b_day] = [earlier, later].map(|at| at.civil(self.offset));
        let is_short = |text: &str| text.chars().nth(SHORT).is_none();
        let is_same_day = match (a_day, b_day) {
            (Some(a), Some(b)) => a.is_same_day(&b),
            (None, None) => true,
            _ => false,
        };
        let are_short = [a, b].iter().all(|summary| is_short(&summary.body.text));
        next.level() == Some(Level::Summary) && before.nodes.is_followed_by(next.nodes) && is_same_day && are_short
    }

    /// `Messages 3-4: 3 Anna: … | 4 Ben: … (62 lines)`.
    fn summaries(&mut self, first: &Part, more: &[Part]) {
        let all = || std::iter::once(first).chain(more);
        let mut text = match &first.body {
            Body::Summary { from, .. } => self.heading(*from, None, None),
            _ => String::new(),
        };
        let nodes = more.last().map_or(first.nodes, |last| first.nodes.hull(last.nodes));
        let lines = |part: &Part| match &part.body {
            Body::Summary { summary, .. } => summary.body.metadata.line_count,
            _ => 0,
        };
        let lines: u64 = all().map(lines).sum();
        let _ = write!(text, "{}: ", capitalized(nodes));
        let mut line = String::new();
        let count = more.len();
        for (index, part) in all().enumerate() {
            if let Body::Summary { summary, said_as, .. } = &part.body {
                if summary.body.metadata.importance >= IMPORTANT {
                    text.push_str("[IMPORTANT] ");
                }
                if count > 0 {
                    let _ = write!(text, "{} ", part.nodes.first());
                }
                text.push_str(&told(&summary.body.text, *said_as));
            }
            text.push_str(&if index < count { " | ".to_owned() } else { format!(" ({})\n", counted(lines)) });
            line.push_str(&text);
            self.pieces.push(part.piece(std::mem::take(&mut text), self.count));
        }
        self.lines.push(line);
        self.last = Some(nodes.last());
    }

    /// `Messages 7-40 (2023-05-21 to 2023-06-02, 128 lines): …`.
    fn merged(&mut self, part: &Part, from: Timestamp, to: Timestamp) {
        let Body::Summary { summary, .. } = &part.body else { return };
        let days = [from, to].map(|at| at.civil(self.offset));
        let days = match days {
            [Some(from), Some(to)] if !from.is_same_day(&to) => format!("{} to {}, ", from.date(), to.date()),
            [Some(day), _] | [_, Some(day)] => format!("{}, ", day.date()),
            [None, None] => String::new(),
        };
        let lines = counted(summary.body.metadata.line_count);
        let told = marks::escape_importance(&escape(&summary.body.text));
        let text = format!("{} ({days}{lines}): {told}\n", capitalized(part.nodes));
        self.begin();
        self.line(part, text);
    }
}

/// The text of the summary of one message, on one line, beginning with a speaker: the name that it begins with, or else
/// the role that said the message.
fn told(text: &str, said_as: Option<Role>) -> String {
    let text = text.split(is_line_break).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let text = escape(&marks::escape_importance(&marks::escape_names(&text)));
    match said_as {
        Some(role) if !marks::begins_with_name(&text) => format!("{}: {text}", role_label(role)),
        _ => text,
    }
}

fn counted(lines: u64) -> String {
    format!("{lines} {}", if lines == 1 { "line" } else { "lines" })
}

/// A word with a capital.
fn capital(word: &str) -> String {
    word.chars().next().map(|first| first.to_uppercase().chain(word.chars().skip(1)).collect()).unwrap_or_default()
}

/// `Message 7`, `Messages 7-12`.
fn capitalized(nodes: NodeRange) -> String {
    format!("{} {nodes}", if nodes.count() == 1 { "Message" } else { "Messages" })
}

/// A name on one line that cannot close its bracket. Only the application has the system role: earlier instructions are
/// shown as data, and a name that equals another role is marked as a name.
pub(super) fn label(message: &Message) -> String {
    let said_as = message.said_as();
    let role = role_label(said_as);
    let Some(speaker) = &message.speaker else { return role.to_owned() };
    let name = plain(speaker);
    let name = name.trim();
    let roles = [Role::User, Role::Assistant, Role::System, Role::Tool].map(Role::as_str);
    let is_role = roles.iter().any(|other| name.eq_ignore_ascii_case(other));
    match name {
        "" => role.to_owned(),
        name if is_role && name != said_as.as_str() => format!("{role} named {name}"),
        name => name.to_owned(),
    }
}

fn role_label(role: Role) -> &'static str {
    match role {
        Role::System => "earlier instructions",
        role => role.as_str(),
    }
}

/// A name on one line, without brackets, of at most [`LONGEST_NAME`] characters.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_control() || is_line_break(c) || matches!(c, '[' | ']') { ' ' } else { c };
    let mut out: String = name.chars().take(LONGEST_NAME).map(plain).collect();
    if name.chars().nth(LONGEST_NAME).is_some() {
        out.push('…');
    }
    out
}

/// The title of a conversation as shown; `None` if nothing of it is visible.
pub(super) fn title(title: &str) -> Option<String> {
    let title = plain(title).trim().to_owned();
    (!title.is_empty()).then_some(title)
}

/// Text of the conversation as data.
pub(super) fn escape(text: &str) -> String {
    escape_lines(text, &LAYOUT)
}

/// The beginnings of lines: labels, the question, summaries.
pub(super) const MARKS: &str = concat!(
    r"\[[^\]\n]{1,160}\]\s*:|\[\s*(?:messages?\s+\d|now\s*:|speakers\s*:|(?:mon|tues|wednes|thurs|fri|satur|sun)day\s+\d)|",
    r"current\s+question\s*:|messages?\s+\d[\d\s-]*(?:\([^)\n]{0,80}\)\s*)?:",
);

static LAYOUT: LazyLock<Regex> = LazyLock::new(|| own_lines(MARKS));

#[cfg(test)]
mod tests;
