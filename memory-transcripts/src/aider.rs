//! The chat history of Aider: a Markdown file of sessions, in which a prefix says who speaks.

use memory_core::{ConversationId, Message, Role, Timestamp};

use crate::{
    Conversation, TranscriptError, Why,
    members::by_model,
    names::{Chain, conversation_id},
    out::ItemQueue,
    reader::FormatReader,
};

/// Beginning of the line that begins a session.
const SESSION: &str = "# aider chat started at ";
/// Prefixes of lines of the person and of the program.
const USER: &str = "####";
const PROGRAM: &str = ">";
/// End of every line that the program writes with a prefix: the model's headings do not have it.
const BREAK: &str = "  ";

#[derive(Debug, Default)]
pub(crate) struct Aider {
    name: String,
    conversation: Option<ConversationId>,
    started: Option<Timestamp>,
    model: Option<String>,
    /// True once a person has spoken in this session.
    has_prompt: bool,
    /// Number of lines before that.
    banner: u64,
    /// False if the first line of a person lost the spaces at its end, as in an editor.
    has_breaks: Option<bool>,
    current: Option<(Role, String)>,
    chain: Chain,
}

/// True if a text holds sessions of Aider.
pub(crate) fn is_history(text: &str) -> bool {
    text.lines().take(200).any(|line| line.starts_with(SESSION))
}

impl Aider {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    fn begin(&mut self, started: &str, out: &mut ItemQueue) {
        self.close(out);
        let of_time = started.trim().replace([' ', ':'], "-");
        let id = conversation_id(&[&self.name, &of_time]);
        out.begin(Conversation::new(id.clone()));
        (self.conversation, self.started) = (Some(id), started.trim().replacen(' ', "T", 1).parse().ok());
        self.has_prompt = false;
        self.chain = Chain::default();
    }

    /// The speaker of a line, and its words. A fence is no sign: an answer that was interrupted leaves it open.
    fn speaker<'a>(&mut self, line: &'a str) -> (Role, &'a str) {
        let words = |prefix: &str| {
            let rest = line.strip_prefix(prefix)?;
            (rest.is_empty() || rest.starts_with(' ')).then(|| rest.strip_prefix(' ').unwrap_or(rest).trim_end())
        };
        let has_break = line.ends_with(BREAK);
        if let Some(words) = words(USER) {
            let have_breaks = *self.has_breaks.get_or_insert(has_break);
            if has_break || !have_breaks {
                return (Role::User, words);
            }
        }
        match words(PROGRAM).filter(|_| has_break || self.has_breaks != Some(true)) {
            Some(words) => (Role::Tool, words),
            None => (Role::Assistant, line.trim_end()),
        }
    }

    fn close(&mut self, out: &mut ItemQueue) {
        let Some((role, text)) = self.current.take() else { return };
        let text = text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return;
        }
        let id = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()));
            id
        });
        self.chain.take(&format!("{role}\n{text}"));
        let mut message = by_model(Message::text_of(role, text), self.model.as_deref());
        if role == Role::Tool {
            message.speaker = Some("aider".to_owned());
        }
        out.say(id, self.chain.key(), message, self.started);
    }
}

/// The model that a line of the program names.
fn model(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Main model: ").or(line.strip_prefix("Model: "))?;
    rest.split_whitespace().next()
}

impl FormatReader for Aider {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let line = record.trim_end_matches(['\n', '\r']);
        if let Some(started) = line.strip_prefix(SESSION) {
            self.begin(started, out);
            return Ok(());
        }
        let (role, words) = self.speaker(line);
        if role == Role::Tool {
            self.model = model(words).map(str::to_owned).or(self.model.take());
        }
        self.has_prompt |= role == Role::User;
        // The model answers only a prompt: this may be the rest of a command line with a prompt in it.
        if !self.has_prompt {
            self.banner += u64::from(!words.is_empty());
            return Ok(());
        }
        match &mut self.current {
            Some((of, text)) if *of == role => {
                text.push('\n');
                text.push_str(words);
            }
            // Blank lines separate messages.
            _ if words.is_empty() => {}
            _ => {
                self.close(out);
                self.current = Some((role, words.to_owned()));
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        self.close(out);
        out.count(Why::Note, "line of the program before the first prompt", self.banner);
        Ok(())
    }
}
