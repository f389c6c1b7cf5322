//! The messages of one answer whose source keeps calls together with their results.

use memory_core::{ContentBlock, Message, Role};
use serde_json::{Map, Value};

use crate::{blocks::Blocks, out::says_nothing};

/// A block with the members that it has no place for.
pub(crate) type Extended = (ContentBlock, Map<String, Value>);

/// An answer: words and calls of the model, results, and words again.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    messages: Vec<Message>,
    said: Blocks,
    results: Blocks,
}

impl Turn {
    /// Adds words of the model, which follow the results so far.
    pub(crate) fn say(&mut self, block: Extended) {
        if !self.results.blocks.is_empty() {
            self.close();
        }
        self.said.add(block);
    }

    /// Adds a call, with its result if there is one. Calls in a row are made at once.
    pub(crate) fn call(&mut self, call: Extended, result: Option<Extended>) {
        self.said.add(call);
        if let Some(result) = result {
            self.results.add(result);
        }
    }

    /// Ends a step: what follows is said after the results.
    pub(crate) fn close(&mut self) {
        for (role, blocks) in [(Role::Assistant, &mut self.said), (Role::Tool, &mut self.results)] {
            let blocks = std::mem::take(blocks);
            if !says_nothing(&blocks.blocks) {
                self.messages.push(blocks.message(role));
            }
        }
    }

    /// The messages, in order.
    pub(crate) fn messages(mut self) -> Vec<Message> {
        self.close();
        self.messages
    }
}

/// A text as a block.
pub(crate) fn text(text: &str) -> Extended {
    (ContentBlock::Text(text.to_owned()), Map::new())
}

/// Reasoning as a block.
pub(crate) fn thought(text: &str) -> Extended {
    (ContentBlock::Reasoning { text: text.to_owned(), signature: None }, Map::new())
}

/// The result of a call, as a block: a text, or JSON of any other shape as it is written.
pub(crate) fn result(id: &str, content: &Value, is_error: bool) -> Extended {
    let content = match content {
        Value::Null => Vec::new(),
        Value::String(text) => vec![ContentBlock::Text(text.clone())],
        other => vec![ContentBlock::Text(crate::exact::written(other))],
    };
    (ContentBlock::ToolResult { tool_use_id: id.to_owned(), content, is_error }, Map::new())
}
