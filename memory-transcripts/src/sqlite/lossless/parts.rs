//! The parts of a message: text, reasoning, calls of tools and their results, files.

use memory_core::{ContentBlock, Json, Role};
use rusqlite::{Row, types::Value as Key};
use serde_json::{Value, json};

use crate::{
    TranscriptError, Why, blocks, exact,
    out::Out,
    pi,
    records::Place,
    sqlite::{cells, database::Database, schema::Tables},
};

const TABLE: &str = "message_parts";
/// Columns of the table, in the order of [`Part`].
const COLUMNS: [&str; 16] = [
    "ordinal",
    "part_type",
    "text_content",
    "is_ignored",
    "is_synthetic",
    "tool_call_id",
    "tool_name",
    "tool_status",
    "tool_input",
    "tool_output",
    "tool_error",
    "file_mime",
    "file_name",
    "file_url",
    "metadata",
    "subtask_prompt",
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
    kind: String,
    text: Option<String>,
    is_ignored: bool,
    is_synthetic: bool,
    call: Option<String>,
    name: Option<String>,
    status: Option<String>,
    input: Option<String>,
    output: Option<String>,
    error: Option<String>,
    media_type: Option<String>,
    file: Option<String>,
    url: Option<String>,
    metadata: Value,
    prompt: Option<String>,
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
        place: Place,
        out: &mut Out,
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
                if part.is_ignored || part.is_synthetic {
                    out.skip(Why::Note, &format!("part {} (of the program)", part.kind), place);
                    continue;
                }
                part.give(role, (&mut own, &mut results), place, out);
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
        let text = |index| cells::text(row, index);
        let is_set = |index| Ok::<_, rusqlite::Error>(cells::integer(row, index)?.is_some_and(|value| value != 0));
        let metadata = text(14)?.and_then(|text| exact::parse(&text).ok()).unwrap_or_default();
        Ok(Self {
            ordinal: row.get(0)?,
            kind: text(1)?.unwrap_or_else(|| "without type".to_owned()),
            text: text(2)?,
            is_ignored: is_set(3)?,
            is_synthetic: is_set(4)?,
            call: text(5)?,
            name: text(6)?,
            status: text(7)?,
            input: text(8)?,
            output: text(9)?,
            error: text(10)?,
            media_type: text(11)?,
            file: text(12)?,
            url: text(13)?,
            metadata,
            prompt: text(15)?,
        })
    }

    fn member(&self, name: &str) -> Option<&str> {
        self.metadata.get(name).and_then(Value::as_str)
    }

    /// The original block of the part, if it was kept.
    fn raw(&self) -> Option<&Value> {
        self.metadata.get("raw").filter(|raw| raw.get("type").is_some_and(Value::is_string))
    }

    fn call(&self) -> Option<&str> {
        self.call.as_deref().or_else(|| self.member("toolCallId")).filter(|id| !id.is_empty())
    }

    fn give(
        self,
        role: Role,
        (own, results): (&mut Vec<ContentBlock>, &mut Vec<ContentBlock>),
        place: Place,
        out: &mut Out,
    ) {
        match self.kind.as_str() {
            // A tool's plain text answer names its call in another column.
            "text" if role == Role::Tool && self.call().is_some() => results.push(self.result()),
            "text" => own.extend(self.text.map(ContentBlock::Text)),
            "reasoning" => own.extend(self.reasoning()),
            "tool" => {
                let raw = self.raw().and_then(|raw| raw.get("type")?.as_str());
                let is_result = raw.map_or(role == Role::Tool, |kind| RESULTS.contains(&kind));
                if !is_result || raw.is_some_and(|kind| CALLS.contains(&kind)) {
                    own.push(self.called());
                }
                if is_result || self.output.is_some() || self.error.is_some() {
                    results.push(self.result());
                }
            }
            "file" => own.push(self.file()),
            "patch" | "subtask" | "agent" => own.extend(self.kept()),
            note if NOTES.contains(&note) => out.skip(Why::Note, &format!("part {note}"), place),
            other => {
                out.skip(Why::Unknown, &format!("part {other} (kept as it came)"), place);
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
        let signature = self.raw().and_then(|raw| raw.get("signature")?.as_str()).map(str::to_owned);
        let text = self.text.as_deref().or_else(|| self.member("topLevelReasoningContent"));
        match (text, self.raw()) {
            (Some(text), _) => Some(ContentBlock::Reasoning { text: text.to_owned(), signature }),
            (None, Some(raw)) => Some(blocks::unknown(&raw.to_string())),
            (None, None) => None,
        }
    }

    fn called(&self) -> ContentBlock {
        let raw = |names: &[&str]| names.iter().find_map(|name| self.raw()?.get(*name));
        let input = match (raw(&["arguments", "input"]), &self.input) {
            (Some(raw), _) => raw.clone(),
            (None, Some(text)) => Value::from(text.as_str()),
            (None, None) => Value::Null,
        };
        let name = self.name.as_deref().or_else(|| self.member("toolName")).unwrap_or("unknown");
        blocks::call(self.call().unwrap_or("unknown"), name, &input)
    }

    /// The output of a tool, or its error.
    fn result(&self) -> ContentBlock {
        let tool_use_id = self.call().unwrap_or("unknown").to_owned();
        let failed = self.error.as_deref().filter(|error| !error.trim().is_empty());
        let said = self.raw().and_then(|raw| ["content", "output", "result"].iter().find_map(|name| raw.get(*name)));
        let content = match (failed, said, &self.output, &self.text) {
            (Some(error), ..) => vec![ContentBlock::Text(error.to_owned())],
            (None, Some(Value::Array(said)), ..) => said.iter().map(pi::block).collect(),
            (None, Some(Value::String(text)), ..) => vec![ContentBlock::Text(text.clone())],
            (None, _, Some(output), _) => vec![ContentBlock::Text(plain(output))],
            (None, _, None, Some(text)) => vec![ContentBlock::Text(text.clone())],
            (None, Some(other), None, None) => vec![ContentBlock::Text(other.to_string())],
            (None, None, None, None) => Vec::new(),
        };
        let marked = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        let is_error = failed.is_some()
            || self.status.as_deref() == Some("error")
            || marked(self.metadata.get("isError"))
            || marked(self.raw().and_then(|raw| raw.get("is_error").or(raw.get("isError"))));
        ContentBlock::ToolResult { tool_use_id, content, is_error }
    }

    fn file(&self) -> ContentBlock {
        if let Some(raw) = self.raw() {
            let block = pi::block(raw);
            if !matches!(block, ContentBlock::Unknown(_)) {
                return block;
            }
        }
        let is_picture = self.media_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
        match (&self.url, self.raw()) {
            (Some(url), _) if is_picture => blocks::image(url),
            (None, Some(raw)) if self.file.is_none() => blocks::unknown(&raw.to_string()),
            (Some(url), _) if url.starts_with("data:") => blocks::file(self.file.as_deref(), Some(url), None),
            (url, _) => blocks::file(self.file.as_deref(), None, url.as_deref()),
        }
    }

    /// A part of another type, kept verbatim.
    fn kept(&self) -> Option<ContentBlock> {
        let text = self.text.as_deref().or(self.prompt.as_deref()).filter(|text| !text.trim().is_empty());
        match (self.raw(), text) {
            (Some(raw), _) => Some(pi::block(raw)),
            (None, Some(text)) => {
                let kept = json!({"type": self.kind, "text": text});
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
