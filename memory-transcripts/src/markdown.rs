//! Plain transcripts: a heading or a label for each speaker, in Markdown or in plain text.

mod speaker;

use memory_core::{ConversationId, Json, Message, Role, Timestamp, text::one_line};

use crate::{
    Conversation, TranscriptError,
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
    title: Option<String>,
    chain: Chain,
    /// Speaker and text of the current message.
    current: Option<(Named, String)>,
    /// Fence of the open code block, within which no line is a heading.
    fence: Option<String>,
    /// The first speaker's line; all speakers are named in its style.
    first: Option<(Line, Named)>,
    /// Roles that have spoken.
    roles: Vec<Role>,
    /// Lines that may name a speaker but were read as text, with their line numbers.
    doubtful: Vec<(Line, u64)>,
    /// Number of lines before the first speaker.
    before: u64,
}

/// Maximum lines before the first speaker of a file that is recognized.
const MOST_BEFORE: u64 = 20;
/// Maximum doubtful lines that are kept.
const MOST_DOUBTFUL: usize = 64;
/// Metadata member of a message with the words next to the speaker's name.
const HEADING: &str = "heading";

impl Markdown {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The speaker that a line names, if it is in the style of the first one.
    fn speaker(&mut self, text: &str, number: u64) -> Option<(Named, String)> {
        let line = line(text).filter(|_| self.fence.is_none())?;
        let of_first = |first: &(Line, Named)| first.0.is_like(&line);
        let known = named(&line).filter(|known| match &self.first {
            Some(first) => of_first(first) && first.1.is_pair == known.is_pair,
            None => true,
        });
        let Some(known) = known else {
            if self.doubtful.len() < MOST_DOUBTFUL {
                self.doubtful.push((line, number));
            }
            return None;
        };
        let rest = line.rest.clone();
        self.first.get_or_insert_with(|| (line, known.clone()));
        if !self.roles.contains(&known.role) {
            self.roles.push(known.role);
        }
        Some((known, rest))
    }

    /// A line that may name the other speaker, if only one side has spoken.
    fn other_speaker(&self) -> Option<&(Line, u64)> {
        let (first, _) = self.first.as_ref()?;
        let speaks = |role| self.roles.contains(&role);
        if speaks(Role::User) == speaks(Role::Assistant) {
            return None;
        }
        self.doubtful.iter().find(|(line, _)| line.is_like(first) || named(line).is_some())
    }

    /// Reads a line; returns the message that it ends.
    fn line(&mut self, line: &str, number: u64) -> Option<(Named, String)> {
        let marker: String = line.trim_start().chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &self.fence {
            Some(fence) if marker.starts_with(fence.as_str()) && line.trim() == marker => self.fence = None,
            None if marker.len() >= 3 => self.fence = Some(marker),
            _ => {}
        }
        if let Some(speaks) = self.speaker(line, number) {
            return self.current.replace(speaks);
        }
        match &mut self.current {
            Some((_, text)) => {
                text.push('\n');
                text.push_str(line);
            }
            None => {
                let title = line.strip_prefix("# ").and_then(crate::out::usable_title);
                if self.title.is_none() && title.is_some() {
                    self.title = title;
                } else {
                    self.before += u64::from(!line.trim().is_empty());
                }
            }
        }
        None
    }

    fn close(&mut self, (speaker, text): (Named, String), out: &mut ItemQueue) {
        let text = without_rules(&text);
        let (byline, text) = byline(text);
        let text = unescaped(text);
        if text.is_empty() {
            return;
        }
        let id = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()).title(self.title.take()));
            id
        });
        let Named { role, speaker, beside, .. } = speaker;
        self.chain.take(&format!("{role}\n{}\n{text}", speaker.as_deref().unwrap_or_default()));
        let mut message = Message::text_of(role, &text);
        let Byline { at, names } = byline;
        let is_model = role == Role::Assistant;
        // The model is named last.
        let model = names.last().filter(|_| is_model).map(String::as_str).or(beside.as_deref().and_then(model));
        let named = names.first().filter(|_| names.len() > usize::from(is_model)).cloned();
        message.speaker = speaker.or(named);
        message = by_model(message, model);
        let at = at.or(beside.as_deref().and_then(time));
        if let Some(beside) = beside {
            message.metadata.insert(HEADING.to_owned(), Json::string(&beside));
        }
        out.say(id, self.chain.key(), message, at);
    }
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
    // Questions and answers of documents are no conversation.
    let is_document = |line: &Line| matches!(line.lower_name().as_str(), "question" | "answer");
    let is_loose = reader.before > 0 && reader.first.as_ref().is_some_and(|(line, _)| line.is_label());
    let speaks = |role| reader.roles.contains(&role);
    speaks(Role::User)
        && speaks(Role::Assistant)
        && !is_loose
        && !reader.first.as_ref().is_some_and(|(line, _)| is_document(line))
}

impl FormatReader for Markdown {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        // Blank lines belong to the text.
        if let Some(closed) = self.line(record.trim_end_matches(['\n', '\r']), out.place.line) {
            self.close(closed, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let unknown = |out: &ItemQueue, why| TranscriptError::Speaker { place: out.here(), why };
        if let Some((line, number)) = self.other_speaker() {
            out.place = RecordPlace::of_line(*number);
            let written: String = one_line(&line.written).chars().take(80).collect();
            let why = format!("who speaks after `{written}` is not known: name the speakers User and Assistant");
            return Err(unknown(out, why));
        }
        if let Some(closed) = self.current.take() {
            self.close(closed, out);
        }
        out.place = RecordPlace::of_line(1);
        if self.conversation.is_none() && (self.before > 0 || self.title.is_some()) {
            return Err(unknown(out, "no line names a speaker, as `## User` and `Assistant: Hi.` do".to_owned()));
        }
        out.count(crate::Why::Note, "lines before the first speaker", self.before);
        Ok(())
    }
}
