//! Text for people.

use memory_core::{ContentBlock, Message, Role, Timestamp, text::one_line};

use crate::exact;

/// The speaker, as a heading.
pub(super) fn voice(message: &Message) -> &'static str {
    match message.said_as() {
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::System => "System",
        Role::Tool => "Tool",
    }
}

/// The speaker's name, the model and the time, as far as they are known, on one line.
pub(super) fn byline(message: &Message, at: Timestamp) -> String {
    let time = at.is_known().then(|| at.to_string());
    let parts: Vec<_> = message.speaker.clone().into_iter().chain(message.model()).chain(time).collect();
    one_line(&parts.join(" · ")).into_owned()
}

/// A block as text.
pub(super) enum Shown {
    /// Words.
    Words(String),
    /// Anything else: title and text.
    Beside(String, String),
}

pub(super) fn shown(block: &ContentBlock) -> Shown {
    match block {
        ContentBlock::Text(text) => Shown::Words(text.clone()),
        ContentBlock::ToolUse { name, input, .. } => {
            let input = exact::value(input);
            let input = exact::pretty(&input).unwrap_or_else(|_| exact::written(&input));
            Shown::Beside(format!("Call of {}", one_line(name)), input)
        }
        ContentBlock::ToolResult { content, is_error, .. } => {
            let texts: Vec<_> = content.iter().map(|block| block.text().into_owned()).collect();
            let title = if *is_error { "Error of a tool" } else { "Result of a tool" };
            Shown::Beside(title.to_owned(), texts.join("\n"))
        }
        ContentBlock::Reasoning { text, .. } => Shown::Beside("Reasoning".to_owned(), text.clone()),
        ContentBlock::Unknown(json) => Shown::Beside("Other content".to_owned(), json.to_string()),
        ContentBlock::Image(_) | ContentBlock::Document { .. } => Shown::Words(block.text().into_owned()),
    }
}
