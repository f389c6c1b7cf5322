//! The parts of a message: text, reasoning, calls of tools and their results, files.

use std::collections::HashMap;

use memory_core::{ContentBlock, Json, Role};
use rusqlite::{Row, types::Value as Key};
use serde_json::{Value, json};

use crate::{
    TranscriptError, Why, blocks, exact,
    out::ItemQueue,
    pi,
    sqlite::{
        cells,
        database::{Database, Tables},
    },
};

const TABLE: &str = "message_parts";
/// Columns of the table that are read.
#[rustfmt::skip]
const COLUMNS: [&str; 16] = [
    "ordinal", "part_type", "text_content", "is_ignored", "is_synthetic", "tool_call_id", "tool_name", "tool_status",
    "tool_input", "tool_output", "tool_error", "file_mime", "file_name", "file_url", "metadata", "subtask_prompt",
];
/// Types of parts that are notes of the program.
const NOTES: [&str; 5] = ["compaction", "step_start", "step_finish", "snapshot", "retry"];
/// Types of blocks that are calls, and types that are results, as various programs name them.
const CALLS: [&str; 7] = ["toolCall", "toolUse", "tool_use", "tool-use", "tool_call", "functionCall", "function_call"];
const RESULTS: [&str; 4] = ["toolResult", "tool_result", "tool_use_result", "function_call_output"];

/// Consecutive blocks by role.
pub(super) type Blocks = Vec<(Role, Vec<ContentBlock>)>;

#[derive(Debug)]
pub(super) struct Parts {
    /// The columns that the table has; `None` without such a table.
    columns: Option<String>,
}

/// A row of the table of parts.
#[derive(Debug)]
struct Part {
    ordinal: Key,
    /// Texts of the columns that have one.
    texts: HashMap<&'static str, String>,
    metadata: Value,
}

impl Parts {
    pub(super) fn new(tables: &Tables) -> Self {
        let is_there = tables.has(TABLE, &["message_id", "ordinal", "part_type"]);
        Self { columns: is_there.then(|| tables.columns(TABLE, &COLUMNS)) }
    }

    /// The content of a message: its own blocks, then the results of its calls if it holds both. A message without
    /// parts has only its `content`.
    pub(super) fn read(
        &self,
        database: &mut Database,
        message: &Key,
        (role, content): (Role, Option<&str>),
        out: &mut ItemQueue,
    ) -> Result<Blocks, TranscriptError> {
        let (mut own, mut results) = (Vec::new(), Vec::new());
        let mut count = 0;
        let mut last = None;
        loop {
            let page = self.page(database, message, last.as_ref())?;
            let Some(end) = page.last() else { break };
            last = Some(end.ordinal.clone());
            for part in page {
                count += 1;
                if part.is_set("is_ignored") || part.is_set("is_synthetic") {
                    out.skip(Why::Note, &format!("part {} (of the program)", part.kind()));
                    continue;
                }
                part.give(role, (&mut own, &mut results), out);
            }
        }
        if let Some(content) = content.filter(|content| count == 0 && !content.trim().is_empty()) {
            own.push(ContentBlock::Text(content.to_owned()));
        }
        Ok(match role {
            // In a tool's message, the results are its own content.
            Role::Tool => {
                results.append(&mut own);
                vec![(role, results)]
            }
            _ => vec![(role, own), (Role::Tool, results)],
        })
    }

    fn page(&self, database: &mut Database, message: &Key, after: Option<&Key>) -> Result<Vec<Part>, TranscriptError> {
        let Some(columns) = &self.columns else { return Ok(Vec::new()) };
        let from = format!("SELECT {columns} FROM {TABLE} WHERE message_id = ?1");
        database.page_of(&from, message, ("ordinal", after), Part::of)
    }
}

impl Part {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let mut texts = HashMap::new();
        for (index, name) in COLUMNS.into_iter().enumerate() {
            texts.extend(cells::text(row, index)?.map(|text| (name, text)));
        }
        let metadata = texts.remove("metadata").and_then(|text| exact::parse(&text).ok()).unwrap_or_default();
        Ok(Self { ordinal: row.get(0)?, texts, metadata })
    }

    fn text(&self, column: &str) -> Option<&str> {
        self.texts.get(column).map(String::as_str)
    }

    fn is_set(&self, column: &str) -> bool {
        self.text(column).and_then(|text| text.trim().parse::<i64>().ok()).is_some_and(|value| value != 0)
    }

    fn kind(&self) -> &str {
        self.text("part_type").unwrap_or("without type")
    }

    fn member(&self, name: &str) -> Option<&str> {
        self.metadata.get(name)?.as_str()
    }

    /// The original block of the part, if it was kept.
    fn raw(&self) -> Option<&Value> {
        self.metadata.get("raw").filter(|raw| raw["type"].is_string())
    }

    fn call(&self) -> Option<&str> {
        self.text("tool_call_id").or_else(|| self.member("toolCallId")).filter(|id| !id.is_empty())
    }

    fn give(self, role: Role, (own, results): (&mut Vec<ContentBlock>, &mut Vec<ContentBlock>), out: &mut ItemQueue) {
        match self.kind() {
            // A tool's plain text answer names its call in another column.
            "text" if role == Role::Tool && self.call().is_some() => results.push(self.result()),
            "text" => own.extend(self.text("text_content").map(|text| ContentBlock::Text(text.to_owned()))),
            "reasoning" => own.extend(self.reasoning()),
            "tool" => {
                let raw = self.raw().and_then(|raw| raw["type"].as_str());
                let is_result = raw.map_or(role == Role::Tool, |kind| RESULTS.contains(&kind));
                if !is_result || raw.is_some_and(|kind| CALLS.contains(&kind)) {
                    own.push(self.called());
                }
                if is_result || self.text("tool_output").is_some() || self.text("tool_error").is_some() {
                    results.push(self.result());
                }
            }
            "file" => own.push(self.file()),
            "patch" | "subtask" | "agent" => own.extend(self.kept()),
            note if NOTES.contains(&note) => out.skip(Why::Note, &format!("part {note}")),
            other => {
                out.skip(Why::Unknown, &format!("part {other} (kept as it came)"));
                own.extend(self.kept());
            }
        }
    }

    fn reasoning(&self) -> Option<ContentBlock> {
        if let Some(raw) = self.raw() {
            let block = pi::block(raw);
            if matches!(block, ContentBlock::Reasoning { .. }) {
                return Some(block);
            }
        }
        let signature = self.raw().and_then(|raw| raw["signature"].as_str()).map(str::to_owned);
        let text = self.text("text_content").or_else(|| self.member("topLevelReasoningContent"));
        match (text, self.raw()) {
            (Some(text), _) => Some(ContentBlock::Reasoning { text: text.to_owned(), signature }),
            (None, Some(raw)) => Some(blocks::unknown(&raw.to_string())),
            (None, None) => None,
        }
    }

    fn called(&self) -> ContentBlock {
        let raw = |names: &[&str]| names.iter().find_map(|name| self.raw()?.get(*name));
        let input = raw(&["arguments", "input"]).cloned().unwrap_or_else(|| self.text("tool_input").into());
        let name = self.text("tool_name").or_else(|| self.member("toolName")).unwrap_or("unknown");
        blocks::call(self.call().unwrap_or("unknown"), name, &input)
    }

    /// The output of a tool, or its error.
    fn result(&self) -> ContentBlock {
        let tool_use_id = self.call().unwrap_or("unknown").to_owned();
        let failed = self.text("tool_error").filter(|error| !error.trim().is_empty());
        let said = self.raw().and_then(|raw| ["content", "output", "result"].iter().find_map(|name| raw.get(*name)));
        let content = match (failed, said, self.text("tool_output"), self.text("text_content")) {
            (Some(error), ..) => vec![ContentBlock::Text(error.to_owned())],
            (None, Some(Value::Array(said)), ..) => said.iter().map(pi::block).collect(),
            (None, Some(Value::String(text)), ..) => vec![ContentBlock::Text(text.clone())],
            (None, _, Some(output), _) => vec![ContentBlock::Text(plain(output))],
            (None, _, None, Some(text)) => vec![ContentBlock::Text(text.to_owned())],
            (None, Some(other), None, None) => vec![ContentBlock::Text(other.to_string())],
            (None, None, None, None) => Vec::new(),
        };
        let is_error = failed.is_some()
            || self.text("tool_status") == Some("error")
            || self.metadata.get("isError").is_some_and(|is_error| is_error == true)
            || self.raw().is_some_and(|raw| *raw.get("is_error").unwrap_or(&raw["isError"]) == true);
        ContentBlock::ToolResult { tool_use_id, content, is_error }
    }

    fn file(&self) -> ContentBlock {
        if let Some(raw) = self.raw() {
            let block = pi::block(raw);
            if !matches!(block, ContentBlock::Unknown(_)) {
                return block;
            }
        }
        let is_picture = self.text("file_mime").is_some_and(|kind| kind.starts_with("image/"));
        let name = self.text("file_name");
        match (self.text("file_url"), self.raw()) {
            (Some(url), _) if is_picture => blocks::image(url),
            (None, Some(raw)) if name.is_none() => blocks::unknown(&raw.to_string()),
            (Some(url), _) if url.starts_with("data:") => blocks::file(name, Some(url), None),
            (url, _) => blocks::file(name, None, url),
        }
    }

    /// A part of another type, kept verbatim.
    fn kept(&self) -> Option<ContentBlock> {
        let text = self.text("text_content").or(self.text("subtask_prompt")).filter(|text| !text.trim().is_empty());
        match (self.raw(), text) {
            (Some(raw), _) => Some(pi::block(raw)),
            (None, Some(text)) => {
                let kept = json!({"type": self.kind(), "text": text});
                Some(ContentBlock::Unknown(Json::from_value(&kept)))
            }
            (None, None) => None,
        }
    }
}

/// The output of a tool, which is stored as JSON; a JSON string is decoded.
fn plain(output: &str) -> String {
    serde_json::from_str::<String>(output).unwrap_or_else(|_| output.to_owned())
}
