//! The chat history of Aider: a Markdown file of sessions, in which a prefix says who speaks.

use memory_core::{ContentBlock, ConversationId, Message, Role, Timestamp};

use crate::{
    Conversation, TranscriptError, Why,
    members::by_model,
    names::{Chain, conversation_id},
    out::ItemQueue,
    reader::FormatReader,
    records::RecordPlace,
};

/// Beginning of the line that begins a session.
const SESSION: &str = "# aider chat started at ";
/// Prefixes of lines of the person and of the program.
const USER: &str = "####";
const PROGRAM: &str = ">";
/// End of every line that the program writes with a prefix: the model's headings do not have it.
const BREAK: &str = "  ";
/// Commands of the program that ask the model nothing and run nothing.
#[rustfmt::skip]
const SILENT: [&str; 30] = [
    "add", "chat-mode", "clear", "copy", "copy-context", "diff", "drop", "editor-model", "exit", "load", "ls", "map",
    "map-refresh", "model", "models", "multiline-mode", "paste", "quit", "read-only", "reasoning-effort", "report",
    "reset", "save", "settings", "think-tokens", "tokens", "undo", "voice", "weak-model", "editor",
];
/// Commands whose words are a prompt, which the program writes again after them.
const ASKING: [&str; 5] = ["ask", "code", "architect", "context", "help"];
/// Begin of the tags around the model's reasoning, which end in a hash.
const THINKING: &str = "<thinking-content-";

#[derive(Debug, Default)]
pub(crate) struct Aider {
    name: String,
    conversation: Option<ConversationId>,
    started: Option<Timestamp>,
    model: Option<String>,
    /// True once a person has spoken in this session.
    has_prompt: bool,
    /// False if the first line of a person lost the spaces at its end, as in an editor.
    has_breaks: Option<bool>,
    current: Option<Current>,
    /// Prompt with the command in front of it, which may be written again without the command.
    asked: Option<Current>,
    chain: Chain,
}

/// Lines of one speaker.
#[derive(Debug)]
struct Current {
    role: Role,
    text: String,
    /// Place of the first line.
    place: RecordPlace,
    /// True after a blank line, which separates two inputs of the person.
    has_gap: bool,
}

/// The command and the words of an input that begins with a slash.
fn command(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some((name, words.trim()))
}

/// The blocks of an answer, whose reasoning stands in tags.
fn answer(text: &str) -> Vec<ContentBlock> {
    let said = |text: &str| Some(ContentBlock::Text(text.trim().to_owned())).filter(|_| !text.trim().is_empty());
    let (mut blocks, mut rest) = (Vec::new(), text);
    while let Some((before, inner)) = rest.split_once(THINKING) {
        let parts = inner.split_once('>').and_then(|(hash, inner)| {
            let (thought, after) = inner.split_once(&format!("</thinking-content-{hash}>"))?;
            Some((thought.trim().to_owned(), after))
        });
        let Some((text, after)) = parts else { break };
        blocks.extend(said(before));
        blocks.push(ContentBlock::Reasoning { text, signature: None });
        rest = after;
    }
    blocks.extend(said(rest));
    blocks
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
        self.close_all(out);
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

    /// Ends the lines of a speaker. A prompt after a command waits for the prompt without it.
    fn close(&mut self, out: &mut ItemQueue) {
        let Some(mut said) = self.current.take() else { return };
        said.text.truncate(said.text.trim_end().len());
        let is_person = said.role == Role::User;
        if let Some(asked) = self.asked.take() {
            let is_again = is_person && command(&asked.text).is_some_and(|(_, words)| words == said.text);
            match is_again {
                true => out.skip_at(Why::Repeated, "command before its prompt", asked.place),
                false => self.say(asked, out),
            }
        }
        match command(&said.text).filter(|_| is_person) {
            Some((name, words)) if SILENT.contains(&name) || ASKING.contains(&name) && words.is_empty() => {
                out.skip_at(Why::Note, "command of the program", said.place);
            }
            Some((name, _)) if ASKING.contains(&name) => self.asked = Some(said),
            _ => self.say(said, out),
        }
    }

    /// Ends everything that was said.
    fn close_all(&mut self, out: &mut ItemQueue) {
        self.close(out);
        if let Some(asked) = self.asked.take() {
            self.say(asked, out);
        }
    }

    fn say(&mut self, Current { role, text, .. }: Current, out: &mut ItemQueue) {
        let text = text.trim_matches('\n');
        if text.is_empty() {
            return;
        }
        let id = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()));
            id
        });
        self.chain.take(&format!("{role}\n{text}"));
        let message = match role {
            Role::Assistant if text.contains(THINKING) => Message::new(role, answer(text)),
            _ => Message::text_of(role, text),
        };
        let mut message = by_model(message, self.model.as_deref());
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
            if !words.is_empty() {
                out.skip(Why::Note, "line of the program before the first prompt");
            }
            return Ok(());
        }
        match &mut self.current {
            Some(of) if of.role == role && !(role == Role::User && of.has_gap) => {
                of.text.push('\n');
                of.text.push_str(words);
            }
            // Blank lines separate messages.
            Some(of) if words.is_empty() => of.has_gap = true,
            None if words.is_empty() => {}
            _ => {
                self.close(out);
                self.current = Some(Current { role, text: words.to_owned(), place: out.place, has_gap: false });
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        self.close_all(out);
        Ok(())
    }
}
