//! The formats by name, and recognition of a format by a file's first bytes.

mod sniff;

use std::{fmt, str::FromStr};

use crate::{aider, markdown, whatsapp};
use sniff::{Seen, values};

/// A format of transcripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Sessions of Claude Code: `.jsonl` files below `~/.claude/projects`.
    ClaudeCode,
    /// Rollouts of Codex: `.jsonl` and `.jsonl.zst` files below `~/.codex/sessions`.
    Codex,
    /// Session files of pi, and of OpenClaw before it kept sessions in SQLite: `.jsonl` files.
    Pi,
    /// The database of an agent of OpenClaw: `.sqlite` files below `~/.openclaw/agents`.
    OpenClaw,
    /// The database of the plugin lossless-claw of OpenClaw: `~/.openclaw/lcm.db`.
    LosslessClaw,
    /// The export of ChatGPT: a zip archive, or its `conversations.json`.
    ChatGpt,
    /// The export of Claude.ai: a zip archive, or its `conversations.json`.
    ClaudeAi,
    /// Messages of OpenAI's Chat Completions API, as JSON or JSON lines.
    OpenAi,
    /// Items of OpenAI's Responses API, as JSON or JSON lines.
    Responses,
    /// Messages of Anthropic's Messages API, as JSON or JSON lines.
    Anthropic,
    /// Messages of the Converse API of Amazon Bedrock, as JSON or JSON lines.
    Bedrock,
    /// Messages of LangChain, as dictionaries or serialized, as JSON or JSON lines.
    LangChain,
    /// Session folders of Strands Agents.
    Strands,
    /// Sessions and checkpoints of Gemini CLI, and contents of Google's API.
    Gemini,
    /// Sessions of Qwen Code: `.jsonl` files below `~/.qwen/projects`.
    QwenCode,
    /// Sessions of opencode: an export, its `storage` folder, or its database.
    OpenCode,
    /// `ui_messages.json` of a task of Cline or Roo Code.
    Cline,
    /// A session of Claude Code on the web: an object with `loglines`.
    ClaudeCodeWeb,
    /// Output of `codex exec --json`.
    CodexExec,
    /// Training data and collected chats: ShareGPT, LMSYS, WildChat, Alpaca, Open Assistant, prompts with answers.
    Dataset,
    /// The chat history of Aider.
    Aider,
    /// An exported chat of WhatsApp.
    WhatsApp,
    /// A plain transcript: a heading or a label for each speaker.
    Markdown,
}

impl Format {
    /// All formats.
    #[rustfmt::skip]
    pub const ALL: [Self; 23] = [
        Self::ClaudeCode, Self::ClaudeCodeWeb, Self::Codex, Self::CodexExec, Self::Gemini, Self::QwenCode,
        Self::OpenCode, Self::Cline, Self::Aider, Self::Pi, Self::OpenClaw, Self::LosslessClaw, Self::ChatGpt,
        Self::ClaudeAi, Self::OpenAi, Self::Responses, Self::Anthropic, Self::Bedrock, Self::LangChain, Self::Strands,
        Self::Dataset, Self::WhatsApp, Self::Markdown,
    ];

    /// The name on a command line; it never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::OpenClaw => "openclaw",
            Self::LosslessClaw => "lossless-claw",
            Self::ChatGpt => "chatgpt",
            Self::ClaudeAi => "claude",
            Self::OpenAi => "openai",
            Self::Responses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
            Self::LangChain => "langchain",
            Self::Strands => "strands",
            Self::Gemini => "gemini",
            Self::QwenCode => "qwen-code",
            Self::OpenCode => "opencode",
            Self::Cline => "cline",
            Self::ClaudeCodeWeb => "claude-code-web",
            Self::CodexExec => "codex-exec",
            Self::Dataset => "dataset",
            Self::Aider => "aider",
            Self::WhatsApp => "whatsapp",
            Self::Markdown => "markdown",
        }
    }

    /// True if its files name their conversations. A file of any other format is one conversation, named by the file.
    #[must_use]
    pub const fn names_conversations(self) -> bool {
        !self.is_list()
            && !matches!(self, Self::Cline | Self::ClaudeCodeWeb | Self::Aider | Self::WhatsApp | Self::Markdown)
    }

    /// True for lists of messages, whose shapes overlap, so that a given format prevails over a recognized one.
    #[must_use]
    pub const fn is_list(self) -> bool {
        matches!(
            self,
            Self::OpenAi | Self::Responses | Self::Anthropic | Self::Bedrock | Self::LangChain | Self::Dataset
        )
    }

    /// True for a SQLite database, which is read in place and so cannot come through a pipe.
    #[must_use]
    pub const fn is_database(self) -> bool {
        matches!(self, Self::OpenClaw | Self::LosslessClaw)
    }

    /// True if a record is a line.
    pub(crate) const fn is_lines(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex | Self::Pi | Self::QwenCode | Self::CodexExec) || self.is_text()
    }

    /// True for plain text, in which blank lines have a meaning.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Markdown | Self::Aider | Self::WhatsApp)
    }

    /// True if a file can be followed while it is written.
    #[must_use]
    pub const fn can_be_followed(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// The format of a file by its first bytes, which may be cut off; `None` if they fit no format, or several.
    #[must_use]
    pub fn of_beginning(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // Notes of a program may come first.
        let of_json = || values(text).take(MOST_VALUES).find_map(|seen| of_value(&seen));
        match text.starts_with('{') || text.starts_with("[{") {
            true => of_json(),
            false if aider::is_history(text) => Some(Self::Aider),
            false if whatsapp::is_chat(text) => Some(Self::WhatsApp),
            false if markdown::is_transcript(text) => Some(Self::Markdown),
            false => of_json(),
        }
    }
}

/// Magic bytes of a SQLite database.
pub(crate) const SQLITE: &[u8] = b"SQLite format 3\0";

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a text that names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is none of the formats {}", memory_core::text::one_line(.0), Format::names())]
pub struct UnknownFormatName(pub String);

impl FromStr for Format {
    type Err = UnknownFormatName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == name);
        found.ok_or_else(|| UnknownFormatName(name.to_owned()))
    }
}

/// Values at the start of a file by which its format is recognized.
const MOST_VALUES: usize = 20;
/// Members of a chat of ChatGPT, one of which stands next to `mapping`.
const CHATGPT: [&str; 6] = ["current_node", "conversation_id", "create_time", "title", "children", "author"];
/// Record types of Codex.
#[rustfmt::skip]
const CODEX: [&str; 8] = [
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "ghost_snapshot",
    "session_state",
];
/// Parts of a content of Google's API, apart from texts.
const GEMINI: [&str; 4] = ["functionCall", "functionResponse", "inlineData", "fileData"];
/// Event types of `codex exec --json`.
const CODEX_EXEC: [&str; 4] = ["thread.started", "turn.started", "item.started", "item.completed"];
/// Record types of Claude Code, and those of them that name no session.
#[rustfmt::skip]
const CLAUDE_CODE: [&str; 22] = [
    "user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation", "custom-title", "ai-title",
    "progress", "attachment", "last-prompt", "agent-name", "agent-color", "pr-link", "tag", "mode", "permission-mode",
    "content-replacement", "speculation-accept", "worktree-state", "result", "tool_result",
];
const NAMELESS: [&str; 4] = ["summary", "file-history-snapshot", "queue-operation", "custom-title"];
/// Message types of LangChain.
const LANGCHAIN: [&str; 7] = ["human", "ai", "system", "tool", "function", "chat", "remove"];
/// Item types that only the Responses API has.
#[rustfmt::skip]
const RESPONSES: [&str; 7] = [
    "function_call", "function_call_output", "reasoning", "custom_tool_call", "web_search_call",
    "image_generation_call", "code_interpreter_call",
];
/// Pairs of members of data sets: a prompt, or words and their speaker, and what belongs to it.
#[rustfmt::skip]
const PAIRS: [(&str, &[&str]); 9] = [
    ("instruction", &["output", "response"]),
    ("prompt", &["completion", "response", "chosen", "answer", "output"]),
    ("question", &["answer", "response", "chosen"]),
    ("query", &["answer", "response"]),
    ("input", &["ideal"]),
    ("conversation", &["conversation_id", "conversation_hash", "turn", "language"]),
    ("conversation_a", &["conversation_b"]),
    ("chosen_messages", &["rejected_messages"]),
    ("from", &["value"]),
];

fn of_value(seen: &Seen) -> Option<Format> {
    let has = |key: &str| seen.has(key);
    let any = |keys: &[&str]| keys.iter().any(|key| seen.has(key));
    let kind = seen.kind.as_deref().unwrap_or_default();
    let is = |kinds: &[&str]| kinds.contains(&kind);
    let any_inner = |keys: &[&str]| keys.iter().any(|key| seen.inner(key));
    let found = if has("mapping") && any_inner(&CHATGPT) {
        Format::ChatGpt
    } else if has("chat_messages") && (any(&["uuid", "name"]) || seen.inner("sender"))
        || has("conversations_memory") && any(&["project_memories", "account_uuid"])
        || has("docs") && has("prompt_template")
    {
        Format::ClaudeAi
    } else if has("payload") && is(&CODEX)
        || has("instructions") && has("timestamp") && has("id") && !has("type") && !has("output")
    {
        Format::Codex
    } else if is(&CODEX_EXEC) && any(&["thread_id", "item"]) || kind == "turn.started" {
        Format::CodexExec
    } else if has("loglines") && seen.inner("message") {
        Format::ClaudeCodeWeb
    } else if has("ts") && is(&["say", "ask"]) && any(&["say", "ask"]) {
        Format::Cline
    } else if has("sessionId") && any(&["projectHash", "startTime"])
        || any(&["$set", "$rewindTo"])
        || has("parts") && has("role") && (seen.has_bare_text || any_inner(&GEMINI))
        || any(&["history", "contents"]) && seen.inner("parts")
        || has("sessionId") && has("messages") && seen.is_kind(&["gemini"])
        || kind == "gemini" && has("content")
    {
        Format::Gemini
    } else if has("info") && (has("parts") || has("messages") && (seen.inner("parts") || seen.inner("projectID")))
        || has("messages") && seen.inner("info") && seen.inner("parts")
    {
        Format::OpenCode
    } else if has("uuid") && has("sessionId") && (has("systemPayload") || seen.inner("parts") && !seen.inner("content"))
    {
        Format::QwenCode
    } else if is(&CLAUDE_CODE) && any(&["sessionId", "session_id", "leafUuid", "parentUuid"])
        || is(&NAMELESS) && any(&["messageId", "summary", "snapshot"])
        || is(&["user", "assistant"]) && has("message") && seen.inner("role") && !has("role")
    {
        Format::ClaudeCode
    } else if kind == "session" && has("id") && has("timestamp") {
        Format::Pi
    } else if has("lc") && (has("kwargs") || seen.inner("kwargs")) || is(&LANGCHAIN) && has("data") {
        Format::LangChain
    } else if has("message_tree_id") && any(&["prompt", "text"]) {
        Format::Dataset
    } else if has("request") && has("response") && any_inner(&["messages", "input"]) {
        // A log of requests to an API and its responses.
        return of_messages(seen).or(Some(Format::OpenAi));
    } else if has("choices") && (seen.inner("message") || seen.inner("text")) {
        Format::OpenAi
    } else if has("conversations") && (seen.inner("from") || seen.inner("role"))
        || PAIRS.iter().any(|(first, others)| has(first) && any(others))
    {
        Format::Dataset
    } else if has("role") {
        return of_messages(seen);
    } else if has("messages") {
        return if seen.inner("lc") || seen.inner("data") && seen.is_kind(&["human", "ai"]) {
            Some(Format::LangChain)
        } else if has("sessionId") && any(&["system_prompt", "origin"]) {
            // Sessions of Cline.
            Some(Format::Anthropic)
        } else if any(&["modelId", "inferenceConfig"]) {
            Some(Format::Bedrock)
        } else if seen.inner("value") && (seen.inner("from") || seen.is_kind(&["text"]) && !seen.inner("text")) {
            Some(Format::Dataset)
        } else {
            let by_system = if any(&["system", "system_prompt"]) { Format::Anthropic } else { Format::OpenAi };
            of_messages(seen).or(seen.inner("role").then_some(by_system))
        };
    } else if is(&RESPONSES) || has("output") && any(&["input", "model"]) || has("input") && has("model") {
        Format::Responses
    } else {
        return None;
    };
    Some(found)
}

/// The API whose blocks these are; `None` for texts only, which all APIs have.
fn of_messages(seen: &Seen) -> Option<Format> {
    const BEDROCK: [&str; 4] = ["toolUse", "toolResult", "reasoningContent", "cachePoint"];
    if BEDROCK.iter().any(|key| seen.inner(key)) || seen.has_bare_text {
        return Some(Format::Bedrock);
    }
    if seen.is_kind(&["input_text", "output_text", "input_image", "input_file"]) || seen.is_kind(&RESPONSES) {
        return Some(Format::Responses);
    }
    if seen.is_kind(&["tool_use", "tool_result", "thinking", "redacted_thinking"]) || seen.inner("stop_reason") {
        return Some(Format::Anthropic);
    }
    // The plain JSON lines of `memory import` have members of their own and are no other format.
    let is_ours = ["key", "speaker", "at", "keep_out_of_summaries", "session"].iter().any(|key| seen.has(key));
    let calls =
        ["tool_calls", "tool_call_id", "function_call", "refusal"].iter().any(|key| seen.inner(key) || seen.has(key));
    (!is_ours && (calls || seen.is_kind(&["image_url"]) || seen.in_list && seen.has("role"))).then_some(Format::OpenAi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("cursor".parse::<Format>().unwrap_err().to_string().contains("claude-code, claude-code-web, codex"));
    }

    #[test]
    fn formats_are_recognized_by_their_beginnings() {
        let check = |text: &str, expected: Option<Format>| {
            assert_eq!(Format::of_beginning(text.as_bytes()), expected, "{text}");
            // A beginning need not be whole.
            if text.ends_with("…") {
                return;
            }
            let cut = text.get(..text.len() - 2).unwrap();
            assert_eq!(Format::of_beginning(cut.as_bytes()), expected, "{cut}");
        };
        check(r#"[{"title":"x","create_time":1.5,"mapping":{"a":{"id":"a"}},"#, Some(Format::ChatGpt));
        check(r#"[ {"uuid":"u","name":"n","chat_messages":[{"uuid":"m"}]}]"#, Some(Format::ClaudeAi));
        check(
            r#"{"parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user"}}"#,
            Some(Format::ClaudeCode),
        );
        check(r#"{"type":"summary","summary":"x","leafUuid":"u"}"#, Some(Format::ClaudeCode));
        check(r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#, Some(Format::ClaudeCode));
        check(r#"{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}"#, Some(Format::Codex));
        check(r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#, Some(Format::Pi));
        check(r#"[{"type":"human","data":{"content":"x"}},"#, Some(Format::LangChain));
        check(r#"{"lc":1,"type":"constructor","id":["a"],"kwargs":{}}"#, Some(Format::LangChain));
        check(r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#, Some(Format::OpenAi));
        check(r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]"#, Some(Format::OpenAi));
        check(r#"{"system":"be","messages":[{"role":"user","content":"hi"}]}"#, Some(Format::Anthropic));
        check(r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t"}]}]"#, Some(Format::Anthropic));
        check(r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#, Some(Format::Bedrock));
        // The package anthropic writes the type of a block last.
        check(
            r#"{"system":[{"text":"be","type":"text"}],"messages":[{"content":[{"text":"hi","type":"text"}],"role":"user"}]}"#,
            Some(Format::Anthropic),
        );
        check(r#"[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]"#, Some(Format::Responses));
        check(r#"[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]"#, Some(Format::Responses));
        check(r#"[{"type":"function_call","call_id":"c","name":"n"}]"#, Some(Format::Responses));
        check(r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]}"#, Some(Format::OpenAi));
        check(r#"{"role":"user","content":"hi"}"#, None);
        check(r#"{"role":"user","content":"hi","key":"k"}"#, None);
        check(r#"{"id":"x","question":"y"}"#, None);
        check("hello there", None);
    }
}
