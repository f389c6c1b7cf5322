//! What a prompt shows, as messages of Strands.

use memory_core::{ContentBlock, Message, Role, message_to_strands};
use memory_hooks::Prompt;
use serde_json::{Map, Value};

use super::message::StrandsMessage;

/// What stands before the question at the end of a prompt.
const QUESTION: &str = "Current question: ";
/// How the line begins that states the present.
const NOW: &str = "[Now: ";

/// The history of a prompt that was made without a question.
pub(super) fn history(prompt: &Prompt) -> Vec<StrandsMessage> {
    let mut messages = prompt.messages().messages;
    if let Some(last) = messages.last_mut() {
        cut_question(last, "");
        if last.content.is_empty() {
            messages.pop();
        }
    }
    messages.iter().map(marked).collect()
}

/// A prompt for a question, which stands at its end as it was said, with all its blocks.
pub(super) fn asked(prompt: &Prompt, question: &str, said: &Message) -> Vec<StrandsMessage> {
    let mut messages = prompt.messages().messages;
    match messages.last_mut().filter(|last| last.role == Role::User) {
        Some(last) => {
            cut_question(last, question);
            last.content.extend(said.content.iter().cloned());
            last.metadata.clone_from(&said.metadata);
            // What only Strands knows of single blocks is of blocks at other places.
            keep_members(last);
        }
        None => messages.push(said.clone()),
    }
    messages.iter().map(marked).collect()
}

/// Cuts the question, and for none the time of asking too, off the end of a message.
fn cut_question(message: &mut Message, question: &str) {
    let Some(ContentBlock::Text(text)) = message.content.last_mut() else { return };
    let Some(lead) = text.trim_end().strip_suffix(format!("{QUESTION}{question}").trim_end()) else { return };
    let lead = if question.is_empty() {
        without_now(lead.trim_end()).to_owned()
    } else {
        format!("{lead}{}", QUESTION.trim_end())
    };
    if lead.is_empty() {
        message.content.pop();
    } else {
        *text = lead;
    }
}

/// A text without the line at its end that states the present.
fn without_now(text: &str) -> &str {
    let (before, line) = text.rsplit_once('\n').unwrap_or(("", text));
    if line.starts_with(NOW) { before.trim_end() } else { text }
}

/// Drops from a message's metadata what is known of its single blocks.
fn keep_members(message: &mut Message) {
    let Some(json) = message.metadata.get_mut("strands") else { return };
    let mut beside = json.to_value();
    if let Some(members) = beside.as_object_mut() {
        members.remove("blocks");
    }
    *json = memory_core::Json::from_value(&beside);
}

/// A message for the list, marked as made from the log.
pub(super) fn marked(message: &Message) -> StrandsMessage {
    let mut marked = exact(message);
    marked.mark_as_view();
    marked
}

/// A message for the list, as it was said.
pub(super) fn exact(message: &Message) -> StrandsMessage {
    match message_to_strands(message) {
        Value::Object(members) => StrandsMessage(members),
        _ => StrandsMessage(Map::new()),
    }
}
