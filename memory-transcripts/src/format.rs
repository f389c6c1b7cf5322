//! The formats by name, and recognition of a format by a file's first bytes.

mod sniff;

use std::{fmt, str::FromStr};

use sniff::{Seen, first_value};

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
    /// A plain transcript: a heading or a label for each speaker.
    Markdown,
}

impl Format {
    /// All formats.
    #[rustfmt::skip]
    pub const ALL: [Self; 14] = [
        Self::ClaudeCode, Self::Codex, Self::Pi, Self::OpenClaw, Self::LosslessClaw, Self::ChatGpt, Self::ClaudeAi,
        Self::OpenAi, Self::Responses, Self::Anthropic, Self::Bedrock, Self::LangChain, Self::Strands, Self::Markdown,
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
            Self::Markdown => "markdown",
        }
    }

    /// True if its files name their conversations. A file of any other format is one conversation, named by the file.
    #[must_use]
    pub const fn names_conversations(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex | Self::Pi | Self::ChatGpt | Self::ClaudeAi | Self::Strands)
            || self.is_database()
    }

    /// True for a SQLite database, which is read in place and so cannot come through a pipe.
    #[must_use]
    pub const fn is_database(self) -> bool {
        matches!(self, Self::OpenClaw | Self::LosslessClaw)
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
        first_value(bytes).and_then(|seen| of_value(&seen))
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

/// Record types of Claude Code that name no session.
const CLAUDE_CODE: [&str; 4] = ["summary", "file-history-snapshot", "queue-operation", "custom-title"];
/// Message types of LangChain.
const LANGCHAIN: [&str; 7] = ["human", "ai", "system", "tool", "function", "chat", "remove"];
/// Item types that only the Responses API has.
#[rustfmt::skip]
const RESPONSES: [&str; 7] = [
    "function_call", "function_call_output", "reasoning", "custom_tool_call", "web_search_call",
    "image_generation_call", "code_interpreter_call",
];

fn of_value(seen: &Seen) -> Option<Format> {
    let has = |key: &str| seen.has(key);
    let kind = seen.kind.as_deref().unwrap_or_default();
    let found = if has("mapping") {
        Format::ChatGpt
    } else if has("chat_messages") {
        Format::ClaudeAi
    } else if has("payload") && has("timestamp") && has("type")
        || has("instructions") && has("timestamp") && has("id") && !has("type") && !has("output")
    {
        Format::Codex
    } else if has("type") && (has("sessionId") || has("leafUuid") || has("parentUuid"))
        || CLAUDE_CODE.contains(&kind) && (has("messageId") || has("summary") || has("snapshot"))
    {
        Format::ClaudeCode
    } else if kind == "session" && has("id") && has("timestamp") {
        Format::Pi
    } else if has("lc") || LANGCHAIN.contains(&kind) && has("data") {
        Format::LangChain
    } else if has("choices") {
        Format::OpenAi
    } else if has("role") {
        return of_messages(seen);
    } else if has("messages") {
        return if seen.inner("lc") || seen.inner("data") && seen.is_kind(&["human", "ai"]) {
            Some(Format::LangChain)
        } else if has("modelId") || has("inferenceConfig") {
            Some(Format::Bedrock)
        } else {
            let by_system = if has("system") { Format::Anthropic } else { Format::OpenAi };
            of_messages(seen).or(Some(by_system))
        };
    } else if RESPONSES.contains(&kind)
        || has("output") && (has("input") || has("model"))
        || has("input") && has("model")
    {
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
        assert!("cursor".parse::<Format>().unwrap_err().to_string().contains("claude-code, codex"));
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
