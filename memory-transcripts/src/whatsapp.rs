//! Exported chats of WhatsApp: a line a message, with time and sender, and further lines of its text.

use memory_core::{ConversationId, Message, Role, Timestamp};

use crate::{
    Conversation, TranscriptError, Why,
    markdown::answers,
    names::{Chain, conversation_id},
    out::{ItemQueue, usable_title},
    reader::FormatReader,
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
    /// Lines before the first message.
    before: u64,
    /// Lines of the program: members who joined, the notice of encryption.
    notes: u64,
    is_note: bool,
}

#[derive(Debug)]
struct Sent {
    date: Date,
    sender: String,
    text: String,
}

/// A date as it is written, and the seconds of the day.
#[derive(Clone, Copy, Debug)]
struct Date {
    parts: [u32; 3],
    time: [u32; 3],
    is_of_twelve: bool,
}

/// Orders of year, month and day, as places in a written date.
const ORDERS: [[usize; 3]; 3] = [[2, 1, 0], [2, 0, 1], [0, 1, 2]];

impl Date {
    fn at(self, [year, month, day]: [usize; 3]) -> Option<Timestamp> {
        let part = |place: usize| self.parts.get(place).copied().unwrap_or_default();
        let year = if part(year) < 100 { part(year) + 2_000 } else { part(year) };
        let [hour, minute, second] = self.time;
        format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}", part(month), part(day)).parse().ok()
    }
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
fn dated(line: &str) -> Option<(Date, &str)> {
    let line = line.trim_start_matches(MARKS);
    let is_bracketed = line.starts_with('[');
    let line = line.strip_prefix('[').unwrap_or(line);
    let (first, line) = number(line, 4)?;
    let (second, line) = number(line.strip_prefix(['/', '.', '-'])?, 2)?;
    let (third, line) = number(line.strip_prefix(['/', '.', '-'])?, 4)?;
    let line = line.strip_prefix('.').unwrap_or(line);
    let line = line.strip_prefix(',').unwrap_or(line).trim_start();
    let (mut hour, line) = number(line, 2)?;
    let (minute, mut line) = number(line.strip_prefix([':', '.'])?, 2)?;
    let mut seconds = 0;
    if let Some((read, rest)) = line.strip_prefix([':', '.']).and_then(|line| number(line, 2)) {
        (seconds, line) = (read, rest);
    }
    let end = line.find(if is_bracketed { "]" } else { " - " })?;
    let (half, rest) = (line.get(..end)?.trim(), line.get(end..)?);
    let half: String = half.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    match half.as_str() {
        "" => {}
        "am" => hour %= 12,
        "pm" => hour = hour % 12 + 12,
        _ => return None,
    }
    let rest = rest.trim_start_matches([']', ' ', '-']).trim_start_matches(MARKS);
    let time = [hour, minute, seconds];
    Some((Date { parts: [first, second, third], time, is_of_twelve: !half.is_empty() }, rest))
}

/// A number of at most `most` digits, and the rest of the text.
fn number(text: &str, most: usize) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=most).contains(&length).then_some(())?;
    Some((text.get(..length)?.parse().ok()?, text.get(length..)?))
}

impl WhatsApp {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The order of day and month with the fewest dates that do not exist or go back in time. Where both fit, the
    /// month is first where clocks have twelve hours.
    fn order(&self) -> [usize; 3] {
        let faults = |order: [usize; 3]| {
            let times: Vec<_> = self.messages.iter().map(|sent| sent.date.at(order)).collect();
            let missing = times.iter().filter(|at| at.is_none()).count();
            missing + times.iter().flatten().collect::<Vec<_>>().windows(2).filter(|two| !two.is_sorted()).count()
        };
        let mut orders = ORDERS;
        if self.messages.iter().any(|sent| sent.date.is_of_twelve) {
            orders.swap(0, 1);
        }
        orders.into_iter().min_by_key(|order| faults(*order)).unwrap_or_default()
    }
}

impl FormatReader for WhatsApp {
    fn record(&mut self, record: &str, _: &mut ItemQueue) -> Result<(), TranscriptError> {
        let line = record.trim_end_matches(['\n', '\r']);
        if let Some((date, rest)) = dated(line) {
            let sent = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")));
            self.is_note = sent.is_none_or(|(name, _)| !is_name(name));
            match sent.filter(|_| !self.is_note) {
                Some((sender, text)) => {
                    let (sender, text) = (sender.trim().to_owned(), text.trim_start_matches(MARKS).to_owned());
                    self.messages.push(Sent { date, sender, text });
                }
                None => self.notes += 1,
            }
        } else if let Some(last) = self.messages.last_mut().filter(|_| !self.is_note) {
            last.text.push('\n');
            last.text.push_str(line);
        } else if !line.trim().is_empty() {
            self.before += 1;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let order = self.order();
        let id: ConversationId = conversation_id(&[&self.name]);
        if !self.messages.is_empty() {
            out.begin(Conversation::new(id.clone()).title(usable_title(&self.name)));
        }
        let mut chain = Chain::default();
        for Sent { date, sender, text } in self.messages.drain(..) {
            chain.take(&format!("{:?} {:?} {sender}: {text}", date.parts, date.time));
            if text.trim().is_empty() {
                out.skip(Why::Empty, "message");
                continue;
            }
            let role = if answers(&sender) { Role::Assistant } else { Role::User };
            let mut message = Message::text_of(role, text.trim_end());
            message.speaker = Some(sender);
            out.say(&id, chain.key(), message, date.at(order));
        }
        out.count(Why::Note, "line of the program", self.notes);
        out.count(Why::Unknown, "line that belongs to no message", self.before);
        Ok(())
    }
}
