//! Output of `codex exec --json`: events of a thread, of which the completed items are what was said and done.

use memory_core::{ConversationId, Message};
use serde_json::{Map, Value, json};

use crate::{
    Conversation, TranscriptError, Why,
    blocks::{call, unknown},
    exact,
    members::others,
    names::{Chain, conversation_id, key},
    out::ItemQueue,
    reader::FormatReader,
    turn::{Turn, result, text, thought},
};

/// Members of an item that name it.
const NAMES: [&str; 4] = ["id", "type", "item_type", "status"];

#[derive(Debug, Default)]
pub(crate) struct Exec {
    name: String,
    conversation: Option<ConversationId>,
    chain: Chain,
    /// Items that were begun and not completed, with their places.
    begun: Vec<(String, Value)>,
}

impl Exec {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    fn say(&mut self, messages: Vec<Message>, out: &mut ItemQueue) {
        let id = self.conversation.get_or_insert_with(|| {
            let id = conversation_id(&[&self.name]);
            out.begin(Conversation::new(id.clone()));
            id
        });
        for (number, message) in messages.into_iter().enumerate() {
            let name = self.chain.key();
            out.say(id, if number == 0 { name } else { key(&format!("{name}.{number}")) }, message, None);
        }
    }

    fn item(&mut self, item: &Value, out: &mut ItemQueue) {
        let kind = item["type"].as_str().or(item["item_type"].as_str()).unwrap_or("without type");
        let words = item["text"].as_str().unwrap_or_default();
        // Ids count from the start of each run.
        let id = format!("{}-{}", self.chain.key(), item["id"].as_str().unwrap_or_default());
        let failed = item["status"].as_str().is_some_and(|status| matches!(status, "failed" | "declined"));
        let is_done = item["status"] != "in_progress";
        let mut turn = Turn::default();
        match kind {
            "agent_message" | "assistant_message" => turn.say(text(words)),
            "reasoning" => turn.say(thought(words)),
            "command_execution" => {
                let failed = failed || item["exit_code"].as_i64().is_some_and(|code| code != 0);
                let called = call(&id, "shell", &json!({"command": item["command"]}));
                let given = result(&id, &item["aggregated_output"], failed);
                let taken = [NAMES.as_slice(), &["command", "aggregated_output"]].concat();
                turn.call((called, others(item, &taken)), is_done.then_some(given));
            }
            "mcp_tool_call" => {
                let name = ["server", "tool"].map(|name| item[name].as_str().unwrap_or("unknown")).join("__");
                let error = item.pointer("/error/message").and_then(Value::as_str).or(item["error"].as_str());
                let content = match error {
                    Some(error) => error.into(),
                    None => item["result"].get("content").unwrap_or(&item["result"]).clone(),
                };
                let given = result(&id, &texts(&content).unwrap_or(content), failed || error.is_some());
                turn.call((call(&id, &name, &item["arguments"]), Map::new()), is_done.then_some(given));
            }
            "file_change" | "web_search" | "todo_list" | "collab_tool_call" => {
                let input = others(item, &NAMES);
                let status = result(&id, &item["status"], failed);
                let given = item["status"].is_string().then_some(status).filter(|_| is_done);
                turn.call((call(&id, kind, &input.into()), Map::new()), given);
            }
            "error" => return out.skip(Why::Note, "error"),
            other => {
                out.skip(Why::Unknown, &format!("item {other} (kept as it came)"));
                turn.say((unknown(&exact::written(item)), Map::new()));
            }
        }
        let messages = turn.messages();
        if messages.is_empty() {
            return out.skip(Why::Empty, kind);
        }
        self.say(messages, out);
    }
}

/// The text of a list of texts.
fn texts(content: &Value) -> Option<Value> {
    let texts: Option<Vec<_>> = content.as_array()?.iter().map(|part| part["text"].as_str()).collect();
    texts.map(|texts| texts.join("\n").into())
}

impl FormatReader for Exec {
    fn record(&mut self, record: &str, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        let Ok(event) = &exact::parse(record) else {
            // The program's own log may stand between the events.
            out.skip_line();
            return Ok(());
        };
        self.chain.take(record);
        let (kind, item) = (event["type"].as_str().unwrap_or("without type"), &event["item"]);
        let id = || item["id"].as_str().unwrap_or_default().to_owned();
        match kind {
            "thread.started" => {
                if let Some(thread) = event["thread_id"].as_str() {
                    // The rollout of the thread is a conversation of its own.
                    let id = conversation_id(&[thread, "exec"]);
                    out.begin(Conversation::new(id.clone()));
                    self.conversation = Some(id);
                }
            }
            "item.started" | "item.updated" => {
                out.skip(Why::Repeated, kind);
                self.begun.retain(|(begun, _)| *begun != id());
                self.begun.push((id(), item.clone()));
            }
            "item.completed" => {
                self.begun.retain(|(begun, _)| *begun != id());
                self.item(item, out);
            }
            "turn.started" | "turn.completed" | "turn.failed" | "error" => out.skip(Why::Note, kind),
            other => out.skip(Why::Unknown, other),
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut ItemQueue) -> Result<(), TranscriptError> {
        // A run that was interrupted leaves calls without a result.
        for (_, item) in std::mem::take(&mut self.begun) {
            self.chain.take("interrupted");
            self.item(&item, out);
        }
        Ok(())
    }
}
