//! Records that only the output of `claude -p --output-format stream-json` has, and that of Qwen Code.

use memory_core::ContentBlock;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::{ClaudeCode, line::Line};
use crate::{TranscriptError, Why, exact, out::ItemQueue};

/// The content of a record without a message: a result of a tool, or what the model said last.
pub(super) fn content(line: &Line<'_>, raw: &str) -> Option<Box<RawValue>> {
    match line.kind.as_ref() {
        "tool_result" => {
            let value =
                &exact::parse(raw).ok().filter(|value| value.get("tool_use_id").is_some_and(Value::is_string))?;
            let block = json!({"type": "tool_result", "tool_use_id": value["tool_use_id"], "content": value["content"],
                "is_error": value["is_error"] == true});
            to_raw_value(&[block]).ok()
        }
        "result" => line.result.map(ToOwned::to_owned),
        _ => None,
    }
}

impl ClaudeCode {
    /// Keeps the last answer, which the result of a run repeats.
    pub(super) fn hear(&mut self, line: &Line<'_>, blocks: &[ContentBlock]) {
        let words = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => Some(text.clone()),
            _ => None,
        };
        let texts: Vec<_> = blocks.iter().filter_map(words).collect();
        if !line.is_sidechain() && !texts.is_empty() {
            self.answer = texts.join("\n");
        }
    }

    /// Takes the result of a run. It repeats the last answer, unless the stream left that out.
    pub(super) fn result(&mut self, line: &Line<'_>, raw: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let said = line.result.and_then(|said| serde_json::from_str::<String>(said.get()).ok()).unwrap_or_default();
        let said = said.trim();
        if line.is_error() || self.is_resumed || said.is_empty() || self.answer.contains(said) {
            self.skip(line, Why::Repeated, "result", out);
            return Ok(());
        }
        self.said(line, raw, out)
    }
}
