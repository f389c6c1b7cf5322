//! Plain transcripts: a heading or a label for each speaker, in Markdown or in plain text.

use memory_core::{ConversationId, Message, Role};

use crate::{
    Conversation, TranscriptError,
    names::{Chain, conversation_id},
    out::Out,
    records::Place,
    shape::Shape,
};

/// Reads lines.
#[derive(Debug)]
pub(crate) struct Markdown {
    name: String,
    conversation: Option<ConversationId>,
    title: Option<String>,
    chain: Chain,
    /// The message that is being read.
    current: Option<(Role, Option<String>, String)>,
    /// The fence of a code block, in which nothing is a heading.
    fence: Option<String>,
    /// How the first speaker is named, which is how all are.
    style: Option<Style>,
    /// Lines before the first speaker.
    before: u64,
}

/// How a line names a speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Heading,
    Bold,
    Label,
}

impl Markdown {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            conversation: None,
            title: None,
            chain: Chain::default(),
            current: None,
            fence: None,
            style: None,
            before: 0,
        }
    }

    fn close(&mut self, out: &mut Out) {
        let Some((role, speaker, text)) = self.current.take() else { return };
        let text = text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return;
        }
        let id = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()).title(self.title.take()));
            id
        });
        self.chain.take(&format!("{role}\n{}\n{text}", speaker.as_deref().unwrap_or_default()));
        let mut message = Message::text_of(role, text);
        message.speaker = speaker;
        out.say(id, self.chain.key(), message, None);
    }
}

/// The speaker that a line names, and what stands after it: `## User`, `**Assistant:** Hi.`, `Human: Hi.`
fn speaker(line: &str) -> Option<(Style, Role, Option<String>, &str)> {
    let (style, name, rest) = if let Some(heading) = line.strip_prefix('#') {
        let heading = heading.trim_start_matches('#');
        (Style::Heading, heading.strip_prefix(' ')?.trim().trim_end_matches(':'), "")
    } else if let Some(bold) = line.strip_prefix("**") {
        let (name, rest) = bold.split_once("**")?;
        let rest =
            if name.ends_with(':') { Some(rest) } else { rest.strip_prefix(':').or(rest.is_empty().then_some("")) };
        (Style::Bold, name.trim_end_matches(':'), rest?)
    } else {
        let (name, rest) = line.split_once(':')?;
        (Style::Label, name, rest)
    };
    let role = match name.trim_matches(['*', ' ']).to_lowercase().as_str() {
        "user" | "human" | "you" | "me" => Role::User,
        "assistant" | "ai" | "chatgpt" | "claude" | "model" | "bot" => Role::Assistant,
        "system" => Role::System,
        "tool" if style == Style::Heading => Role::Tool,
        _ => return None,
    };
    let name = name.trim_matches(['*', ' ']);
    let is_name = matches!(name, "ChatGPT" | "Claude");
    Some((style, role, is_name.then(|| name.to_owned()), rest.trim_start()))
}

impl Shape for Markdown {
    fn record(&mut self, record: &str, _: Place, out: &mut Out) -> Result<(), TranscriptError> {
        // Blank lines are given as well: a text has paragraphs.
        let line = record.trim_end_matches(['\n', '\r']);
        let marker: String = line.trim_start().chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &self.fence {
            Some(fence) if marker.starts_with(fence.as_str()) && line.trim() == marker => self.fence = None,
            None if marker.len() >= 3 => self.fence = Some(marker),
            _ => {}
        }
        let is_of_style = |style: &Style| self.style.is_none_or(|known| known == *style);
        match speaker(line).filter(|(style, ..)| self.fence.is_none() && is_of_style(style)) {
            Some((style, role, name, rest)) => {
                self.style = Some(style);
                self.close(out);
                self.current = Some((role, name, rest.to_owned()));
            }
            None => match &mut self.current {
                Some((_, _, text)) => {
                    text.push('\n');
                    text.push_str(line);
                }
                None => {
                    self.before += u64::from(!line.trim().is_empty());
                    let title = line.strip_prefix("# ").and_then(crate::out::usable_title);
                    self.title = self.title.take().or(title);
                }
            },
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Out) {
        self.close(out);
        if self.before > u64::from(self.title.is_some()) || self.before == 1 && self.conversation.is_none() {
            out.skip(crate::Why::Note, "lines before the first speaker", Place { line: 1, ..Place::default() });
        }
    }
}
