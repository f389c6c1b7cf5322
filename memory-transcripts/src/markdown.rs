//! Plain transcripts: a heading or a label for each speaker, in Markdown or in plain text.

mod speaker;

use memory_core::{ConversationId, Json, Message, Role, Timestamp, text::one_line};

use crate::{
    Conversation, TranscriptError,
    dates::{DateOrder, WrittenDate},
    members::by_model,
    names::{Chain, conversation_id},
    out::ItemQueue,
    reader::FormatReader,
    records::RecordPlace,
};
pub(crate) use speaker::answers;
use speaker::{Line, Named, line, named};

/// Reader of such files.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    name: String,
    conversation: Option<ConversationId>,
    /// Conversation of the subagents.
    side: Option<ConversationId>,
    title: Option<String>,
    /// Time in the title, for messages without one.
    began: Option<Timestamp>,
    chain: Chain,
    /// Speaker and text of the current message.
    current: Option<(Named, String)>,
    /// Messages that are complete, and not emitted yet.
    held: Vec<(Named, String)>,
    /// Fence of the open code block, within which no line is a heading.
    fence: Option<String>,
    /// The first speaker's line; all speakers are named in its style.
    first: Option<(Line, Named)>,
    /// Roles that have spoken, each with the first line that names it.
    roles: Vec<(Role, Line)>,
    /// All lines so far, until a second side speaks.
    lines: Vec<(String, u64)>,
    /// True if the sides are named in headings of different levels.
    has_levels: bool,
    /// Lines that may name a speaker but were read as text, with their line numbers.
    doubtful: Vec<(Line, u64)>,
    /// Number of lines before the first speaker.
    before: u64,
    /// True after a line of a header.
    in_header: bool,
    /// Dates of the header.
    dates: Vec<WrittenDate>,
}

/// Maximum lines before the first speaker of a file that is recognized.
const MOST_BEFORE: u64 = 20;
/// Maximum doubtful lines that are kept.
const MOST_DOUBTFUL: usize = 64;
/// Metadata member of a message with the words next to the speaker's name.
const HEADING: &str = "heading";
/// Members by which the header of an export of ChatGPT is recognized; it also names the user.
const HEADER: [&str; 4] = ["created", "updated", "exported", "link"];

impl Markdown {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The speaker that a line names, if it is in the style of the first one.
    fn speaker(&mut self, text: &str, number: u64) -> Option<(Named, String)> {
        let line = line(text).filter(|_| self.fence.is_none())?;
        let of_first = |first: &(Line, Named)| first.0.is_like(&line);
        let known = named(&line).filter(|known| match &self.first {
            Some(first) => {
                let own = self.roles.iter().find(|(role, _)| *role == known.role).map(|(_, line)| line);
                let is_like = match own.filter(|_| self.has_levels) {
                    Some(own) => own.is_like(&line),
                    None => of_first(first) || self.has_levels && line.is_heading() && is_side(known.role),
                };
                is_like && first.1.is_pair == known.is_pair
            }
            None => true,
        });
        let Some(known) = known else {
            if self.doubtful.len() < MOST_DOUBTFUL {
                self.doubtful.push((line, number));
            }
            return None;
        };
        let rest = line.rest.clone();
        if self.roles.iter().all(|(role, _)| *role != known.role) {
            self.roles.push((known.role, line.clone()));
        }
        self.first.get_or_insert_with(|| (line, known.clone()));
        Some((known, rest))
    }

    fn speaks(&self, role: Role) -> bool {
        self.roles.iter().any(|(known, _)| *known == role)
    }

    /// True until both a person and the model have spoken.
    fn is_one_sided(&self) -> bool {
        !self.speaks(Role::User) || !self.speaks(Role::Assistant)
    }

    /// True if the line is one of a header; what it says of the user was then read as a message.
    fn is_header(&mut self, text: &str) -> bool {
        let Some(line) = line(text).filter(|_| self.fence.is_none()) else { return false };
        let Some((name, value)) = line.bold_member() else { return false };
        let is_first = match &self.current {
            // A name and a word in one line, and nothing between it and this line.
            Some((_, said)) => {
                let by_line = self.first.as_ref().is_some_and(|(first, _)| first.bold_member().is_some());
                self.roles.len() == 1 && self.held.is_empty() && by_line && !said.contains('\n')
            }
            None => true,
        };
        let goes_on = self.in_header && self.current.is_none();
        if !is_first || !goes_on && !HEADER.contains(&name.as_str()) {
            return false;
        }
        let date = WrittenDate::read(value).and_then(|(date, half)| date.in_half(half));
        self.dates.extend(date);
        if self.current.take().is_some() {
            (self.first, self.before) = (None, self.before + 1);
            self.roles.clear();
        }
        true
    }

    /// A line that may name the other speaker, if only one side has spoken.
    fn other_speaker(&self) -> Option<&(Line, u64)> {
        let (first, _) = self.first.as_ref()?;
        if self.speaks(Role::User) == self.speaks(Role::Assistant) {
            return None;
        }
        self.doubtful.iter().find(|(line, _)| line.is_like(first) || named(line).is_some())
    }

    /// Reads a line, and holds the message that it ends.
    fn line(&mut self, line: &str, number: u64) {
        if self.is_one_sided() {
            self.lines.push((line.to_owned(), number));
        }
        let marker: String = line.trim_start().chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &self.fence {
            Some(fence) if marker.starts_with(fence.as_str()) && line.trim() == marker => self.fence = None,
            None if marker.len() >= 3 => self.fence = Some(marker),
            _ => {}
        }
        self.in_header = self.is_header(line);
        if self.in_header {
            self.before += 1;
            return;
        }
        if let Some(speaks) = self.speaker(line, number) {
            self.held.extend(self.current.replace(speaks));
            if !self.is_one_sided() {
                self.lines = Vec::new();
            }
            return;
        }
        match &mut self.current {
            Some((_, text)) => {
                text.push('\n');
                text.push_str(line);
            }
            None => match line.strip_prefix("# ").and_then(crate::out::usable_title) {
                Some(title) if self.title.is_none() && self.began.is_none() => {
                    (self.title, self.began) = dated_title(title);
                }
                _ => self.before += u64::from(!line.trim().is_empty()),
            },
        }
    }

    /// Reads the lines so far again if the other side is named only in headings of another level.
    fn read_levels(&mut self) {
        let is_level = |(line, _): &(Line, u64)| {
            let other = named(line).map(|known| known.role).filter(|role| is_side(*role));
            line.is_heading() && other.is_some_and(|role| !self.speaks(role))
        };
        let by_heading = self.first.as_ref().is_some_and(|(first, _)| first.is_heading());
        if self.has_levels || !by_heading || !self.doubtful.iter().any(is_level) {
            return;
        }
        let (name, lines) = (std::mem::take(&mut self.name), std::mem::take(&mut self.lines));
        *self = Self { name, has_levels: true, ..Self::default() };
        lines.into_iter().for_each(|(line, number)| self.line(&line, number));
    }

    /// Emits the messages that are held, with the times that stand in their first lines if `order` is certain.
    fn close_held(&mut self, order: Option<DateOrder>, out: &mut ItemQueue) {
        for said in std::mem::take(&mut self.held) {
            self.close(said, order, out);
        }
    }

    /// The dates in the first lines of the messages that are held, in an export with prompts and responses.
    fn held_dates(&self) -> impl Iterator<Item = WrittenDate> {
        let is_pair = self.first.as_ref().is_some_and(|(_, first)| first.is_pair);
        let held = self.held.iter().filter(move |_| is_pair);
        held.filter_map(|(_, text)| Some(first_date(without_rules(text))?.0))
    }

    fn close(&mut self, (speaker, text): (Named, String), order: Option<DateOrder>, out: &mut ItemQueue) {
        let text = without_rules(&text);
        let dated = order.and_then(|order| first_date(text).map(|(date, rest)| (order.at(date), rest)));
        let (dated, text) = dated.map_or((None, text), |(at, rest)| (at, without_rules(rest)));
        let (byline, text) = byline(text);
        let text = unescaped(text);
        if text.is_empty() {
            return;
        }
        let Named { role, speaker, beside, is_side, .. } = speaker;
        let (known, title) = if is_side { (&mut self.side, None) } else { (&mut self.conversation, self.title.take()) };
        let is_first = known.is_none();
        let id = known.get_or_insert_with(|| {
            let ids = [self.name.as_str(), "sidechain"];
            let id = conversation_id(ids.get(..if is_side { 2 } else { 1 }).unwrap_or_default());
            out.begin(Conversation::new(id.clone()).title(title));
            id
        });
        self.chain.take(&format!("{role}\n{}\n{text}", speaker.as_deref().unwrap_or_default()));
        let mut message = Message::text_of(role, &text);
        let Byline { at, names } = byline;
        let is_model = role == Role::Assistant;
        // The model is named last.
        let model = names.last().filter(|_| is_model).map(String::as_str).or(beside.as_deref().and_then(model));
        let named = names.first().filter(|_| names.len() > usize::from(is_model)).cloned();
        message.speaker = speaker.or(named);
        message = by_model(message, model);
        let at = at.or(dated).or(beside.as_deref().and_then(time)).or(self.began);
        if is_side && is_first {
            let of = conversation_id(&[&self.name]);
            message.metadata.insert("subagent_of".to_owned(), Json::string(of.as_str()));
        }
        if let Some(beside) = beside {
            message.metadata.insert(HEADING.to_owned(), Json::string(&beside));
        }
        out.say(id, self.chain.key(), message, at);
    }
}

/// True for the two sides of a conversation.
fn is_side(role: Role) -> bool {
    matches!(role, Role::User | Role::Assistant)
}

/// A title without the time that SpecStory writes after it or in its place, and that time.
fn dated_title(title: String) -> (Option<String>, Option<Timestamp>) {
    if title.starts_with(|c: char| c.is_ascii_digit())
        && title.split(' ').count() == 2
        && let Some(at) = time(&title)
    {
        return (None, Some(at));
    }
    let dated = title.strip_suffix(')').and_then(|title| title.rsplit_once(" ("));
    match dated.and_then(|(title, beside)| Some((title.to_owned(), time(beside)?))) {
        Some((title, at)) => (Some(title), Some(at)),
        None => (Some(title), None),
    }
}

/// The date that is the first line of a text, and the rest of the text.
fn first_date(text: &str) -> Option<(WrittenDate, &str)> {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let (date, half) = WrittenDate::read(line.trim())?;
    Some((date.in_half(half)?, rest))
}

/// The time next to a speaker's name, at its end.
fn time(beside: &str) -> Option<Timestamp> {
    let from = beside.trim().rsplitn(3, ' ').take(2).collect::<Vec<_>>();
    let date = from.iter().rev().copied().collect::<Vec<_>>().join("T");
    let parsed = |text: &str| text.parse().ok();
    parsed(beside).or_else(|| parsed(&date)).or_else(|| parsed(&format!("{}:00Z", date.strip_suffix('Z')?)))
}

/// The model next to a speaker's name, as in `model gpt-5, mode Agent` or `claude-4 2026-07-13 13:40:56Z`.
fn model(beside: &str) -> Option<&str> {
    let named = beside.split(',').find_map(|part| part.trim().strip_prefix("model ")).map(str::trim);
    let before = || beside.split_once(' ').map(|(model, _)| model).filter(|model| !model.starts_with("20"));
    named.or_else(|| before().filter(|_| time(beside).is_some()))
}

/// A text without blank lines and rules around it, which separate messages.
fn without_rules(text: &str) -> &str {
    let is_rule = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.len() > 2 && ['-', '*', '_'].iter().any(|mark| line.chars().all(|c| c == *mark))
    };
    let mut text = text;
    while let Some((_, rest)) = text.split_once('\n').filter(|(line, _)| is_rule(line)) {
        text = rest;
    }
    let mut text = text.trim_end();
    while let Some((rest, _)) = text.rsplit_once('\n').filter(|(_, line)| is_rule(line)) {
        text = rest.trim_end();
    }
    if is_rule(text) { "" } else { text }
}

/// The line below a heading of our own export: names and a time.
#[derive(Debug, Default)]
struct Byline {
    at: Option<Timestamp>,
    names: Vec<String>,
}

/// The byline of a text, and the rest of it.
fn byline(text: &str) -> (Byline, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let inner = line.strip_prefix('*').and_then(|line| line.strip_suffix('*')).filter(|line| !line.contains('*'));
    let mut names: Vec<_> = inner.into_iter().flat_map(|line| line.split(" · ")).map(str::to_owned).collect();
    // A line in italics without a time may be what was said.
    match names.pop().and_then(|last| last.parse().ok()) {
        Some(at) => (Byline { at: Some(at), names }, rest.trim_start_matches('\n')),
        None => (Byline::default(), text),
    }
}

/// A text without the escapes of our own export at the start of lines.
fn unescaped(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix('\\') {
        Some(rest) if rest.starts_with(['#', '<']) => rest.to_owned(),
        _ => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// True if the beginning of a text shows both a person and the model as speakers, and nothing before them.
pub(crate) fn is_transcript(text: &str) -> bool {
    let mut reader = Markdown::default();
    for line in text.lines() {
        reader.line(line, 0);
        if reader.before > MOST_BEFORE {
            return false;
        }
    }
    if reader.before == 0 || reader.first.as_ref().is_some_and(|(line, _)| line.is_said()) {
        reader.read_levels();
    }
    // Questions and answers of documents are no conversation.
    let is_document = |line: &Line| matches!(line.lower_name().as_str(), "question" | "answer");
    let is_loose = reader.before > 0 && reader.first.as_ref().is_some_and(|(line, _)| line.is_label());
    !reader.is_one_sided() && !is_loose && !reader.first.as_ref().is_some_and(|(line, _)| is_document(line))
}

impl FormatReader for Markdown {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        // Blank lines belong to the text.
        self.line(record.trim_end_matches(['\n', '\r']), out.place.line);
        if !self.is_one_sided() && self.held_dates().next().is_none() {
            self.close_held(None, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let unknown = |out: &ItemQueue, why| TranscriptError::Speaker { place: out.here(), why };
        if self.other_speaker().is_some() {
            self.read_levels();
        }
        if let Some((line, number)) = self.other_speaker() {
            out.place = RecordPlace::of_line(*number);
            let written: String = one_line(&line.written).chars().take(80).collect();
            let why = format!("who speaks after `{written}` is not known: name the speakers User and Assistant");
            return Err(unknown(out, why));
        }
        self.held.extend(self.current.take());
        let dates: Vec<_> = self.held_dates().collect();
        let order = DateOrder::of(&dates, &self.dates);
        self.close_held(Some(order).filter(|order| order.guessed == 0), out);
        out.place = RecordPlace::of_line(1);
        if self.conversation.is_none() && (self.before > 0 || self.title.is_some()) {
            return Err(unknown(out, "no line names a speaker, as `## User` and `Assistant: Hi.` do".to_owned()));
        }
        out.count(crate::Why::Note, "lines before the first speaker", self.before);
        Ok(())
    }
}
