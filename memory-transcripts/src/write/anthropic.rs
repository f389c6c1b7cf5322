//! Messages for Anthropic's Messages API.

use std::io::{self, Write};

use memory_core::{ContentBlock, Media, Message, Role, json::message_to_json};
use serde_json::{Value, json};

use super::LeftOut;
use crate::exact;

/// Types of blocks that the API accepts and core keeps verbatim.
#[rustfmt::skip]
const KNOWN: [&str; 9] = [
    "redacted_thinking", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
    "code_execution_tool_result", "search_result", "mcp_tool_use", "mcp_tool_result", "compaction",
];

/// Text of a message that is put first, since the API wants a person to begin.
const OPENING: &str = "(The conversation begins with the assistant.)";
/// Formats whose messages without a model may be of Claude.
const OWN: [&str; 5] = ["anthropic", "claude", "claude-code", "bedrock", "strands"];

/// True if the model of a message is one of Anthropic's, as far as that is known.
fn is_of_claude(message: &Message) -> bool {
    let source = message.metadata.get("source").map(exact::value);
    match message.model() {
        Some(model) => model.to_lowercase().contains("claude"),
        None => source.is_none_or(|source| source.as_str().is_some_and(|source| OWN.contains(&source))),
    }
}

#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// System instructions, which are separate from the messages.
    system: Vec<Value>,
    /// Role of the unfinished message; consecutive blocks of one role are one message.
    open: Option<&'static str>,
}

impl Anthropic {
    pub(super) fn write(&mut self, out: &mut impl Write, message: &Message, left_out: &mut LeftOut) -> io::Result<()> {
        let is_own = is_of_claude(message);
        let of_block = |block: &ContentBlock| match block {
            // A signature of another provider is refused.
            ContentBlock::Reasoning { .. } if !is_own => {
                left_out.reasoning += 1;
                None
            }
            block => written(block, left_out),
        };
        let blocks: Vec<_> = message.content.iter().filter_map(of_block).collect();
        if message.role == Role::System {
            self.system.extend(blocks.into_iter().filter(|block| block["type"] == "text"));
            return Ok(());
        }
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        if self.open.is_none() && role == "assistant" && !blocks.is_empty() {
            left_out.openings += 1;
            let opening = json!({"role": "user", "content": [{"type": "text", "text": OPENING}]});
            write!(out, "\n{opening},")?;
        }
        for block in blocks {
            let before = match self.open {
                Some(open) if open == role => ",\n  ".to_owned(),
                Some(_) => format!("]}},\n{{\"role\": \"{role}\", \"content\": [\n  "),
                None => format!("\n{{\"role\": \"{role}\", \"content\": [\n  "),
            };
            self.open = Some(role);
            write!(out, "{before}{}", exact::written(&block))?;
        }
        Ok(())
    }

    pub(super) fn end(self, out: &mut impl Write) -> io::Result<()> {
        if self.open.is_some() {
            out.write_all(b"]}")?;
        }
        out.write_all(b"\n]")?;
        if !self.system.is_empty() {
            out.write_all(b",\n\"system\": ")?;
            serde_json::to_writer(&mut *out, &self.system)?;
        }
        out.write_all(b"}\n")
    }
}

/// A block in the API's form; `None` for a blank one, which the API rejects.
fn written(block: &ContentBlock, left_out: &mut LeftOut) -> Option<Value> {
    let as_text = |block: &ContentBlock, left_out: &mut LeftOut| {
        left_out.as_text += 1;
        let text = block.text();
        (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
    };
    let is_data = |media: &Media| match media {
        Media::Url(url) => url.starts_with("http"),
        Media::Text { .. } | Media::Bytes { .. } => true,
    };
    match block {
        ContentBlock::Text(text) => (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text})),
        // The API rejects reasoning without a signature.
        ContentBlock::Reasoning { signature: None, .. } => {
            left_out.reasoning += 1;
            None
        }
        ContentBlock::Image(media) | ContentBlock::Document { media, .. } if !is_data(media) => {
            as_text(block, left_out)
        }
        ContentBlock::Unknown(json) => {
            let value = exact::value(json);
            let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
            if KNOWN.contains(&kind) { Some(value) } else { as_text(block, left_out) }
        }
        ContentBlock::ToolUse { id, name, input } => {
            let value = exact::value(input);
            let input = if value.is_object() { value } else { json!({"input": value}) };
            Some(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            let content: Vec<_> = content.iter().filter_map(|block| written(block, left_out)).collect();
            Some(json!({"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": is_error}))
        }
        block => message_to_json(&Message::new(Role::User, vec![block.clone()])).get("content")?.get(0).cloned(),
    }
}
