//! Messages of Strands that a prompt shows.

use memory_core::{ContentBlock, Message, json::message_to_strands};
use memory_hooks::Prompt;
use serde_json::{Map, Value};

use super::message::StrandsMessage;

/// Text before the question at the end of a prompt.
const QUESTION: &str = "Current question: ";
/// The beginning of the line that states the present.
const NOW: &str = "[Now: ";

/// The history of a prompt that was made without a question.
pub(super) fn history(prompt: &Prompt) -> Vec<StrandsMessage> {
    let mut messages = prompt.messages().messages;
    cut_question(&mut messages);
    messages.iter().map(marked).collect()
}

/// The prompt of a turn, whose last message has the metadata of `said`.
pub(super) fn turn(prompt: &Prompt, said: &Message) -> Vec<StrandsMessage> {
    let mut messages = prompt.messages().messages;
    if let Some(last) = messages.last_mut() {
        last.metadata.clone_from(&said.metadata);
        // Strands' metadata of single blocks would belong to blocks at other places.
        keep_members(last);
    }
    messages.iter().map(marked).collect()
}

/// Drops the metadata of single blocks from a message.
fn keep_members(message: &mut Message) {
    let Some(json) = message.metadata.get_mut("strands") else { return };
    let mut beside = json.to_value();
    if let Some(members) = beside.as_object_mut() {
        members.remove("blocks");
    }
    *json = memory_core::Json::from_value(&beside);
}

/// Cuts the question, which was not asked, and the time of asking off the end of a prompt's messages.
pub(super) fn cut_question(messages: &mut Vec<Message>) {
    let Some(last) = messages.last_mut() else { return };
    let Some(ContentBlock::Text(text)) = last.content.last_mut() else { return };
    let Some(lead) = text.trim_end().strip_suffix(QUESTION.trim_end()) else { return };
    let lead = without_now(lead.trim_end()).to_owned();
    if lead.is_empty() {
        last.content.pop();
    } else {
        *text = lead;
    }
    if last.content.is_empty() {
        messages.pop();
    }
}

/// A text without the last line if it states the present.
fn without_now(text: &str) -> &str {
    let (before, line) = text.rsplit_once('\n').unwrap_or(("", text));
    if line.starts_with(NOW) { before.trim_end() } else { text }
}

/// A message for the list, marked as made from the log.
pub(super) fn marked(message: &Message) -> StrandsMessage {
    let mut marked = exact(message);
    marked.mark_as_view();
    marked
}

/// A message for the list, verbatim.
pub(super) fn exact(message: &Message) -> StrandsMessage {
    match message_to_strands(message) {
        Value::Object(members) => StrandsMessage(members),
        _ => StrandsMessage(Map::new()),
    }
}
