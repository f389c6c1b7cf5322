//! Stores, models and tools of the tests.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use memory::port::{BoxFuture, ToolSpec};
use memory::{Access, Builder, Config, ContentBlock, Conversation, Json, Memory, Message, NodeRange, Role};
use memory_agent::{Agent, Call, Scripted, Tool, ToolResult};
use pollster::block_on;

pub(crate) fn open(store: &std::path::Path) -> Memory {
    Builder::of(Config::new(store, Access::Write).without_model()).background(false).open().unwrap()
}

/// A call of a tool with an empty object.
pub(crate) fn call(id: &str, name: &str) -> ContentBlock {
    ContentBlock::ToolUse { id: id.to_owned(), name: name.to_owned(), input: Json::new("{}").unwrap() }
}

pub(crate) fn says(blocks: Vec<ContentBlock>) -> Message {
    Message::new(Role::Assistant, blocks)
}

/// A model that calls a tool that reads and one that writes, once each in one message, and then answers.
pub(crate) fn model() -> Arc<Scripted> {
    Arc::new(Scripted::new(|_, request| {
        let is_called = request.messages.iter().any(|message| message.tool_results().next().is_some());
        Ok(match is_called {
            false => says(vec![ContentBlock::Text("Let me see.".to_owned()), call("a", "read"), call("b", "write")]),
            true => Message::assistant("All of it is done now."),
        })
    }))
}

/// A tool that counts its calls.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) name: &'static str,
    pub(crate) is_idempotent: bool,
    pub(crate) calls: Arc<AtomicUsize>,
}

impl Counter {
    pub(crate) fn pair() -> [Self; 2] {
        let of = |name, is_idempotent| Self { name, is_idempotent, calls: Arc::default() };
        [of("read", true), of("write", false)]
    }
}

impl Tool for Counter {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.name, "Counts.", Json::new(r#"{"type": "object"}"#).unwrap())
    }

    fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    fn call<'a>(&'a self, _: Call<'a>) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(vec![ContentBlock::Text(format!("{} {number}", self.name))])
        })
    }
}

pub(crate) fn agent(memory: &Memory, tools: [Counter; 2]) -> Agent {
    let [read, write] = tools;
    Agent::new(memory.conversation("talk").unwrap(), model()).tool(read).unwrap().tool(write).unwrap()
}

/// All messages, as `role: text`.
pub(crate) fn log(talk: &Conversation) -> Vec<String> {
    let nodes = match block_on(talk.overview()) {
        Ok(state) => state.nodes,
        Err(_) => 0,
    };
    let Some(all) = NodeRange::first_n(nodes) else { return Vec::new() };
    let nodes = block_on(talk.messages(all)).unwrap();
    nodes.iter().map(|node| format!("{}: {}", node.message.role, node.message.text().replace('\n', " / "))).collect()
}
