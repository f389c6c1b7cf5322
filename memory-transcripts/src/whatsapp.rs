//! Exported chats of WhatsApp: a line a message, with time and sender, and further lines of its text.

use memory_core::{ConversationId, Message, Role};

use crate::{
    Conversation, TranscriptError, Why,
    dates::{DateOrder, WrittenDate},
    markdown::answers,
    names::{Chain, conversation_id},
    out::{ItemQueue, usable_title},
    reader::FormatReader,
    records::RecordPlace,
};

/// Maximum characters of a sender's name.
const NAME: usize = 60;
/// Marks of direction and narrow spaces that the program writes around times and names.
const MARKS: [char; 4] = ['\u{200e}', '\u{200f}', '\u{202a}', '\u{202c}'];

/// Reader of a chat. Messages are held until its end, since only all dates together show the order of day and month.
#[derive(Debug, Default)]
pub(crate) struct WhatsApp {
    name: String,
    messages: Vec<Sent>,
    /// True if the last dated line is one of the program: a member who joined, the notice of encryption.
    is_note: bool,
}

#[derive(Debug)]
struct Sent {
    date: WrittenDate,
    sender: String,
    text: String,
    place: RecordPlace,
}

/// True if the first lines of a text are such messages.
pub(crate) fn is_chat(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(3);
    let dated: Vec<_> = lines.by_ref().map(dated).collect();
    dated.first().is_some_and(Option::is_some)
        && dated.iter().flatten().any(|(_, rest)| rest.split_once(": ").is_some_and(|(name, _)| is_name(name)))
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= NAME
}

/// The date of a line, and the rest of it: `[12/08/24, 09:15:33] Anna: Hi` or `12/08/2024, 09:15 - Anna: Hi`.
fn dated(line: &str) -> Option<(WrittenDate, &str)> {
    let line = line.trim_start_matches(MARKS);
    let is_bracketed = line.starts_with('[');
    let line = line.strip_prefix('[').unwrap_or(line);
    let (date, line) = WrittenDate::read(line)?;
    let end = line.find(if is_bracketed { "]" } else { " - " })?;
    let date = date.in_half(line.get(..end)?)?;
    let rest = line.get(end..)?.trim_start_matches([']', ' ', '-']).trim_start_matches(MARKS);
    Some((date, rest))
}

impl WhatsApp {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

impl FormatReader for WhatsApp {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let line = record.trim_end_matches(['\n', '\r']);
        if let Some((date, rest)) = dated(line) {
            let sent = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")));
            self.is_note = sent.is_none_or(|(name, _)| !is_name(name));
            match sent.filter(|_| !self.is_note) {
                Some((sender, text)) => {
                    let (sender, text) = (sender.trim().to_owned(), text.trim_start_matches(MARKS).to_owned());
                    self.messages.push(Sent { date, sender, text, place: out.place });
                }
                None => out.skip(Why::Note, "line of the program"),
            }
        } else if let Some(last) = self.messages.last_mut().filter(|_| !self.is_note) {
            last.text.push('\n');
            last.text.push_str(line);
        } else if !line.trim().is_empty() {
            out.skip(Why::Unknown, "line that belongs to no message");
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let order = DateOrder::of(&self.messages.iter().map(|sent| sent.date).collect::<Vec<_>>(), &[]);
        let id: ConversationId = conversation_id(&[&self.name]);
        if let Some(first) = self.messages.first() {
            out.begin(Conversation::new(id.clone()).title(usable_title(&self.name)));
            out.place = first.place;
            out.count(Why::Guessed, &format!("date as {}", order.name), order.guessed);
        }
        let mut chain = Chain::default();
        for Sent { date, sender, text, place } in self.messages.drain(..) {
            out.place = place;
            chain.take(&format!("{:?} {:?} {sender}: {text}", date.parts, date.time));
            if text.trim().is_empty() {
                out.skip(Why::Empty, "message");
                continue;
            }
            let at = order.at(date);
            if at.is_none() {
                out.skip(Why::Broken, &format!("date that is no {} (its message is kept)", order.name));
            }
            let role = if answers(&sender) { Role::Assistant } else { Role::User };
            let mut message = Message::text_of(role, text.trim_end());
            message.speaker = Some(sender);
            out.say(&id, chain.key(), message, at);
        }
        Ok(())
    }
}
