//! A line of a session.

use std::{borrow::Cow, collections::BTreeMap};

use memory_core::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members that are used. Members that repeat others, such as `toolUseResult`, are not read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    logical_parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    /// The session, as `claude --output-format stream-json` names it.
    #[serde(borrow, rename = "session_id")]
    stream: Option<Cow<'a, str>>,
    /// The call that started a subagent, in the same output.
    #[serde(borrow, rename = "parent_tool_use_id")]
    caller: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) cwd: Option<Cow<'a, str>>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    is_sidechain: Option<bool>,
    is_meta: Option<bool>,
    is_compact_summary: Option<bool>,
    is_visible_in_transcript_only: Option<bool>,
    is_api_error_message: Option<bool>,
    #[serde(borrow)]
    pub(super) subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) summary: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) leaf_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) custom_title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) ai_title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) prompt_id: Option<Cow<'a, str>>,
    /// Origin of a record of Qwen Code, and the data of a note.
    #[serde(borrow)]
    provenance: Option<Cow<'a, str>>,
    #[serde(borrow)]
    system_payload: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) attachment: Option<&'a RawValue>,
    /// Prompt of a queue, what was done with it, and why.
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    operation: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    /// Last words of a run, and true if they are an error.
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, rename = "is_error")]
    is_error: Option<&'a RawValue>,
}

/// The message of Anthropic's API within a line.
#[derive(Debug, Deserialize)]
pub(super) struct Inner<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    /// The content, in Qwen Code.
    #[serde(borrow)]
    pub(super) parts: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// Members of a line that are read, or carry no content.
#[rustfmt::skip]
const LINE_NOTES: [&str; 59] = [
    "agentColor", "agentRound", "agentRunId", "backgroundTurn", "contextWindowSize", "daemonPromptId", "deliveredTurn",
    "externalInputKind", "goalContext", "isSubagent", "model", "parent_tool_use_id", "provenance", "session_id",
    "systemPayload", "tool_use_result", "toolCallResult", "turnIndex", "usageMetadata",
    "agentId", "agentName", "cwd", "entrypoint", "error", "forkedFrom", "gitBranch", "imagePasteIds",
    "interruptedMessageId", "isApiErrorMessage", "isCompactSummary", "isMeta", "isReplay", "isSidechain",
    "isVisibleInTranscriptOnly", "level", "logicalParentUuid", "message", "origin", "parentUuid", "permissionMode",
    "promptId", "promptSource", "requestId", "sessionId", "sessionKind", "slug", "sourceToolAssistantUUID",
    "sourceToolUseID", "subtype", "teamName", "thinkingMetadata", "timestamp", "todos", "toolUseID", "toolUseResult",
    "type", "userType", "uuid", "version",
];
/// Members of the inner message that are read, or carry no content.
#[rustfmt::skip]
const INNER_NOTES: [&str; 13] = [
    "parts", "container", "content", "context_management", "diagnostics", "id", "model", "role", "stop_details", "stop_reason",
    "stop_sequence", "type", "usage",
];

/// Names of the members of a line and of its message that this reader does not know.
pub(super) fn unknown_members(line: &Line<'_>, raw: &str) -> Vec<String> {
    let names = |raw: &str, known: &[&str], of: &str| {
        let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(raw).unwrap_or_default();
        let says = |value: &RawValue| !matches!(value.get(), "null" | "\"\"" | "[]" | "{}");
        let unknown = members.iter().filter(|(name, value)| !known.contains(&name.as_ref()) && says(value));
        unknown.map(|(name, _)| format!("member {of}{name}")).collect::<Vec<_>>()
    };
    let inner = line.message.map(|message| names(message.get(), &INNER_NOTES, "message."));
    [names(raw, &LINE_NOTES, ""), inner.unwrap_or_default()].concat()
}

impl<'a> Inner<'a> {
    /// A message of which only the content is known.
    pub(super) const fn of(content: &'a RawValue) -> Self {
        Self { id: None, model: None, content: Some(content), parts: None, usage: None }
    }
}

impl Line<'_> {
    /// The record that it continues; after a compaction, the record before the compaction.
    pub(super) fn parent(&self) -> Option<&str> {
        self.parent_uuid.as_deref().or(self.logical_parent_uuid.as_deref())
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session_id.as_deref().or(self.stream.as_deref())
    }

    /// The subagent of a sidechain, if it has a name.
    pub(super) fn agent(&self) -> Option<&str> {
        self.agent_id.as_deref().or(self.caller.as_deref()).filter(|_| self.is_sidechain())
    }

    pub(super) fn model<'b>(&'b self, inner: &'b Inner<'_>) -> Option<&'b str> {
        inner.model.as_deref().or(self.model.as_deref())
    }

    /// True for a record of Qwen Code that the program itself put among the person's.
    pub(super) fn is_of_program(&self) -> bool {
        matches!(self.provenance.as_deref(), Some("system" | "goal_runtime" | "goal_control"))
            || matches!(self.subtype.as_deref(), Some("notification" | "background_task_completed"))
    }

    /// True for a queued prompt that the model took while it worked. One that is removed without a reason was deleted.
    pub(super) fn is_taken(&self) -> bool {
        let is = |member: Option<&RawValue>, text: &str| member.is_some_and(|member| member.get() == text);
        is(self.operation, "\"remove\"") && is(self.reason, "\"absorbed_mid_turn\"")
    }

    pub(super) fn is_error(&self) -> bool {
        self.is_error.is_some_and(|is_error| is_error.get() == "true")
    }

    /// The title in a note of Qwen Code, and true if a person chose it.
    pub(super) fn given_title(&self) -> Option<(String, bool)> {
        let payload = &serde_json::from_str::<serde_json::Value>(self.system_payload?.get()).ok()?;
        Some((payload["customTitle"].as_str()?.to_owned(), payload["titleSource"] != "auto"))
    }

    pub(super) fn is_sidechain(&self) -> bool {
        self.is_sidechain == Some(true) || self.caller.is_some()
    }

    pub(super) fn is_meta(&self) -> bool {
        self.is_meta == Some(true)
    }

    /// True if the line is a summary that the model was given instead of earlier messages.
    pub(super) fn is_summary(&self) -> bool {
        self.is_compact_summary == Some(true) || self.is_visible_in_transcript_only == Some(true)
    }

    pub(super) fn is_api_error(&self) -> bool {
        self.is_api_error_message == Some(true)
    }

    pub(super) fn time(&self) -> Option<Timestamp> {
        self.timestamp.as_deref()?.parse().ok()
    }
}
