//! Tasks of Cline and Roo Code as they were shown: `ui_messages.json`, a list of what was said and asked.

use memory_core::{ConversationId, Message, Role};
use serde_json::{Map, Value, json};

use crate::{
    Conversation, TranscriptError, Why,
    blocks::{Blocks, call, image},
    exact,
    members::{by_model, time},
    names::{Chain, conversation_id},
    out::{ItemQueue, says_nothing, usable_title},
    reader::FormatReader,
    turn::{result, text, thought},
};

/// Kinds of entries that are notes of the program.
#[rustfmt::skip]
const NOTES: [&str; 36] = [
    "api_req_deleted", "api_req_failed", "api_req_finished", "api_req_rate_limit_wait", "api_req_retried",
    "api_req_retry_delayed", "api_req_started", "auto_approval_max_req_reached", "checkpoint_created",
    "checkpoint_saved", "clineignore_error", "codebase_search_result", "command_permission_denied",
    "conditional_rules_applied", "deleted_api_reqs", "diff_error", "error", "error_retry", "generate_explanation",
    "hook_output_stream", "hook_status", "info", "load_mcp_documentation", "mcp_server_request_started",
    "mistake_limit_reached", "new_task_started", "report_bug", "resume_completed_task", "resume_task",
    "rooignore_error", "shell_integration_warning", "shell_integration_warning_with_suggestion",
    "sliding_window_truncation", "subagent_usage", "subtask_result", "user_edit_todos",
];
/// Kinds of entries with which the model is shown a summary in place of history.
const VIEWS: [&str; 4] = ["condense", "condense_context", "condense_context_error", "summarize_task"];
/// End of the model's last words, by which the program marks that files were changed.
const HAS_CHANGES: &str = "HAS_CHANGES";

#[derive(Debug, Default)]
pub(crate) struct Cline {
    name: String,
    conversation: Option<ConversationId>,
    chain: Chain,
    model: Option<String>,
    /// The last call, to which the next result belongs.
    call: Option<String>,
    /// Text of the last entry, which an entry of another kind may repeat.
    last: String,
}

impl Cline {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The role of an entry, and its blocks; `None` for a note.
    fn blocks(&mut self, entry: &Value, kind: &str, words: &str) -> Option<(Role, Blocks)> {
        let mut said = Blocks::default();
        let parsed = exact::parse(words).ok().filter(Value::is_object);
        let role = match kind {
            "task" | "user_feedback" | "user_feedback_diff" => Role::User,
            // The first text is the task, where that has no kind of its own.
            "text" if self.conversation.is_none() => Role::User,
            "command_output" | "browser_action_result" | "mcp_server_response" => {
                let id = self.call.clone()?;
                said.add(result(&id, &words.into(), false));
                return Some((Role::Tool, said));
            }
            "tool" | "command" | "use_mcp_server" | "browser_action" | "browser_action_launch" | "use_subagents" => {
                let (name, input) = match parsed {
                    Some(mut input) if kind == "tool" => {
                        let name = input.as_object_mut()?.remove("tool");
                        (name.and_then(|name| name.as_str().map(str::to_owned)), input)
                    }
                    Some(input) => (input.get("toolName").and_then(Value::as_str).map(str::to_owned), input),
                    None => (None, json!({"text": words})),
                };
                let id = self.chain.key().to_string();
                said.add((call(&id, name.as_deref().unwrap_or(kind), &input), Map::new()));
                self.call = Some(id);
                return Some((Role::Assistant, said));
            }
            _ => Role::Assistant,
        };
        if kind == "reasoning" {
            said.add(thought(words));
        } else {
            // A question is an object with the answers to choose from.
            let asked = parsed.as_ref().and_then(|asked| asked["question"].as_str().or(asked["response"].as_str()));
            let words = asked.unwrap_or(words);
            said.add(text(words.strip_suffix(HAS_CHANGES).unwrap_or(words)));
            if let Some(options) =
                parsed.as_ref().filter(|_| asked.is_some()).and_then(|asked| asked["options"].as_array())
            {
                options.iter().filter_map(Value::as_str).for_each(|option| said.add(text(&format!("- {option}"))));
            }
        }
        let pictures = entry["images"].as_array().into_iter().flatten().filter_map(Value::as_str);
        pictures.for_each(|url| said.blocks.push(image(url)));
        for path in entry["files"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            said.blocks.push(crate::blocks::file(Some(path), None, None));
        }
        Some((role, said))
    }
}

impl FormatReader for Cline {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Some(entry) = &out.parsed::<Value>(record, "entry")? else { return Ok(()) };
        let kind = entry["say"].as_str().or(entry["ask"].as_str()).unwrap_or("without kind");
        #[rustfmt::skip]
        let taken = [
            "ts", "type", "say", "ask", "text", "reasoning", "images", "files", "partial", "modelInfo", "isAnswered",
            "commandCompleted", "lastCheckpointHash", "isCheckpointCheckedOut", "isOperationOutsideWorkspace",
            "conversationHistoryIndex", "conversationHistoryDeletedRange", "checkpoint", "progressStatus",
            "contextCondense", "isProtected", "apiProtocol", "metadata",
        ];
        out.unknown("", entry, &taken);
        let model = entry.pointer("/modelInfo/modelId").and_then(Value::as_str);
        self.model = model.map(str::to_owned).or(self.model.take());
        let words = entry["text"].as_str().or(entry["reasoning"].as_str()).unwrap_or_default();
        if NOTES.contains(&kind) {
            out.skip(Why::Note, kind);
            return Ok(());
        }
        if VIEWS.contains(&kind) {
            out.skip(Why::View, kind);
            return Ok(());
        }
        // Words are repeated as a question, for the person to answer or to approve.
        if !words.is_empty() && words == self.last && entry["type"] == "ask" {
            out.skip(Why::Repeated, kind);
            return Ok(());
        }
        // Notes change while the task goes on, so that keys follow only from the words.
        self.chain.take(&format!("{} {kind} {words}", entry["ts"]));
        let Some((role, said)) = self.blocks(entry, kind, words).filter(|(_, said)| !says_nothing(&said.blocks)) else {
            out.skip(Why::Empty, kind);
            return Ok(());
        };
        words.clone_into(&mut self.last);
        let id = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            let title = words.lines().next().filter(|_| role == Role::User).and_then(usable_title);
            out.begin(Conversation::new(id.clone()).title(title));
            id
        });
        let message: Message = by_model(said.message(role), self.model.as_deref());
        out.say(id, self.chain.key(), message, time(&entry["ts"]));
        Ok(())
    }
}
