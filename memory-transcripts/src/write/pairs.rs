//! Pairs calls and results as the APIs require: the next message answers each call, and each result answers one call.

use memory_core::{ContentBlock, Message, Role};

use super::LeftOut;

/// Text of a result that was never recorded.
const MISSING: &str = "No result was recorded: the call was interrupted.";

/// Pairs the calls and results of a conversation.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// The model's unwritten message, which further calls may extend.
    said: Option<Message>,
    /// Ids of its calls without a result so far.
    open: Vec<String>,
}

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

    /// Keeps a message of the model until the next one is known.
    fn says(&mut self, mut message: Message, left_out: &mut LeftOut) -> Option<Message> {
        if let Some(said) = self.said.as_mut().filter(|_| !self.open.is_empty()) {
            self.open.extend(message.tool_calls().map(str::to_owned));
            said.content.append(&mut message.content);
            return None;
        }
        let before = if self.said.is_none() { self.answer(left_out) } else { self.said.take() };
        self.open = message.tool_calls().map(str::to_owned).collect();
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
            let ContentBlock::ToolResult { tool_use_id, .. } = &block else {
                others.push(block);
                continue;
            };
            if let Some(open) = self.open.iter().position(|open| open == tool_use_id) {
                self.open.remove(open);
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
        let result = |tool_use_id| ContentBlock::ToolResult { tool_use_id, content: content(), is_error: true };
        self.open.drain(..).map(result).collect()
    }
}

fn as_text(block: &mut ContentBlock, left_out: &mut LeftOut) {
    left_out.as_text += 1;
    *block = ContentBlock::Text(block.text().into_owned());
}
