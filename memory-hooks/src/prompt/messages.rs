//! A prompt as messages of a chat model.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use memory_core::{
    ContentBlock, Message, Node, NodeId, Role,
    port::{Breakpoint, ChatRequest},
};

use super::{Prompt, media};
use crate::render::{self, Body, Part};

/// Label of a message of the user that follows the one before it.
const USER: &str = "[user]: ";

/// The prompt as a request.
///
/// A message of the user keeps its label, with the day above it when the day changes, unless its role says as much. The
/// model's own messages are verbatim, since a model repeats labels that it finds in its own words. A day above them, and
/// their names if several models spoke, stand at the end of the user's message before.
pub(super) fn request(prompt: &Prompt, model: Option<&str>) -> ChatRequest {
    // Everything after the history is one text.
    let end = prompt.parts.iter().rposition(|part| part.kind.is_history()).map_or(0, |last| last + 1);
    let parts = prompt.parts.get(..end).unwrap_or_default();
    let mut transcript = Transcript::new(parts, model);
    let thinned = thinned(parts, prompt.budget.saturating_sub(prompt.tokens));
    let mut rest = prompt.text();
    for (part, piece) in parts.iter().zip(&prompt.pieces) {
        // The lead stands before the first piece; nothing stands between pieces.
        let Some((lead, after)) = rest.split_once(piece.text.as_str()) else { continue };
        rest = after;
        transcript.say(lead);
        match &part.body {
            _ if !part.kind.is_history() => transcript.say(&piece.text),
            Body::Message(node) => transcript.add(node, thinned.get(&node.id).unwrap_or(&node.message), &piece.text),
            _ => transcript.stand_for(&piece.text),
        }
    }
    transcript.close(rest).system(prompt.instructions().map(str::to_owned))
}

/// The messages with pictures and documents, with those that fit into `left` tokens, the newest first.
fn thinned(parts: &[Part], mut left: u32) -> BTreeMap<NodeId, Message> {
    let message = |part: &Part| match &part.body {
        Body::Message(node) if part.kind.is_history() && media::is_dear(&node.message) => {
            Some((node.id, media::within_budget(&node.message, &mut left)))
        }
        _ => None,
    };
    parts.iter().rev().filter_map(message).collect()
}

/// Messages being written: user and assistant in turns, the user first.
#[derive(Debug, Default)]
struct Transcript<'a> {
    /// The model that the request is for.
    model: Option<&'a str>,
    messages: Vec<Message>,
    /// Text in the user's voice that is not in a block yet.
    pending: String,
    /// True if several speakers share the model's role, so that each has to be named.
    names_models: bool,
    /// True if a line stands for earlier messages.
    is_summarized: bool,
    /// Last message that was added.
    last: Option<NodeId>,
    /// True if the number of that message cannot be told from the texts before it.
    is_unnumbered: bool,
    breakpoints: Vec<Breakpoint>,
}

impl<'a> Transcript<'a> {
    fn new(history: &[Part], for_model: Option<&'a str>) -> Self {
        let model = |part: &Part| match &part.body {
            Body::Message(node) if node.message.role == Role::Assistant => Some(node.message.speaker.clone()),
            _ => None,
        };
        let models: BTreeSet<_> = history.iter().filter_map(model).collect();
        Self { model: for_model, names_models: models.len() > 1, ..Self::default() }
    }

    /// Adds text in the user's voice.
    fn say(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// Adds a line that stands for messages.
    fn stand_for(&mut self, line: &str) {
        self.is_summarized = true;
        self.say(line);
    }

    /// Adds a message that is shown verbatim, as `shown` in text.
    fn add(&mut self, node: &Node, message: &Message, shown: &str) {
        let follows = self.last.replace(node.id).is_some_and(|last| last.next() == node.id);
        if mem::take(&mut self.is_summarized) && self.breakpoints.is_empty() {
            self.flush();
            self.breakpoints.extend(self.end());
        }
        let text = render::escape(&message.text());
        let opening = shown.trim_end_matches('\n').strip_suffix(text.trim_end_matches('\n')).unwrap_or_default();
        match message.role {
            Role::Assistant => self.answer(message, opening, follows),
            Role::User | Role::System | Role::Tool => self.ask(node.id, message, opening),
        }
    }

    /// Adds a message of the model, without its number: the next message of the user tells its own unless this one
    /// `follows` the message before.
    fn answer(&mut self, message: &Message, opening: &str, follows: bool) {
        let (heading, label) = opening.rsplit_once('\n').unwrap_or(("", opening));
        if !heading.is_empty() {
            self.say(&format!("{heading}\n"));
        }
        // Text after the results of calls would teach a model to wait for text, so a heading is deferred instead.
        let is_named = self.names_models && !self.ends_with_results();
        if is_named {
            self.say(&format!("{}\n", label.trim_end()));
        }
        if !self.ends_with_results() {
            self.flush();
        }
        self.is_unnumbered |= !follows && !is_named;
        self.push(Role::Assistant, message.content_for(self.model));
    }

    /// Adds a message of the user or a tool.
    fn ask(&mut self, number: NodeId, message: &Message, opening: &str) {
        let is_result = |block: &&ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        let (results, said): (Vec<_>, Vec<_>) = message.content.iter().partition(is_result);
        self.push(Role::User, results.into_iter().cloned().collect());
        if said.is_empty() {
            return;
        }
        let is_unnumbered = mem::take(&mut self.is_unnumbered);
        match opening.strip_prefix('[') {
            Some(label) if is_unnumbered && !opening.contains("[Message ") => {
                self.say(&format!("[Message {number}, {label}"));
            }
            // Between texts of the user's role the label tells the message from what stands before.
            _ if opening == USER && self.begins() => {}
            _ => self.say(opening),
        }
        for block in said {
            match block {
                ContentBlock::Text(text) => self.say(&format!("{}\n", render::escape(text))),
                other => {
                    self.flush();
                    self.push(Role::User, vec![other.clone()]);
                }
            }
        }
        self.flush();
    }

    /// Puts the pending text into a block.
    fn flush(&mut self) {
        let text = mem::take(&mut self.pending);
        self.push(Role::User, vec![ContentBlock::Text(text.trim_matches('\n').to_owned())]);
    }

    /// Adds blocks, to the last message if it has the same role.
    fn push(&mut self, role: Role, mut blocks: Vec<ContentBlock>) {
        // Providers refuse empty texts.
        blocks.retain(|block| !matches!(block, ContentBlock::Text(text) if text.trim().is_empty()));
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => self.messages.push(Message::new(role, blocks)),
        }
    }

    /// True if the next text of the user begins a message.
    fn begins(&self) -> bool {
        self.pending.is_empty() && self.messages.last().is_none_or(|last| last.role == Role::Assistant)
    }

    fn ends_with_results(&self) -> bool {
        let last = self.messages.last().and_then(|message| message.content.last());
        matches!(last, Some(ContentBlock::ToolResult { .. }))
    }

    /// The present end of the messages.
    fn end(&self) -> Option<Breakpoint> {
        let block = self.messages.last()?.content.len().checked_sub(1)?;
        Some(Breakpoint { message: self.messages.len() - 1, block })
    }

    /// Adds the text after the history.
    fn close(mut self, rest: &str) -> ChatRequest {
        self.flush();
        let end = self.end();
        self.breakpoints.extend(end);
        self.breakpoints.dedup();
        self.say(rest);
        self.flush();
        pair(&mut self.messages);
        ChatRequest::new(self.messages).breakpoints(self.breakpoints)
    }
}

/// Shows calls without all their results right after them, and results without their call right before them, as text,
/// and puts results before everything else in their message: providers refuse anything else.
fn pair(messages: &mut [Message]) {
    let mut called: BTreeSet<String> = BTreeSet::new();
    for index in 0..messages.len() {
        let Some((message, after)) = messages.get_mut(index..).and_then(<[Message]>::split_first_mut) else { return };
        let answered: BTreeSet<&str> = after.first().into_iter().flat_map(Message::tool_results).collect();
        let mut calls = BTreeSet::new();
        for block in &mut message.content {
            let is_paired = match &*block {
                ContentBlock::ToolUse { id, .. } => answered.contains(id.as_str()) && calls.insert(id.clone()),
                ContentBlock::ToolResult { tool_use_id, .. } => called.remove(tool_use_id),
                _ => true,
            };
            if !is_paired {
                *block = ContentBlock::Text(block.text().into_owned());
            }
        }
        message.content.sort_by_key(|block| !matches!(block, ContentBlock::ToolResult { .. }));
        called = calls;
    }
}
