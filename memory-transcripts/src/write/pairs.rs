//! Pairs calls and results as the APIs require: the next message answers each call, each result answers one call, and
//! names and ids are of letters and digits.

use std::collections::HashSet;

use memory_core::{ContentBlock, Message, Role};

use super::{LeftOut, openai::is_name};

/// Text of a result that was never recorded.
const MISSING: &str = "No result was recorded: the call was interrupted.";

/// Pairs the calls and results of a conversation.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// The model's unwritten message, which further calls may extend.
    said: Option<Message>,
    /// Ids of its calls without a result so far, with the ids that are written.
    open: Vec<(String, String)>,
    /// Ids that were written, since no two calls may have the same.
    used: HashSet<String>,
    /// Calls of the message that is being read: their ids, and those that are written.
    renamed: Vec<(String, String)>,
}

/// Longest id that all APIs accept.
const LONGEST_ID: usize = 40;

impl Pairs {
    /// Messages to write once the next one is known.
    pub(super) fn next(&mut self, mut message: Message, left_out: &mut LeftOut) -> Vec<Message> {
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        if message.role == Role::Assistant {
            let (results, others): (Vec<_>, Vec<_>) = message.content.into_iter().partition(is_result);
            let mut written = Vec::new();
            if !results.is_empty() {
                written = self.answered(Message::new(Role::Tool, results), left_out);
            }
            message.content = others;
            self.rename(&mut message, left_out);
            written.extend(self.says(message, left_out));
            return written;
        }
        // Only the model calls tools.
        for block in &mut message.content {
            let is_call = matches!(block, ContentBlock::ToolUse { .. });
            if is_call || message.role == Role::System && is_result(block) {
                as_text(block, left_out);
            }
        }
        if message.role == Role::System {
            // A system message may not separate a call from its results.
            let before = match (&self.said, self.open.is_empty()) {
                (_, true) => self.said.take(),
                (None, false) => self.answer(left_out),
                (Some(_), false) => None,
            };
            return before.into_iter().chain([message]).collect();
        }
        self.answered(message, left_out)
    }

    /// Gives the calls of a message names and ids that the APIs accept.
    fn rename(&mut self, message: &mut Message, left_out: &mut LeftOut) {
        for block in &mut message.content {
            let ContentBlock::ToolUse { id, name, .. } = block else { continue };
            let given = id.clone();
            if !is_name(id) || id.len() > LONGEST_ID || self.used.contains(id) {
                let free =
                    (self.used.len()..).map(|number| format!("call_{number}")).find(|id| !self.used.contains(id));
                *id = free.unwrap_or_default();
            }
            let plain = plain_name(name);
            left_out.renamed += u64::from(*id != given || plain != *name);
            *name = plain;
            self.used.insert(id.clone());
            self.renamed.push((given, id.clone()));
        }
    }

    /// Keeps a message of the model until the next one is known.
    fn says(&mut self, mut message: Message, left_out: &mut LeftOut) -> Option<Message> {
        let calls = std::mem::take(&mut self.renamed);
        if let Some(said) = self.said.as_mut().filter(|_| !self.open.is_empty()) {
            self.open.extend(calls);
            said.content.append(&mut message.content);
            return None;
        }
        let before = if self.said.is_none() { self.answer(left_out) } else { self.said.take() };
        self.open = calls;
        self.said = Some(message);
        before
    }

    /// The unwritten message of the model, and a message that may answer it.
    fn answered(&mut self, mut message: Message, left_out: &mut LeftOut) -> Vec<Message> {
        if message.content.is_empty() {
            return Vec::new();
        }
        let said = self.said.take();
        let (mut results, mut others) = (Vec::new(), Vec::new());
        for mut block in message.content {
            let ContentBlock::ToolResult { tool_use_id, .. } = &mut block else {
                others.push(block);
                continue;
            };
            if let Some(open) = self.open.iter().position(|(id, _)| id == tool_use_id) {
                (_, *tool_use_id) = self.open.remove(open);
                results.push(block);
            } else {
                as_text(&mut block, left_out);
                others.push(block);
            }
        }
        // More results may follow as separate messages.
        if !others.is_empty() {
            results.extend(self.missing(left_out));
        }
        results.append(&mut others);
        message.content = results;
        said.into_iter().chain([message]).collect()
    }

    /// Messages to write at the end.
    pub(super) fn end(&mut self, left_out: &mut LeftOut) -> Vec<Message> {
        self.said.take().into_iter().chain(self.answer(left_out)).collect()
    }

    /// A message with the missing results.
    fn answer(&mut self, left_out: &mut LeftOut) -> Option<Message> {
        let missing = self.missing(left_out);
        (!missing.is_empty()).then(|| Message::new(Role::Tool, missing))
    }

    /// Placeholders for results that were never recorded.
    fn missing(&mut self, left_out: &mut LeftOut) -> Vec<ContentBlock> {
        left_out.unanswered += self.open.len() as u64;
        let content = || vec![ContentBlock::Text(MISSING.to_owned())];
        let result = |(_, tool_use_id)| ContentBlock::ToolResult { tool_use_id, content: content(), is_error: true };
        self.open.drain(..).map(result).collect()
    }
}

/// The name of a tool in letters and digits.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

fn as_text(block: &mut ContentBlock, left_out: &mut LeftOut) {
    left_out.as_text += 1;
    // Without a title, the words of a tool would be the user's.
    let title = if matches!(block, ContentBlock::ToolResult { .. }) { "Result of a tool:\n" } else { "" };
    *block = ContentBlock::Text(format!("{title}{}", block.text()));
}
